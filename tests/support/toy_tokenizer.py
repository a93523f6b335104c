"""A toy model for training tests: a byte tokenizer, and an engine that receives and samples tokens.

It implements vLLM's `/inference/v1/generate`, as verifiers uses it. It needs the extra `verifiers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from model_endpoint import Endpoint
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Markers that a renderer recognises, and that a model may write.
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")


def save_tokenizer(folder: Path) -> Tokenizer:
    """Save and return a tokenizer whose tokens are bytes and the markers of Qwen's models."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: place for place, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.add_tokens(list(MARKS))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>").save_pretrained(folder)
    return tokenizer


@dataclass
class Engine(Endpoint):
    """An engine whose model is a script.

    Args:
        tokenizer: Its tokens.
        says: Returns the text of the model, given the index of the turn.
        n_most: Context length in tokens; None for no limit.
        prompts: Tokens of every prompt.
        answers: Tokens of every answer.
    """

    tokenizer: Any = None
    says: Callable[[int], str] = str
    n_most: int | None = None
    prompts: list[list[int]] = field(default_factory=list)
    answers: list[list[int]] = field(default_factory=list)

    def routes(self) -> list[web.RouteDef]:
        """Return its routes."""
        return [web.post("/inference/v1/generate", self.answer), web.get("/v1/models", self.models)]

    async def models(self, request: web.Request) -> web.Response:
        """Return the context length."""
        return web.json_response({"data": [{"id": "scripted", "max_model_len": self.n_most}]})

    async def answer(self, request: web.Request) -> web.Response:
        """Sample the tokens of an answer, with log probabilities that encode their position."""
        body = await request.json()
        prompt: list[int] = body["token_ids"]
        text = self.tokenizer.decode(prompt, skip_special_tokens=False)
        turn = len(re.findall(r"<\|im_start\|>assistant\n", text)) - 1
        answer = self.tokenizer.encode(self.says(turn) + "<|im_end|>").ids
        self.prompts.append(prompt)
        self.answers.append(answer)
        content = [
            {"token": f"token_id:{token}", "logprob": -(turn + 1) - place / 1024} for place, token in enumerate(answer)
        ]
        choice = {"index": 0, "token_ids": answer, "logprobs": {"content": content}, "finish_reason": "stop"}
        return web.json_response({"request_id": f"r{turn}", "choices": [choice]})
