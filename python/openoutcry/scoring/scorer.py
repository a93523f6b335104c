"""Agents judged by their records or their returns.

Records are replayed and everything is recomputed from them; returns alone can be tested, but never be found eligible,
since nobody can tell what was done for them. `docs/score.md` says what each gate asks and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import plain, text, whole
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal, tell
from openoutcry.openoutcry_py import CostModel, Limits, Submission, score_run
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.verdict import Board, Gate, Score

__all__ = [
    "Board",
    "Gate",
    "Score",
    "Submission",
    "Suite",
    "capacity",
    "score",
    "score_run",
    "submit",
    "submit_returns",
]

Array = npt.NDArray[np.float64]
Agents = RunRecord | Submission | Iterable[RunRecord | Submission] | Mapping[str, Any] | npt.ArrayLike


class Suite(Protocol):
    """What `score` asks of an evaluation protocol."""

    def config(self) -> Mapping[str, Any]:
        """Return what of the scorer's configuration it sets."""

    def markets(self) -> Sequence[Dataset]:
        """Return the markets that records are replayed on."""

    def rules(self) -> tuple[CostModel | None, Limits | None]:
        """Return the costs and limits that agents are judged by."""

    def lookback(self) -> int | None:
        """Return how many closes an agent may be shown; None takes any."""


def score(
    agents: Agents,
    *,
    suite: Suite | None = None,
    dataset: Dataset | Iterable[Dataset] | None = None,
    costs: CostModel | None = None,
    limits: Limits | None = None,
    windows: Sequence[int] | None = None,
    benchmark: npt.ArrayLike | None = None,
    cash: npt.ArrayLike | None = None,
    dates: Sequence[str] = (),
    periods_per_year: float = 252.0,
    n_trials: int = 0,
    luck_floor: Agents | None = None,
    trusted_keys: Iterable[bytes | str] = (),
    config: Mapping[str, Any] | None = None,
) -> Board:
    """Judge agents by their records, or by their returns.

    Args:
        agents: Records, submissions, or returns by the name of the agent: shape `(n_days,)`, of several seeds
            `(n_seeds, n_days)`. An array alone is one agent.
        suite: The protocol that agents are held to.
        dataset: Markets that records are replayed on, beside those of the suite.
        costs: What trading must have cost; None takes the word of the suite, or of the records.
        limits: What a decision may have asked for; None as above.
        windows: Days of each window of returns; None is one window, on which nothing can be found.
        benchmark: Returns of buy-and-hold on the days of returns.
        cash: Returns of cash on the days of returns; None is 0.
        dates: The day of each return, by which the board names windows.
        periods_per_year: Bars a year of returns.
        n_trials: Trials that a ledger has counted; the agents are the least there can be.
        luck_floor: Agents without skill, which show what luck does and are in no test; an empty list is none.
        trusted_keys: Public keys of Ed25519. Of agents of one track, the one whose record such a key signed is the
            original, unless `originals` of `config` names another; else all are copies of one another.
        config: What differs from the defaults of the scorer, over what the suite sets.

    Raises:
        OpenOutcryError: a record says something else than its replay, or what is given cannot be scored.
    """
    wanted_costs, wanted_limits = suite.rules() if suite is not None else (None, None)
    terms = _Terms(
        markets=_markets(dataset, suite),
        costs=costs or wanted_costs,
        limits=limits or wanted_limits,
        lookback=suite.lookback() if suite is not None else None,
        windows=windows,
        benchmark=benchmark,
        cash=cash,
        dates=dates,
        periods_per_year=periods_per_year,
    )
    judged = _submissions(agents, terms)
    floor = [] if luck_floor is None or _is_nobody(luck_floor) else _submissions(luck_floor, terms)
    settings = dict(suite.config()) if suite is not None else {}
    for name, value in (config or {}).items():
        both = isinstance(value, Mapping) and isinstance(settings.get(name), Mapping)
        settings[name] = {**settings[name], **value} if both else value
    if n_trials:
        counted = {**settings.get("trials", {}), "n_trials": whole("n_trials", n_trials, 0, 2**63 - 1)}
        settings["trials"] = counted
    if trusted := list(trusted_keys):
        settings.setdefault("originals", sorted(_signed(agents, trusted)))
    if floor:
        settings["luck_floor"] = sorted({*settings.get("luck_floor", ()), *(each.agent_id for each in floor)})
    try:
        given = json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refusal("argument_invalid", f"`config` must be an object of JSON; received one with {error}") from error
    return Board.from_json(native.score_field([*judged, *floor], given))


