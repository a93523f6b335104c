"""Decision stability: how far two runs of one agent decide alike.

A model that samples its answers, or an agent with a seed, decides differently on equal observations. The compared runs
share market, window, costs and limits.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.agents import Agent, Answer, TextAgent
from openoutcry.agents.decision_codec import decision_text
from openoutcry.backtest.rerun import rerun
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.observing_agent import observing_agent
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord

__all__ = ["RecordedRun", "Stability", "decision_stability", "recorded_runs", "second_call"]

Array = npt.NDArray[np.float64]
Key = tuple[str, ...]
_HOLD = '{"orders":[]}'


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A recorded run with the hashes of its observations.

    Attributes:
        label: Name of the record and index of the run.
        run: The run, recomputed from its decisions.
        observations: Hash of the observation before each decision.
        conditions: Market, window, lookback, costs and limits, as text.
    """

    label: str
    run: Run
    observations: tuple[str, ...]
    conditions: Key


@dataclass(frozen=True)
class Stability:
    """Differences between the decisions of two runs of one agent on one window.

    Attributes:
        first: Label of the first run.
        second: Label of the second run.
        market: Name of the market.
        start: First date of the window.
        end: Last date of the window.
        n_decisions: Decisions that both runs made; an account that ended early decides no more.
        n_equal: Equal decisions: the same targets, and holds for the same symbols.
        n_same_observation: Decisions on equal observations, account included.
        n_equal_on_same: Equal ones of these.
        weight_difference: Mean over decisions of the sum over symbols of the absolute differences of wanted weights,
            in fractions of NAV. A symbol without an order keeps its weight.
        largest_weight_difference: The largest such sum.
        nav_difference: Final NAV of the second run over that of the first, less 1; None after a ruin.
        largest_nav_difference: The largest such difference at any close, in absolute value; None after a ruin.
        sharpe: Annual Sharpe ratio of each run; None if undefined.
    """

    first: str
    second: str
    market: str
    start: str
    end: str
    n_decisions: int
    n_equal: int
    n_same_observation: int
    n_equal_on_same: int
    weight_difference: float
    largest_weight_difference: float
    nav_difference: float | None
    largest_nav_difference: float | None
    sharpe: tuple[float | None, float | None]

    @property
    def share_equal(self) -> float:
        """Share of equal decisions."""
        return self.n_equal / self.n_decisions

    @property
    def share_equal_on_same(self) -> float | None:
        """Share of equal decisions on equal observations; None without such observations."""
        return self.n_equal_on_same / self.n_same_observation if self.n_same_observation else None

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return asdict(self) | {"share_equal": self.share_equal, "share_equal_on_same": self.share_equal_on_same}


def recorded_runs(
    label: str, record: RunRecord, datasets: Sequence[Dataset], fill_key: bytes | str | None = None
) -> list[RecordedRun]:
    """Return the runs of a record, recomputed from their decisions.

    Raises:
        OpenOutcryError: the market of a run is not among `datasets`, or the decisions cannot be run on it.
    """
    markets = {dataset.fingerprint: dataset for dataset in datasets}
    observed = [[step["observation"] for step in run["steps"]] for run in json.loads(record.to_json())["runs"]]
    runs = []
    for place, header in enumerate(record.headers):
        market = markets.get(header["dataset.fingerprint"])
        if market is None:
            known = ", ".join(each.name for each in datasets)
            wanted = f"the market {header['dataset.name']} of run {place} is required"
            raise refusal("argument_invalid", f"{wanted}; received {known or 'none'}")
        # The noise of slippage is what a second seed changes, so it is no condition.
        same = [f"{name}={header[name]}" for name in sorted(header) if name.startswith(("costs.", "limits."))]
        where = [header[name] for name in ("dataset.fingerprint", "window.start", "window.end", "lookback")]
        run = rerun(record, place, market, fill_key)
        runs.append(RecordedRun(f"{label}#{place}", run, tuple(observed[place]), (*where, *same)))
    return runs


