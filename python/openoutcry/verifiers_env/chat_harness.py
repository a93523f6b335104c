"""Harness: chat between a model and its task, as one growing list of messages.

Every request goes through the framework's endpoint, which records it. Earlier messages never change, so an episode is
one branch of its trace and one sample for a trainer.
"""

from __future__ import annotations

import asyncio
import io
import json
from http import HTTPStatus
from typing import Any

import aiohttp
import verifiers.v1 as vf
from verifiers.v1.harnesses.utils.compaction import CONTEXT_OVERFLOW_MARKERS
from verifiers.v1.runtimes import ProgramResult, Runtime

from openoutcry.errors import refusal
from openoutcry.verifiers_env.conversation_protocol import ConversationState
from openoutcry.verifiers_env.parser import is_readable

OVERFLOW = "context_overflow"
UNREADABLE = "call_unreadable"
_N_TRIES = 4
_FIRST_WAIT_S = 0.5
_OVERFLOWS = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
_WORTH_A_RETRY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class VerifiersHarnessConfig(vf.HarnessConfig):
    """Configuration of the harness, without settings of its own."""


class VerifiersHarness(vf.Harness[VerifiersHarnessConfig]):
    """Calls the model, executes its response, and returns the result to it."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        """Run the episode to its end, or until the model's context is full."""
        conversation: object = trace.state
        if not isinstance(conversation, ConversationState):
            raise refusal("argument_invalid", f"a task must be of `openoutcry`; received {type(data).__name__}")
        system, prompt = self.resolve_prompt(data)
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        headers = {"Authorization": f"Bearer {secret}"}
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
            while not conversation.is_over:
                body: dict[str, Any] = {"model": ctx.model, "messages": messages}
                if conversation.tools:
                    body["tools"] = conversation.tools
                status, text = await _post(session, f"{endpoint}/chat/completions", body)
                if status != HTTPStatus.OK:
                    return _ended(trace, messages, status, text)
                message = json.loads(text)["choices"][0]["message"]
                messages.append(_echoed(message))
                messages.extend(conversation.receive(message))
        return ProgramResult(0, "", "")


def _echoed(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message of the model in the form in which it is sent back.

    Its content is never null, since some providers reject that.
    """
    kept = {name: value for name, value in message.items() if value is not None}
    return kept if kept.get("tool_calls") else {"content": ""} | kept


async def _post(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[int, str]:
    """Call the model, with retries of temporary failures.

    A header carries the retry count, so that a request with a lost response is not counted twice.
    """
    status, text, sent = 0, "", json.dumps(body).encode()
    for attempt in range(_N_TRIES):
        if attempt:
            await asyncio.sleep(_FIRST_WAIT_S * 2 ** (attempt - 1))
        headers = {"Content-Type": "application/json", "x-stainless-retry-count": str(attempt)}
        try:
            async with session.post(url, data=io.BytesIO(sent), headers=headers) as response:
                status, text = response.status, await response.text()
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
            status, text = HTTPStatus.SERVICE_UNAVAILABLE, str(error)
        if status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _WORTH_A_RETRY:
            break
    return status, text


def _ended(trace: vf.Trace, messages: list[dict[str, Any]], status: int, text: str) -> ProgramResult:
    """Return the end of an episode whose model cannot respond.

    With a full context, positions are held to the end and the episode is rewarded. The same applies if a provider
    rejects a conversation with a malformed tool call; otherwise a losing model could avoid its reward by ending the
    episode.
    """
    if status in _OVERFLOWS and any(marker in text.casefold() for marker in CONTEXT_OVERFLOW_MARKERS):
        trace.stop(OVERFLOW)
        return ProgramResult(0, "", "")
    if status == HTTPStatus.BAD_REQUEST and any(not is_readable(message) for message in messages):
        trace.stop(UNREADABLE)
        return ProgramResult(0, "", "")
    return ProgramResult(1, "", f"the model answered with status {status}: {text[:1_000]}")
