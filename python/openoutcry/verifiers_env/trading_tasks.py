"""Tasks of the framework: what comes before and after an episode of a row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

import verifiers.v1 as vf
from pydantic import ConfigDict, Field
from verifiers.v1.runtimes import Runtime

from openoutcry.verifiers_env import prompts, row_markets
from openoutcry.verifiers_env.conversation_protocol import TalkingState
from openoutcry.verifiers_env.episode_outcome import Outcome, outcome_of
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.parser import replies
from openoutcry.verifiers_env.record_conversations import Told
from openoutcry.verifiers_env.record_store import Keeping, facts, record_of
from openoutcry.verifiers_env.rewards import BAR, N_TRIALS, REWARDS, Terms
from openoutcry.verifiers_env.rollout_state import Desk
from openoutcry.verifiers_env.scripted_policies import is_sound
from openoutcry.verifiers_env.task_rows import STYLES, TIERS, Row, costs_of, one_of, secret_of


class TradingData(vf.TaskData):
    """A row of the taskset as it travels."""

    row: Row
    """What the episode is about; it holds no price."""
    style: str = "tools"
    """How decisions are made: `tools` or `text`."""


class TradingState(TalkingState):
    """The episode under way; it is no part of a record."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    desk: Any = Field(default=None, exclude=True)
    style: str = "tools"
    outcome: Any = Field(default=None, exclude=True)

    @property
    def is_over(self) -> bool:
        """Whether all decisions were made."""
        return bool(self.desk.done)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What the style has."""
        return prompts.TOOLS if self.style == "tools" else []

    def heard(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Carry out what the model says, and return what came of it."""
        return replies(self.desk, self.style, message)


class TradingTaskConfig(vf.TaskConfig):
    """What a task is paid by and where its records go."""

    records: Path | None = Path("outputs/openoutcry")
    """Folder of run records and market snapshots; none are written without one."""
    bar: float = Field(BAR, allow_inf_nan=False)
    """Excess, in volatilities of the market over a window, that `pass_k_reward` asks of each; never as far behind."""
    n_trials: int = Field(N_TRIALS, ge=1)
    """Tries without skill that `deflated_sharpe_reward` asks an episode to beat."""


class TradingTask(vf.Task[TradingData, TradingState, TradingTaskConfig]):
    """One episode: a desk before it, a record and rewards after it."""

    @property
    def key(self) -> str:
        """Split and index, which name the task for good."""
        return self.data.row.key

    async def setup(self, trace: vf.Trace, runtime: Runtime) -> None:
        """Draw the first market and open the desk."""
        # What cannot be kept at the end is better known before a model has been asked for anything.
        if self.config.records is not None:
            _keeping(self.config.records).make()
        _state(trace).desk, _state(trace).style = Desk(self.data.row), self.data.style

    async def finalize(self, trace: vf.Trace, runtime: Runtime) -> None:
        """Run what was decided again, keep its record, and say in the trace where it is."""
        # The loop is every rollout's: a disk that is slow is waited for elsewhere.
        _state(trace).outcome, trace.info["openoutcry"] = await asyncio.to_thread(self._close, trace)

    def _close(self, trace: vf.Trace) -> tuple[Outcome, dict[str, Any]]:
        agent = getattr(trace.agent.config, "model", None) or "unnamed"
        outcome = outcome_of(_state(trace).desk, agent, capture=True)
        record = record_of(outcome, agent)
        told = facts(outcome, record)
        if self.config.records is not None:
            beside = Told(self.data.row, self.data.style, terms_of(self.config), self.data.system_prompt)
            told |= _keeping(self.config.records).keep(trace.id, record, outcome, beside)
        return outcome, told

    async def validate(self, runtime: Runtime) -> bool:
        """Return whether an oracle beats doing nothing, and doing nothing beats churning."""
        return await asyncio.to_thread(is_sound, self.data.row)

    @vf.metric
    async def conduct(self, trace: vf.Trace) -> dict[str, float]:
        """Return what was done and what it came to, none of it paid."""
        return _metrics(_state(trace).outcome)


def _paid_by(name: str) -> Callable[..., Any]:
    """Return a reward as the framework has it: a method of the task."""
    paid = REWARDS[name]

    async def reward(self: TradingTask, trace: vf.Trace) -> float:
        return Terms({}, self.config.bar, self.config.n_trials).pay(name, _state(trace).outcome)

    reward.__name__ = name
    reward.__doc__ = paid.reward.__doc__
    return vf.reward(reward, weight=paid.weight)


for _name in REWARDS:
    setattr(TradingTask, _name, _paid_by(_name))