@dataclass(frozen=True)
class _Terms:
    markets: list[Dataset]
    costs: CostModel | None
    limits: Limits | None
    lookback: int | None
    windows: Sequence[int] | None
    benchmark: npt.ArrayLike | None
    cash: npt.ArrayLike | None
    dates: Sequence[str]
    periods_per_year: float


def _markets(dataset: Dataset | Iterable[Dataset] | None, suite: Suite | None) -> list[Dataset]:
    given = [] if dataset is None else [dataset] if isinstance(dataset, Dataset) else list(dataset)
    markets = [*given, *(suite.markets() if suite is not None else ())]
    if wrong := next((each for each in markets if not isinstance(each, Dataset)), None):
        raise refusal("argument_invalid", f"`dataset` must be a Dataset, or several; received {type(wrong).__name__}")
    return markets


def _submissions(agents: Any, terms: _Terms) -> list[Submission]:
    if _is_known(agents):
        agents = [agents]
    if isinstance(agents, Mapping):
        return [_named(name, each, terms) for name, each in agents.items()]
    if (
        isinstance(agents, (list, tuple))
        and agents
        and all(isinstance(each, (RunRecord, Submission)) for each in agents)
    ):
        return [_submission(each, terms) for each in agents]
    return [_named("returns", agents, terms)]


def _is_nobody(agents: Any) -> bool:
    return isinstance(agents, (list, tuple)) and not agents


def _is_known(agent: Any) -> bool:
    return isinstance(agent, (RunRecord, Submission))


def _signed(agents: Any, keys: list[bytes | str]) -> set[str]:
    """Return who has a record that one of the keys signed."""
    given = agents.values() if isinstance(agents, Mapping) else agents
    several = given if isinstance(given, Iterable) else [given]
    return {each.agent_id for each in several if isinstance(each, RunRecord) and each.is_signed_by(keys)}


def _submission(agent: RunRecord | Submission, terms: _Terms) -> Submission:
    if isinstance(agent, Submission):
        return agent
    for run, header in enumerate(agent.headers):
        if terms.lookback is not None and header["lookback"] != str(terms.lookback):
            received = f"one whose lookback of run {run} is {header['lookback']} where the suite has {terms.lookback}"
            raise refusal("record_differs", f"a record that keeps to the suite is required; received {received}")
    try:
        return submit(agent, terms.markets, terms.costs, terms.limits)
    except native.OpenOutcryError as error:
        tell(error, f"in the record of {agent.agent_id!r}")
        raise


def _named(name: Any, agent: Any, terms: _Terms) -> Submission:
    if _is_known(agent):
        return _submission(agent, terms)
    return submit_returns(
        text("agent_id", name),
        agent,
        windows=terms.windows,
        benchmark=terms.benchmark,
        cash=terms.cash,
        dates=terms.dates,
        periods_per_year=terms.periods_per_year,
    )


def submit(
    record: RunRecord,
    datasets: Dataset | Iterable[Dataset],
    costs: CostModel | None = None,
    limits: Limits | None = None,
    *,
    fill_key: bytes | None = None,
    capacity: float | None = None,
) -> Submission:
    """Replay a record and return what a scorer may know of it.

    Args:
        record: The record.
        datasets: The markets of its runs.
        costs: What trading must have cost; None takes the record's word.
        limits: What a decision may have asked for; None takes the record's word.
        fill_key: The 32 bytes behind the commitment of a sealed fill key.
        capacity: NAV at which nothing is left over the benchmark, where it has been measured.

    Raises:
        OpenOutcryError: the record is unfinished, was changed once signed, or says anything else than its replay.
    """
    markets = _markets(datasets, None)
    if not markets:
        raise refusal("argument_invalid", "`dataset` must be a Dataset, or several, for records; received none")
    cores, known = [market._core for market in markets], [market._known() for market in markets]
    return Submission.of_record(
        record._core, cores, costs=costs, limits=limits, fill_key=fill_key, capacity=capacity, known=known
    )


MOST_CAPITAL = 1e18


