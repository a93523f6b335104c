"""Training samples: an episode is one sample with the exact tokens of prompt and model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import verifiers.v1 as vf
from model_endpoint import Reply, serving
from toy_tokenizer import Engine, save_tokenizer
from verifiers_rollouts import KEY, environment, facts, play, scores, spoken, trace

from openoutcry.verifiers_env.chat_harness import OVERFLOW
from openoutcry.verifiers_env.task_rows import STYLES

HOLD = '{"orders": []}'
BUY = '{"orders": [{"symbol": "S000", "action": "buy", "target_weight": 0.5}]}'
SILENT = {"name": "qwen3", "enable_thinking": False}
THINKING = {"name": "qwen3", "thinking_retention": "all"}


def call(arguments: str) -> str:
    return f'<tool_call>\n{{"name": "trade", "arguments": {arguments}}}\n</tool_call>'


def trained(engine: Engine, folder: Path, renderer: dict[str, Any], **more: Any) -> vf.Trace:
    """Return the trace of an episode, as a trainer receives it."""
    with serving(engine):
        config = vf.TrainClientConfig(
            base_url=engine.url, api_key_var=KEY, renderer=renderer, renderer_model_name=str(folder)
        )
        (episode,) = asyncio.run(play(environment(**more), config, 1, 1, 1))
    assert episode.ok, [error for each in episode.traces for error in each.errors]
    (only,) = episode.traces
    return only


def engine_of(folder: Path, says: Callable[[int], str], n_most: int | None = None) -> Engine:
    return Engine(lambda body: Reply(), tokenizer=save_tokenizer(folder), says=says, n_most=n_most)


def check(each: vf.Trace, engine: Engine) -> None:
    """Compare a trace with the tokens that the engine received and returned."""
    asked = [[*prompt, *answer] for prompt, answer in zip(engine.prompts, engine.answers, strict=True)]
    assert all(later[: len(sooner)] == sooner for sooner, later in pairwise(asked))
    (branch,) = each.branches
    assert branch.trainable
    assert branch.token_ids == asked[-1]
    sampled = [token for answer in engine.answers for token in answer]
    assert len(branch.sampled_mask) == len(branch.logprobs) == len(branch.token_ids)
    assert [token for token, is_its in zip(branch.token_ids, branch.sampled_mask, strict=True) if is_its] == sampled
    expected = [
        -(turn + 1) - place / 1024 for turn, answer in enumerate(engine.answers) for place in range(len(answer))
    ]
    assert [value for value, is_its in zip(branch.logprobs, branch.sampled_mask, strict=True) if is_its] == expected
    assert each.num_turns == len(engine.answers)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("renderer", [SILENT, THINKING], ids=["silent", "thinking"])
def test_an_episode_is_one_sample_with_the_sampled_tokens(style: str, renderer: dict[str, Any], tmp_path: Path) -> None:
    thought = "<think>\nIt rises {so}.\n</think>\n\n" if renderer is THINKING else ""

    def says(turn: int) -> str:
        # One answer is malformed, and one has surrounding text.
        decision = HOLD if turn else BUY
        spoken = {3: "I do not know.", 5: f"Well.\n{call(decision)}" if style == "tools" else f"Well.\n{decision}"}
        return thought + spoken.get(turn, call(decision) if style == "tools" else decision)

    engine = engine_of(tmp_path, says)
    each = trained(engine, tmp_path, renderer, style=style, n_windows=2)
    check(each, engine)
    assert facts(each)["n_malformed"] == 1
    assert facts(each)["n_answers"] == 20
    (window, _) = facts(trace(environment(style=style, n_windows=2), spoken(BUY, HOLD)))["windows"]
    assert facts(each)["windows"][0] == window


def test_a_renderer_that_drops_reasoning_splits_an_episode_at_every_user_message(tmp_path: Path) -> None:
    def says(turn: int) -> str:
        return f"<think>\nIt rises.\n</think>\n\n{call(HOLD)}{HOLD}"

    branches = {
        (style, renderer.get("thinking_retention")): len(
            trained(engine_of(tmp_path, says), tmp_path, renderer, style=style).branches
        )
        for style in STYLES
        for renderer in (THINKING, {"name": "qwen3"})
    }
    # Tool results are not user messages; in the text style results are, so it needs `THINKING`.
    assert branches == {("tools", "all"): 1, ("tools", None): 1, ("text", "all"): 1, ("text", None): 10}


def test_a_call_without_tools_still_gives_one_sample(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, lambda turn: call(HOLD) if turn == 2 else BUY)
    each = trained(engine, tmp_path, SILENT, style="text")
    check(each, engine)
    assert facts(each)["n_malformed"] == 1


def test_unparsable_calls_are_holds_in_one_sample(tmp_path: Path) -> None:
    odd = {
        1: "<tool_call>\n{",
        2: call("{"),
        3: call("[]"),
        4: "",
        5: call(HOLD) + call(HOLD),
        6: "<tool_call></tool_call>",
    }
    engine = engine_of(tmp_path, lambda turn: odd.get(turn, call(HOLD)))
    each = trained(engine, tmp_path, SILENT)
    check(each, engine)
    assert facts(each)["n_malformed"] == 5
    assert facts(each)["n_answers"] == 10
    assert scores(each)["format_penalty"] == -0.25


@pytest.mark.parametrize("style", STYLES)
def test_a_full_context_gives_a_rewarded_sample(style: str, tmp_path: Path) -> None:
    def says(turn: int) -> str:
        return call(BUY) if style == "tools" else BUY

    whole = engine_of(tmp_path, says)
    trained(whole, tmp_path, SILENT, style=style)
    engine = engine_of(tmp_path, says, n_most=len(whole.prompts[4]))
    each = trained(engine, tmp_path, SILENT, style=style)
    assert each.stop_condition == OVERFLOW
    assert each.num_turns == facts(each)["n_answers"] == 5
    check(each, engine)
    assert each.rewards["excess_return_reward"] is not None
