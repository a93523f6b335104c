"""Trading tasks of the framework: setup, record and rewards of an episode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, cast

import verifiers.v1 as vf
from pydantic import ConfigDict, Field
from verifiers.v1.runtimes import Runtime

from openoutcry.errors import refusal
from openoutcry.verifiers_env import prompts, row_markets
from openoutcry.verifiers_env.conversation_protocol import ConversationState
from openoutcry.verifiers_env.episode_outcome import Outcome, outcome_of
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.parser import respond
from openoutcry.verifiers_env.record_conversations import EpisodeSpec
from openoutcry.verifiers_env.record_store import RecordStore, record_of, trace_summary
from openoutcry.verifiers_env.rewards import BAR, N_TRIALS, REWARDS, RewardTerms
from openoutcry.verifiers_env.rollout_state import RolloutState
from openoutcry.verifiers_env.scripted_policies import is_valid_task
from openoutcry.verifiers_env.task_rows import STYLES, TIERS, Row, costs_of, one_of, secret_of


class TradingData(vf.TaskData):
    """A serialisable task."""

    row: Row
    """Specification of the episode; it holds no price."""
    style: str = "tools"
    """How decisions are made: `tools` or `text`."""


class TradingState(ConversationState):
    """State of a running episode; it is not part of a record."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    rollout: Any = Field(default=None, exclude=True)
    style: str = "tools"
    outcome: Any = Field(default=None, exclude=True)

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self.rollout.done)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tools of the style."""
        if self.style != "tools":
            return []
        return prompts.DAY_ORDER_TOOLS if self.rollout.offers_day_orders else prompts.TOOLS

    def receive(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Execute a message of the model, and return the messages that follow it."""
        return respond(self.rollout, self.style, message)


class TradingTaskConfig(vf.TaskConfig):
    """Reward parameters and record folder of a task."""

    records: Path | None = Path("outputs/openoutcry")
    """Folder of run records and market snapshots; None writes no records."""
    bar: float = Field(BAR, allow_inf_nan=False)
    """Threshold of `pass_k_reward` for each window, in units of the market's volatility over the window."""
    n_trials: int = Field(N_TRIALS, ge=1)
    """Trials without skill that `deflated_sharpe_reward` corrects for."""


class TradingTask(vf.Task[TradingData, TradingState, TradingTaskConfig]):
    """One episode: a rollout state, then a record and rewards."""

    @property
    def key(self) -> str:
        """Split and index, which identify the task."""
        return self.data.row.key

    async def setup(self, trace: vf.Trace, runtime: Runtime) -> None:
        """Draw the first market and create the rollout state."""
        # Fail before any model call if records cannot be written.
        if self.config.records is not None:
            _record_store(self.config.records).create_folders()
        _state(trace).rollout, _state(trace).style = RolloutState(self.data.row), self.data.style

    async def finalize(self, trace: vf.Trace, runtime: Runtime) -> None:
        """Replay the decisions, store the record, and write a summary to the trace."""
        # In a thread: all rollouts share the event loop, and a disk may be slow.
        _state(trace).outcome, trace.info["openoutcry"] = await asyncio.to_thread(self._close, trace)

    def _close(self, trace: vf.Trace) -> tuple[Outcome, dict[str, Any]]:
        agent = getattr(trace.agent.config, "model", None) or "unnamed"
        outcome = outcome_of(_state(trace).rollout, agent, capture=True)
        record = record_of(outcome, agent)
        values = trace_summary(outcome, record)
        if self.config.records is not None:
            spec = EpisodeSpec(self.data.row, self.data.style, terms_of(self.config), self.data.system_prompt)
            values |= _record_store(self.config.records).save(trace.id, record, outcome, spec)
        return outcome, values

    async def validate(self, runtime: Runtime) -> bool:
        """Return whether an oracle beats holding, and holding beats churning."""
        return await asyncio.to_thread(is_valid_task, self.data.row)

    @vf.metric
    async def conduct(self, trace: vf.Trace) -> dict[str, float]:
        """Return metrics of the episode, which are not rewarded."""
        return _metrics(_state(trace).outcome)


def _reward_method(name: str) -> Callable[..., Any]:
    """Return a reward in the form of the framework: a method of the task."""
    paid = REWARDS[name]

    async def reward(self: TradingTask, trace: vf.Trace) -> float:
        return RewardTerms({}, self.config.bar, self.config.n_trials).compute(name, _state(trace).outcome)

    reward.__name__ = name
    reward.__doc__ = paid.reward.__doc__
    return vf.reward(reward, weight=paid.weight)


for _name in REWARDS:
    setattr(TradingTask, _name, _reward_method(_name))


