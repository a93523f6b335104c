"""Tasks of the framework: questions of a past season of the Arena, an answer each."""

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
from openoutcry.verifiers_env.conversation_protocol import TalkingState
from openoutcry.verifiers_env.forecast_parser import Forecast, forecast_in, metrics_of, score_of
from openoutcry.verifiers_env.task_rows import one_of

_LOGGER = logging.getLogger("openoutcry.arena")


class QuestionData(vf.TaskData):
    """A question as it travels; of its members a model is shown `prompt` alone."""

    market_id: str
    """The market."""
    as_of: str
    """Moment of the snapshot that is in the prompt."""
    yes_mid_price: float | None
    """The market's price then."""
    outcome: str
    """What became of it, `yes` or `no`: for the score, and no part of the prompt."""


class QuestionState(TalkingState):
    """The one answer."""

    said: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether there was an answer."""
        return self.said is not None

    @property
    def tools(self) -> list[dict[str, Any]]:
        """There are none."""
        return []

    def heard(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Keep the answer, which is told nothing."""
        self.said = message.get("content") or ""
        return []


class QuestionTask(vf.Task[QuestionData, QuestionState, vf.TaskConfig]):
    """One question: it is answered once, and paid by what became of its market."""

    @property
    def key(self) -> str:
        """The snapshot's moment and the market, which name the question for good."""
        return str(self.data.name)

    async def finalize(self, trace: vf.Trace, runtime: Runtime) -> None:
        """Say in the trace what was forecast, and what became of it."""
        forecast = self._forecast(trace)
        trace.info["openoutcry"] = {"question": self.key, "outcome": self.data.outcome, **forecast._asdict()}

    @vf.reward
    async def brier_reward(self, trace: vf.Trace) -> float:
        """Return 1 less the Brier score; 0.75 where nothing is said, 0 where nothing can be read."""
        return score_of(self._forecast(trace), self.data.outcome)

    @vf.metric
    async def forecast(self, trace: vf.Trace) -> dict[str, float]:
        """Return what was said and what it came to, beside the market's price."""
        return metrics_of(self._forecast(trace), self.data.outcome, self.data.yes_mid_price)

    def _forecast(self, trace: vf.Trace) -> Forecast:
        said = cast(QuestionState, trace.state).said
        return forecast_in(said or "", self.data.market_id, self.data.as_of)


class ArenaTasksetConfig(vf.TasksetConfig):
    """Which questions there are."""

    season: Path = Path("season")
    """An export of the Arena, made when its markets were settled; it is verified first."""
    split: str = "train"
    """`train`, `validation` or `test`: no market of one is in another, and each begins when the last one is over."""
    every_hours: float = Field(24.0, gt=0, allow_inf_nan=False)
    """Hours between two questions on a market."""
    embargo_hours: float = Field(24.0, ge=0, allow_inf_nan=False)
    """Hours from the end of a split to the first question of the next."""
    settling_hours: float = Field(72.0, ge=0, allow_inf_nan=False)
    """Hours after the close that a market is shown with, until its result is due: a split has what is due in it."""
    vkey: str | None = None
    """The log's key as you know it, in place of the export's own."""


class ArenaTaskset(vf.Taskset[QuestionTask, ArenaTasksetConfig]):  # type: ignore[type-var]
    """Questions of one split of a past season, in the order of time."""

    def load(self) -> Iterable[QuestionTask]:
        """Return the tasks, each made when it is asked for.

        Raises:
            OpenOutcryError: the season is no export that holds, or its split has no question.
        """
        config = self.config
        one_of("split", config.split, SPLITS)
        season = PastSeason.read(config.season, config.vkey)
        sampling = Sampling(config.every_hours, config.embargo_hours, config.settling_hours)
        layout = season.layout(sampling)
        if layout.warning is not None:
            _LOGGER.warning(layout.warning)
        own = (each for each in season.questions(sampling) if each.split == config.split)
        # Refused here, though the others are made one by one later.
        first = next(own, None)
        if first is None:
            told = layout.told({each.market_id for each in season.questions(sampling)})
            raise refusal("argument_invalid", f"{EMPTY}; received {config.split!r}, of none: {told}")
        return (self._task(each) for each in chain([first], own))

    def _task(self, question: Question) -> QuestionTask:
        # The framework's own fields have defaults that a type checker does not see.
        data = QuestionData(  # type: ignore[call-arg]
            name=question.key,
            prompt=question.prompt,
            market_id=question.market_id,
            as_of=question.as_of,
            yes_mid_price=question.yes_mid_price,
            outcome=question.resolution.outcome,
        )
        return QuestionTask(data, self.config.task)