def capacity(
    record: RunRecord, datasets: Dataset | Iterable[Dataset], *, fill_key: bytes | None = None
) -> tuple[float | None, str]:
    """Return the NAV at which a record's decisions earn nothing over buy-and-hold.

    The same weights are carried out at other sizes, against buy-and-hold of that size, until the mean active return is
    0, to a percent of NAV. Where there is no such NAV, the text says why.

    Args:
        record: The record.
        datasets: The markets of its runs.
        fill_key: The 32 bytes behind the commitment of a sealed fill key.

    Raises:
        OpenOutcryError: the record cannot be replayed.
    """
    cores = [market._core for market in _markets(datasets, None)]

    def active(capital: float) -> float | None:
        resized = Submission.at_capital(record._core, cores, capital, fill_key=fill_key)
        mean = Board.from_json(native.score_field([resized], '{"draws":{"replicates":1}}')).scores[0].sides[0]["mean"]
        return None if mean is None else float(mean)

    low = min(float(header["costs.capital"]) for header in record.headers)
    here, there = active(low), active(MOST_CAPITAL)
    if here is None or there is None:
        return None, "active returns that are defined are required; received others"
    if here <= 0.0:
        return None, f"a mean active return above 0 at a NAV of {low:g} is required; received {here:.3g} a year"
    if there > 0.0:
        return None, f"costs that grow with size are required; received {there:.3g} a year at a NAV of {MOST_CAPITAL:g}"
    high = MOST_CAPITAL
    while high > 1.01 * low:
        middle = float(np.sqrt(low) * np.sqrt(high))
        mean = active(middle)
        if mean is not None and mean > 0.0:
            low = middle
        else:
            high = middle
    return low, ""


def submit_returns(
    agent_id: str,
    returns: npt.ArrayLike,
    *,
    windows: Sequence[int] | None = None,
    benchmark: npt.ArrayLike | None = None,
    cash: npt.ArrayLike | None = None,
    periods_per_year: float = 252.0,
    in_sample_trials: int = 0,
    dates: Sequence[str] = (),
) -> Submission:
    """Return what a scorer may know of returns alone.

    Args:
        agent_id: What the agent is called.
        returns: Simple returns, shape `(n_days,)`, of several seeds `(n_seeds, n_days)`.
        windows: Days of each window; None is one window.
        benchmark: Returns of buy-and-hold, shape `(n_days,)`.
        cash: Returns of cash, shape `(n_days,)`; None is 0.
        periods_per_year: Bars a year.
        in_sample_trials: Trials that the maker of the agent declares.
        dates: The day of each return.
    """
    table = np.atleast_2d(_numbers("returns", returns, (1, 2)))
    n_days = table.shape[1]
    lengths = [n_days] if windows is None else [whole("windows", each, 1, 2**31 - 1) for each in windows]
    if sum(lengths) != n_days or not n_days:
        raise refusal(
            "argument_invalid",
            f"`windows` must be lengths that add up to {n_days} days, at least 1; received {lengths}",
        )
    held, idle = (None if each is None else _days(name, each, n_days) for name, each in _sides(benchmark, cash))
    if len(dates) not in (0, n_days):
        raise refusal("shape_mismatch", f"`dates` must be one a return, {n_days} of them; received {len(dates)}")
    runs = []
    for end, length in zip(accumulate(lengths), lengths, strict=True):
        days = slice(end - length, end)
        both = None if held is None else (held[days], np.zeros(length) if idle is None else idle[days])
        rate = None if idle is None else idle[days]
        named = list(map(str, dates[days]))
        for seed, row in enumerate(table):
            runs.append((days.start, end + 1, seed, np.ascontiguousarray(row[days]), both, rate, named))
    trials = whole("in_sample_trials", in_sample_trials, 0, 2**53 - 1)
    return Submission.of_returns(agent_id, runs, periods_per_year=periods_per_year, in_sample_trials=trials)


def _sides(benchmark: Any, cash: Any) -> tuple[tuple[str, Any], ...]:
    return (("benchmark", benchmark), ("cash", cash))


def _days(name: str, values: Any, n_days: int) -> Array:
    series = _numbers(name, values, (1,))
    if len(series) != n_days:
        raise refusal("shape_mismatch", f"`{name}` must be one return a day, {n_days} of them; received {len(series)}")
    return series


def _numbers(name: str, values: Any, axes: tuple[int, ...]) -> Array:
    array = plain(name, values)
    if array.ndim not in axes or array.dtype.kind not in "fiu":
        wanted = f"`{name}` must be an array of numbers in {' or '.join(map(str, axes))} dimensions"
        raise refusal("shape_mismatch", f"{wanted}; received shape {array.shape} of {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)