class VerifiersTasksetConfig(vf.TasksetConfig):
    """Selection of tasks."""

    task: TradingTaskConfig = TradingTaskConfig()
    """Reward parameters and record folder of a task."""
    split: str = "train"
    """`train`, `validation` or `held-out`, which share no market. Held-out rows need a secret."""
    market: str = "pairs"
    """A scenario (calm, hard, extreme, fx, pairs, regime-shift, crisis, martingale), ecb-fx, us-treasury, or a file."""
    tier: str = "medium"
    """`easy` (2 symbols, 10 decisions), `medium` (4, 20) or `hard` (8, 60)."""
    n_symbols: int | None = None
    """Symbols of a market, overriding the tier; real data may have fewer."""
    horizon: int | None = None
    """Decisions of a window, overriding the tier."""
    lookback: int = 20
    """Closes shown before the first decision."""
    n_windows: int = 1
    """Windows of an episode, each with its own market; `pass_k_reward` requires all of them."""
    mandate: str = "beat-benchmark"
    """`beat-benchmark`, `long-only`, `market-neutral`, `drawdown-cap`, or `all` of them in rotation."""
    style: str = "tools"
    """How decisions are made: `tools` (tool calls) or `text` (JSON in the message)."""
    masked: bool = True
    """Whether symbols, dates and price levels of real data are replaced."""
    costs: dict[str, float] = Field(default_factory=dict)
    """Fields of `CostModel` that differ from its defaults, such as `fee_bps`."""
    orders: str = "plain"
    """`plain`, or `day` to offer limits, stops, exits and fills at the close in a market with opens, highs and lows."""
    num_tasks: int = Field(1_000, ge=1)
    """Number of tasks."""


class VerifiersTaskset(vf.Taskset[TradingTask, VerifiersTasksetConfig]):  # type: ignore[type-var]
    """Tasks on one market, drawn from the keys of one split."""

    def load(self) -> Iterable[TradingTask]:
        """Return the tasks lazily.

        Raises:
            OpenOutcryError: the configuration is invalid, or the secret of held-out rows is missing.
        """
        config = self.config
        # Checked here, although rows are created later.
        one_of("style", config.style, STYLES)
        first = self.row(0)
        secret_of(config.split)
        if config.orders == "day" and not RolloutState(first).offers_day_orders:
            wanted = "`orders` must be `plain` in a market without opens, highs and lows"
            raise refusal("argument_invalid", f"{wanted}; received `day` for `{config.market}`")
        terms = terms_of(config.task)
        tasks = (self.row(index) if index else first for index in range(config.num_tasks))
        return (self._task(row, terms) for row in tasks)

    def _task(self, row: Row, terms: RewardTerms) -> TradingTask:
        style = self.config.style
        prompt = prompts.prompt(row, style, terms)
        # The type checker does not see the defaults of the framework's fields.
        data = TradingData(name=row.key, prompt=prompt, row=row, style=style)  # type: ignore[call-arg]
        return TradingTask(data, self.config.task)

    def row(self, index: int) -> Row:
        """Return a row of the split.

        Raises:
            OpenOutcryError: the configuration is invalid.
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
            masked=config.masked,
            costs=costs_of(config.costs).to_dict(),
            orders=config.orders,
        )


def terms_of(config: TradingTaskConfig) -> RewardTerms:
    """Return the reward terms of a configuration."""
    # Weights as resolved by the framework: a function that replaces a reward does not inherit its default weight.
    task = TradingTask(cast(TradingData, None), config)
    counted = {hook.__name__: float(getattr(hook, "_vf_weight", 1.0)) for hook in task.hooks("reward")}
    own = {name: counted.pop(name) for name in REWARDS if name not in config.rewards or not config.rewards[name].fn}
    judges = {judge.reward_name: float(judge.config.weight) for judge in task.plugged_judges()}
    return RewardTerms(own, config.bar, config.n_trials, counted | judges)


def _state(trace: vf.Trace) -> TradingState:
    return cast(TradingState, trace.state)


@cache
def _record_store(folder: Path) -> RecordStore:
    return RecordStore(folder)


def _metrics(outcome: Outcome) -> dict[str, float]:
    last = [each.run for each in outcome.windows]
    n_windows = len(last)
    values = {
        "nav": sum(float(run.nav[-1]) for run in last) / n_windows,
        "benchmark_nav": sum(float(each.benchmark.nav[-1]) for each in outcome.windows) / n_windows,
        "turnover": sum(float(run.turnover.sum()) for run in last) / n_windows,
        "costs": sum(float(values.sum()) for run in last for values in run.costs.values()) / n_windows,
        "breaches": sum(int(each.breaches.sum()) for each in outcome.windows),
        "n_answers": outcome.n_answers,
        "n_malformed": outcome.n_malformed,
        "n_refused": outcome.n_refused,
        "n_reads": outcome.n_reads,
        "has_finished": outcome.has_finished,
    }
    return {name: float(value) for name, value in values.items()}