def decision_stability(runs: Sequence[RecordedRun]) -> list[Stability]:
    """Return the differences of every pair of runs on one window.

    Raises:
        OpenOutcryError: no two runs have the same market, window, lookback, costs and limits.
    """
    groups: defaultdict[Key, list[RecordedRun]] = defaultdict(list)
    for each in runs:
        groups[each.conditions].append(each)
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    if not pairs:
        wanted = "two runs with the same market, window, lookback, costs and limits are required"
        raise refusal("argument_invalid", f"{wanted}; received {len(runs)} that all differ in one of them")
    return [_stability(first, second) for first, second in pairs]


def second_call(
    record: RunRecord,
    place: int,
    dataset: Dataset,
    agent: Agent | TextAgent | Strategy,
    fill_key: bytes | str | None = None,
) -> Stability:
    """Call an agent on every observation of a run, and compare its decisions.

    They are compared with the recorded ones. The account follows the record, so every observation is equal, account
    included. The effect on NAV is that of the new decisions in an account of their own. A new decision that is invalid
    counts as a hold.

    Args:
        record: The record.
        place: Index of the run in the record.
        dataset: The market of that run.
        agent: The agent of the record, in its initial state.
        fill_key: Revealed key of sealed slippage noise.

    Raises:
        Exception: an exception of the agent passes unchanged.
    """
    texts: list[str | Answer] = []
    caller = observing_agent(agent, record.agent_id, dataset.symbols) if isinstance(agent, Strategy) else agent

    def ask(observation: str) -> None:
        if isinstance(caller, TextAgent):
            texts.append(caller.answer(observation))
        else:
            texts.append(decision_text(caller(json.loads(observation))))

    first = rerun(record, place, dataset, fill_key, watch=ask)
    settings = first._settings
    again = run_backtest(
        dataset,
        _Answers(texts),
        settings["window"],
        settings["costs"],
        settings["limits"],
        settings["seed"],
        lookback=settings["lookback"],
        name=record.agent_id,
        fill_key=settings["fill_key"],
    )
    observations = tuple(str(step) for step in range(len(texts)))
    labels = (f"record#{place}", "second call")
    old, new = (RecordedRun(label, run, observations, ()) for label, run in zip(labels, (first, again), strict=True))
    return _stability(old, new, account=first)


class _Answers(TextAgent):
    """Return given answers in order, then holds."""

    def __init__(self, texts: Sequence[str | Answer]) -> None:
        self._texts: Iterator[str | Answer] = iter(texts)

    def answer(self, observation: str) -> Answer:
        found = next(self._texts, _HOLD)
        return Answer(found) if isinstance(found, str) else found


def _stability(first: RecordedRun, second: RecordedRun, account: Run | None = None) -> Stability:
    old, new = first.run, second.run
    # An account that ended early decides no more.
    n = min(len(first.observations), len(second.observations))
    ours, theirs = old.decisions[:n], new.decisions[:n]
    is_equal = ((ours == theirs) | (np.isnan(ours) & np.isnan(theirs))).all(axis=1)
    is_same = np.array([first.observations[step] == second.observations[step] for step in range(n)], dtype=bool)
    moved = np.abs(_wanted(old, old) - _wanted(new, account or new)).sum(axis=1)[:n]
    ratios = None if min(old.nav.min(), new.nav.min()) <= 0.0 else new.nav / old.nav - 1.0
    return Stability(
        first=first.label,
        second=second.label,
        market=old.dataset.name,
        start=old.dates[0],
        end=old.dates[-1],
        n_decisions=n,
        n_equal=int(is_equal.sum()),
        n_same_observation=int(is_same.sum()),
        n_equal_on_same=int((is_equal & is_same).sum()),
        weight_difference=float(moved.mean()),
        largest_weight_difference=float(moved.max()),
        nav_difference=None if ratios is None else float(ratios[-1]),
        largest_nav_difference=None if ratios is None else float(np.abs(ratios).max()),
        sharpe=(old.metrics["sharpe"], new.metrics["sharpe"]),
    )


def _wanted(run: Run, account: Run) -> Array:
    """Return the wanted weight of each symbol after each decision.

    That is the target, or without an order the present weight in an account.
    """
    return np.where(np.isnan(run.decisions), account.weights[:-1], run.decisions)