class VerifiersTasksetConfig(vf.TasksetConfig):
    """Which rows there are."""

    task: TradingTaskConfig = TradingTaskConfig()
    """What a task is paid by and where its records go."""
    split: str = "train"
    """`train`, `validation` or `held-out`: no market of one is in another. Held-out rows need a secret."""
    market: str = "pairs"
    """A scenario (calm, hard, extreme, fx, pairs, regime-shift, crisis, martingale), ecb-fx, us-treasury, or a file."""
    tier: str = "medium"
    """`easy` (2 symbols, 10 decisions), `medium` (4, 20) or `hard` (8, 60)."""
    n_symbols: int | None = None
    """Symbols of a market, in place of the tier's; of real data fewer where it has no more."""
    horizon: int | None = None
    """Decisions of a window, in place of the tier's."""
    lookback: int = 20
    """Closes shown before the first decision."""
    n_windows: int = 1
    """Windows of an episode, each on a market of its own; `pass_k_reward` asks something of every one."""
    mandate: str = "beat-benchmark"
    """`beat-benchmark`, `long-only`, `market-neutral`, `drawdown-cap`, or `all` of them in turns."""
    style: str = "tools"
    """How decisions are made: `tools` (calls of functions) or `text` (JSON in the message)."""
    disguise: bool = True
    """Whether symbols, dates and price levels of real data are made up."""
    costs: dict[str, float] = Field(default_factory=dict)
    """Fields of `CostModel` that differ from its defaults, such as `fee_bps`."""
    num_tasks: int = Field(1_000, ge=1)
    """How many rows there are."""


class VerifiersTaskset(vf.Taskset[TradingTask, VerifiersTasksetConfig]):  # type: ignore[type-var]
    """Rows of one market, drawn from the keys of one split."""

    def load(self) -> Iterable[TradingTask]:
        """Return the tasks, each made when it is asked for.

        Raises:
            OpenOutcryError: the configuration names what there is not, or the secret of held-out rows is missing.
        """
        config = self.config
        # Refused here, though rows are made one by one later.
        one_of("style", config.style, STYLES)
        first = self.row(0)
        secret_of(config.split)
        terms = terms_of(config.task)
        tasks = (self.row(index) if index else first for index in range(config.num_tasks))
        return (self._task(row, terms) for row in tasks)

    def _task(self, row: Row, terms: Terms) -> TradingTask:
        style = self.config.style
        said = prompts.prompt(row, style, terms)
        # The framework's own fields have defaults that a type checker does not see.
        data = TradingData(name=row.key, prompt=said, row=row, style=style)  # type: ignore[call-arg]
        return TradingTask(data, self.config.task)

    def row(self, index: int) -> Row:
        """Return a row of the split.

        Raises:
            OpenOutcryError: the configuration names what there is not.
        """
        config = self.config
        one_of("tier", config.tier, TIERS)
        one_of("mandate", config.mandate, (*MANDATES, "all"))
        tier = TIERS[config.tier]
        n_symbols = tier.n_symbols if config.n_symbols is None else config.n_symbols
        horizon = tier.horizon if config.horizon is None else config.horizon
        mandates = list(MANDATES)
        return Row(
            split=config.split,
            index=index,
            market=config.market,
            digest=row_markets.digest_of(config.market, n_symbols, config.lookback + horizon),
            n_symbols=n_symbols,
            horizon=horizon,
            lookback=config.lookback,
            n_windows=config.n_windows,
            mandate=mandates[index % len(mandates)] if config.mandate == "all" else config.mandate,
            disguise=config.disguise,
            costs=costs_of(config.costs).to_dict(),
        )


def terms_of(config: TradingTaskConfig) -> Terms:
    """Return what a task is paid by, as a configuration has it."""
    # The framework says what each counts: a function in place of a reward does not count what that did.
    task = TradingTask(cast(TradingData, None), config)
    counted = {hook.__name__: float(getattr(hook, "_vf_weight", 1.0)) for hook in task.hooks("reward")}
    own = {name: counted.pop(name) for name in REWARDS if name not in config.rewards or not config.rewards[name].fn}
    judges = {judge.reward_name: float(judge.config.weight) for judge in task.plugged_judges()}
    return Terms(own, config.bar, config.n_trials, counted | judges)


def _state(trace: vf.Trace) -> TradingState:
    return cast(TradingState, trace.state)


@cache
def _keeping(folder: Path) -> Keeping:
    return Keeping(folder)


def _metrics(outcome: Outcome) -> dict[str, float]:
    last = [each.run for each in outcome.played]
    n_windows = len(last)
    told = {
        "nav": sum(float(run.nav[-1]) for run in last) / n_windows,
        "benchmark_nav": sum(float(each.benchmark.nav[-1]) for each in outcome.played) / n_windows,
        "turnover": sum(float(run.turnover.sum()) for run in last) / n_windows,
        "costs": sum(float(values.sum()) for run in last for values in run.costs.values()) / n_windows,
        "breaches": sum(int(each.breaches.sum()) for each in outcome.played),
        "n_answers": outcome.n_answers,
        "n_malformed": outcome.n_malformed,
        "n_refused": outcome.n_refused,
        "n_reads": outcome.n_reads,
        "has_finished": outcome.has_finished,
    }
    return {name: float(value) for name, value in told.items()}
