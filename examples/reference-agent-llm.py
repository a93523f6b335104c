"""An agent that asks a language model: any endpoint that speaks as OpenAI's or Ollama's do; the standard library alone.

    python reference-agent-llm.py --url http://127.0.0.1:11434/v1/chat/completions --model qwen3      # or .../api/chat

The key, where one is needed, is in the variable of the environment that `--key-variable` names. What the model does not
answer in time, or what cannot be read, is said on standard error and is a hold, which says why in its `reasoning`.
Fork it: `SYSTEM` and `prompt` are yours.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

SYSTEM = """You manage an account. You decide at the close of a bar and are filled at the open of the next one.
Answer with one JSON object and nothing else:
{"orders": [{"symbol": "NAME", "action": "buy", "target_weight": 0.25}], "reasoning": "one sentence"}
`action` is buy, sell, hold or close; `target_weight` a part of the account's value, from -1 to 1, below 0 for a short.
A symbol that you do not name is held as it is; `"orders": []` holds all. Weights add up to 1 at most, signs aside."""
ACTIONS = ("buy", "sell", "hold", "close")
FIELDS = {"symbol", "action", "target_weight", "confidence", "rationale"}
MAX_PROMPT, MAX_REPLY, MAX_TRIES = 12_000, 1_000_000, 5
BUSY = (408, 409, 425, 429, 500, 502, 503, 504)


class UnusableError(Exception):
    """No decision can be made of what came, and asking again would not help."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follow no redirect, which would take the key to another host."""

    def redirect_request(self, *_: object) -> None:
        """Leave the status as it is."""


def say(text: str) -> None:
    """Tell whoever runs the agent."""
    print(f"reference-agent: {text}", file=sys.stderr, flush=True)


def prompt(observation: dict) -> str:
    """Return what the model is told: NAV, positions, and as many closes as fit."""
    mark = {view["symbol"]: view["close_history"][-1] for view in observation["symbols"]}
    worth = {each["symbol"]: each["shares"] * mark[each["symbol"]] for each in observation["portfolio"]}
    nav = observation["cash"] + sum(worth.values())
    head = [
        f"Date: {observation['date']}",
        f"Value of the account: {nav:.6g} (1 at first)",
        "Positions, in parts of it:",
    ]
    head += [f"{symbol}: {value / nav:+.4f}" if nav else symbol for symbol, value in worth.items()] or ["none"]
    for n_closes in (20, 10, 5, 2, 1):
        rows = [
            f"{view['symbol']}: {' '.join(f'{close:.6g}' for close in view['close_history'][-n_closes:])}"
            for view in observation["symbols"]
        ]
        text = "\n".join([*head, "Closes, the last one last:", *rows])
        if len(text) <= MAX_PROMPT:
            return text
    cut = text[:MAX_PROMPT].rpartition("\n")[0]
    say(f"the prompt was cut at {len(cut):,} of {len(text):,} characters; the model does not see the last symbols")
    return cut


def balanced(text: str) -> list[str]:
    """Return the outermost `{...}` of a text, whatever stands around them; one scan, which knows strings."""
    opened, found, in_string, escaped = [], [], False, False
    for at, character in enumerate(text):
        if in_string:
            in_string, escaped = escaped or character != '"', character == "\\" and not escaped
        elif character == '"':
            in_string = bool(opened)
        elif character == "{":
            opened.append(at)
        elif character == "}" and opened:
            start = opened.pop()
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, at + 1))
    return [text[start:end] for start, end in found]


def decision_of(reply: str, symbols: set[str]) -> dict:
    """Return the last object with `orders` in a reply, each order checked.

    Raises:
        UnusableError: there is none, or one of its orders is none.
    """
    found = None
    for text in balanced(reply):
        try:
            value = json.loads(text)
        except (RecursionError, ValueError):
            continue
        found = value if isinstance(value.get("orders"), list) else found
    if found is None:
        raise UnusableError(f"the reply has no JSON object with a list of orders: {reply[:200]!r}")
    orders: dict[str, dict] = {}
    for order in found["orders"]:
        fault = fault_of(order, symbols, orders)
        if fault:
            raise UnusableError(f"{fault}: {str(order)[:200]}")
        if order.keys() - FIELDS:
            say(f"left out of an order: {', '.join(sorted(order.keys() - FIELDS))[:200]}")
        orders[order["symbol"]] = {field: value for field, value in order.items() if field in FIELDS}
    return {"orders": list(orders.values()), "reasoning": str(found.get("reasoning") or "")[:500]}


def fault_of(order: object, symbols: set[str], before: dict[str, dict]) -> str | None:
    """Return what is wrong with an order, in words."""

    def is_within(value: object, least: float) -> bool:
        return type(value) in (int, float) and least <= value <= 1

    if not isinstance(order, dict):
        return "an order is no object"
    if not isinstance(order.get("symbol"), str) or order["symbol"] not in symbols or order["symbol"] in before:
        return "an order names a symbol that is not listed, or one twice"
    if order.get("action") not in ACTIONS or not is_within(order.get("target_weight"), -1):
        return "an order needs one of the four actions and a weight from -1 to 1"
    if not is_within(order.get("confidence", 0.5), 0) or not isinstance(order.get("rationale", ""), str):
        return "the confidence of an order is no number from 0 to 1, or its rationale no text"
    return None


