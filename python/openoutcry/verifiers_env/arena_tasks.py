"""Arena tasks of the framework: forecast questions of a past season."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, cast

import verifiers.v1 as vf
from pydantic import Field
from verifiers.v1.runtimes import Runtime

from openoutcry.arena.dataset_splits import EMPTY, SPLITS, Sampling
from openoutcry.arena.past_questions import PastSeason, Question
from openoutcry.errors import refusal
from openoutcry.untrusted.terminal import readable
from openoutcry.verifiers_env.conversation_protocol import ConversationState
from openoutcry.verifiers_env.forecast_parser import Forecast, forecast_in, metrics_of, score_of
from openoutcry.verifiers_env.task_rows import one_of

_LOGGER = logging.getLogger("openoutcry.arena")


class QuestionData(vf.TaskData):
    """A serialisable question; the model sees `prompt` only."""

    market_id: str
    """The market."""
    as_of: str
    """Time of the snapshot in the prompt."""
    yes_mid_price: float | None
    """The market's price at that time."""
    outcome: str
    """Resolution of the market, `yes` or `no`: used by the score, not in the prompt."""


class QuestionState(ConversationState):
    """State of a question: its single answer."""

    answer: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether an answer was given."""
        return self.answer is not None

    @property
    def tools(self) -> list[dict[str, Any]]:
        """No tools."""
        return []

    def receive(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Store the answer; there is no response to it."""
        self.answer = message.get("content") or ""
        return []


class QuestionTask(vf.Task[QuestionData, QuestionState, vf.TaskConfig]):
    """One question, answered once and scored by the resolution of its market."""

    @property
    def key(self) -> str:
        """Snapshot time and market, which identify the question."""
        return str(self.data.name)

    async def finalize(self, trace: vf.Trace, runtime: Runtime) -> None:
        """Write forecast and resolution to the trace."""
        forecast = self._forecast(trace)
        trace.info["openoutcry"] = {"question": self.key, "outcome": self.data.outcome, **forecast._asdict()}

    @vf.reward
    async def brier_reward(self, trace: vf.Trace) -> float:
        """Return 1 minus the Brier score.

        0.75 for an abstention, 0 for an unreadable answer.
        """
        return score_of(self._forecast(trace), self.data.outcome)

    @vf.metric
    async def forecast(self, trace: vf.Trace) -> dict[str, float]:
        """Return metrics of the forecast and its comparison with the market's price."""
        return metrics_of(self._forecast(trace), self.data.outcome, self.data.yes_mid_price)

    def _forecast(self, trace: vf.Trace) -> Forecast:
        answer = cast(QuestionState, trace.state).answer
        return forecast_in(answer or "", self.data.market_id, self.data.as_of)


class ArenaTasksetConfig(vf.TasksetConfig):
    """Selection of questions."""

    season: Path = Path("season")
    """An Arena export of a settled season; it is verified first."""
    split: str = "train"
    """`train`, `validation` or `test`: the splits share no market, and each starts after the previous one has ended."""
    every_hours: float = Field(24.0, gt=0, allow_inf_nan=False)
    """Hours between two questions on a market."""
    embargo_hours: float = Field(24.0, ge=0, allow_inf_nan=False)
    """Hours from the end of a split to the first question of the next split."""
    settling_hours: float = Field(72.0, ge=0, allow_inf_nan=False)
    """Hours from a market's displayed close until its resolution is due; a split holds markets that are due in it."""
    vkey: str | None = None
    """The public key of the log, if you know it; replaces the key in the export."""


class ArenaTaskset(vf.Taskset[QuestionTask, ArenaTasksetConfig]):  # type: ignore[type-var]
    """Questions of one split of a past season, in chronological order."""

    def load(self) -> Iterable[QuestionTask]:
        """Return the tasks lazily.

        Raises:
            OpenOutcryError: the season is not a valid export, or its split has no question.
        """
        config = self.config
        one_of("split", config.split, SPLITS)
        season = PastSeason.read(config.season, config.vkey)
        sampling = Sampling(config.every_hours, config.embargo_hours, config.settling_hours)
        layout = season.layout(sampling)
        if layout.warning is not None:
            _LOGGER.warning(readable(layout.warning))
        own = (each for each in season.questions(sampling) if each.split == config.split)
        # Checked here, although the other tasks are created later.
        first = next(own, None)
        if first is None:
            summary = layout.describe({each.market_id for each in season.questions(sampling)})
            raise refusal("argument_invalid", f"{EMPTY}; received {config.split!r}, which is empty: {summary}")
        return (self._task(each) for each in chain([first], own))

    def _task(self, question: Question) -> QuestionTask:
        # The type checker does not see the defaults of the framework's fields.
        data = QuestionData(  # type: ignore[call-arg]
            name=question.key,
            prompt=question.prompt,
            market_id=question.market_id,
            as_of=question.as_of,
            yes_mid_price=question.yes_mid_price,
            outcome=question.resolution.outcome,
        )
        return QuestionTask(data, self.config.task)