class Model:
    """A language model behind an endpoint."""

    def __init__(self, url: str, name: str, key: str, seconds: float) -> None:
        self._url, self._name, self._key, self._seconds = url, name, key, seconds
        self._opener = urllib.request.build_opener(NoRedirect)

    def reply(self, text: str) -> str:
        """Return what the model says to a prompt; asks again, in the time there is, where the endpoint is busy.

        Raises:
            UnusableError: it does not answer, or with something else.
        """
        until = time.monotonic() + self._seconds
        for n_tries in range(1, MAX_TRIES + 1):
            wait = 0.5 * 2 ** (n_tries - 1)
            try:
                return content_of(self._post(text, until))
            except urllib.error.HTTPError as error:
                fault = f"HTTP {error.code}: {self._hidden(told_by(error))[:200].decode('utf-8', 'replace')}"
                if error.code not in BUSY:
                    raise UnusableError(fault) from error
                wait = max(wait, seconds_of(error.headers.get("Retry-After")))
            except (OSError, http.client.HTTPException) as error:
                fault = repr(error)
            if n_tries == MAX_TRIES or time.monotonic() + wait >= until:
                break
            say(f"asks again in {wait:g} s, after {fault}")
            time.sleep(wait)
        raise UnusableError(f"no answer in {n_tries} of {MAX_TRIES} tries in {self._seconds:g} s, the last: {fault}")

    def _post(self, text: str, until: float) -> bytes:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        body = json.dumps({"model": self._name, "messages": messages, "stream": False}).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        request = urllib.request.Request(self._url, body, headers)
        content = b""
        with self._opener.open(request, timeout=max(0.1, until - time.monotonic())) as response:
            while chunk := response.read1(2**16):
                content += chunk
                if len(content) > MAX_REPLY:
                    raise UnusableError(f"the reply is longer than {MAX_REPLY:,} bytes")
                if time.monotonic() > until:
                    raise TimeoutError("the reply does not end")
        return self._hidden(content)

    def _hidden(self, content: bytes) -> bytes:
        # A server that repeats the key must not bring it into a record. What is shorter is no secret.
        return content.replace(self._key.encode(), b"(the key)") if len(self._key) >= 8 else content


def told_by(error: urllib.error.HTTPError) -> bytes:
    """Return how the body of a refusal begins."""
    try:
        return error.read(2000)
    except (OSError, http.client.HTTPException) as broken:
        return repr(broken).encode()


def content_of(body: bytes) -> str:
    """Return what the model says, of either form of answer."""
    try:
        answer = json.loads(body)
        message = answer["choices"][0]["message"] if "choices" in answer else answer["message"]
        content = message["content"]
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnusableError(f"the endpoint did not answer as OpenAI's or Ollama's do: {body[:200]!r}") from error
    if not isinstance(content, str):
        raise UnusableError(f"the message has no text: {str(message)[:200]}")
    return content


def seconds_of(retry_after: str | None) -> float:
    """Return the seconds that `Retry-After` asks for, as a number or as a date."""
    try:
        if not (retry_after or "").strip().isdigit():
            return (parsedate_to_datetime(retry_after or "") - datetime.now(timezone.utc)).total_seconds()
        return float(retry_after or 0)
    except (ArithmeticError, TypeError, ValueError):
        return 0.0


def answer(line: bytes, model: Model) -> dict:
    """Return the decision on an observation, a hold where there is none."""
    try:
        observation = json.loads(line)
        text, symbols = prompt(observation), {view["symbol"] for view in observation["symbols"]}
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        say(f"holds all, for this is no observation: {error!r}")
        return {"orders": []}
    try:
        return decision_of(model.reply(text), symbols)
    except UnusableError as fault:
        say(f"holds all, for {fault}")
        return {"orders": [], "reasoning": f"held, for {fault}"}


def main() -> None:
    """Answer line by line until the input ends."""
    parser = argparse.ArgumentParser(description="Ask a language model for every decision.")
    parser.add_argument("--url", required=True, help="endpoint of chat completions")
    parser.add_argument("--model", required=True, help="name of the model")
    parser.add_argument("--key-variable", default="OPENAI_API_KEY", help="variable of the environment with the key")
    parser.add_argument("--seconds", type=float, default=45.0, help="time for a decision, less than the harness gives")
    told = parser.parse_args()
    key = os.environ.get(told.key_variable, "").strip()
    if not told.url.startswith(("http://", "https://")):
        parser.error(f"--url must be one of HTTP; received {told.url!r}")
    if not (key.isascii() and (key + " ").isprintable()):
        parser.error(f"the key in `{told.key_variable}` must be one line of plain characters; received others")
    model = Model(told.url, told.model, key, told.seconds)
    for line in sys.stdin.buffer:
        # A model can write half of a pair of surrogates, which is no text.
        text = json.dumps(answer(line, model), ensure_ascii=False).encode("utf-8", "replace")
        sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
