"""Scores of agents, from their records or their returns.

Records are replayed, and every number is recomputed from decisions and data. Returns without a record are tested but
never eligible, because the decisions behind them cannot be verified. `docs/score.md` defines every gate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, checked_text
from openoutcry.data.dataset import Dataset
from openoutcry.errors import add_note, refusal
from openoutcry.openoutcry_py import CostModel, Limits, Submission
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.board_notices import board_notices
from openoutcry.scoring.market_caveats import market_caveats
from openoutcry.scoring.return_benchmarks import Sides
from openoutcry.scoring.return_dates import caveats_of, dates_of, periods_of, score_run
from openoutcry.scoring.return_submissions import returns_of, submit_returns
from openoutcry.scoring.return_values import doubts_of
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

EDITION = 3
"""Current edition of the scorer, for boards without another one in the suite or the configuration."""

Array = npt.NDArray[np.float64]
Agents = RunRecord | Submission | Iterable[RunRecord | Submission] | Mapping[str, Any] | npt.ArrayLike


class Suite(Protocol):
    """The evaluation protocol that `score` requires."""

    def config(self) -> Mapping[str, Any]:
        """Return the scorer settings of the protocol."""

    def markets(self) -> Sequence[Dataset]:
        """Return the markets that records are replayed on."""

    def rules(self) -> tuple[CostModel | None, Limits | None]:
        """Return the required costs and limits."""

    def lookback(self) -> int | None:
        """Return the required lookback; None accepts any."""


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
    equal_weight: npt.ArrayLike | None = None,
    passive: npt.ArrayLike | None = None,
    dates: Sequence[str] = (),
    periods_per_year: float | None = None,
    n_trials: int = 0,
    luck_floor: Agents | None = None,
    trusted_keys: Iterable[bytes | str] = (),
    config: Mapping[str, Any] | None = None,
) -> Board:
    """Score agents by their records, or by their returns.

    Args:
        agents: Records, submissions, or a mapping from agent name to simple returns: shape `(n_days,)`, or
            `(n_seeds, n_days)` for several seeds. A single array is one agent.
        suite: The evaluation protocol.
        dataset: Markets that records are replayed on, in addition to those of the suite.
        costs: Required costs; None takes those of the suite, or of the records.
        limits: Required limits; None takes those of the suite, or of the records.
        windows: Days of each window of returns; None is one window, which is too few to be eligible.
        benchmark: Buy-and-hold returns on the same days, shape `(n_days,)`.
        cash: Cash returns on the same days, shape `(n_days,)`; None is 0.
        equal_weight: Returns of all symbols kept at equal parts, shape `(n_days,)`. Without them, the gate `benchmark`
            is unknown.
        passive: Returns of other portfolios that use no information on returns, shape `(n_days,)` or
            `(n_portfolios, n_days)`, such as inverse volatility. Without them, the passive mix is unknown.
        dates: Date of each return; the board names its windows by them. By default the index of a pandas series.
        periods_per_year: Bars per year of returns; by default those that `dates` show. Required without dates. A
            number that contradicts the dates is in `caveats` of the board.
        n_trials: Trials counted by a ledger; the scorer counts at least the agents of the board.
        luck_floor: Null agents, reported for comparison and excluded from every test; an empty list is none.
        trusted_keys: Ed25519 public keys. Among agents with the same return series, the one with a record signed by
            such a key is the original, unless `originals` of `config` names another. Otherwise all are copies.
        config: Scorer settings that override the defaults and the suite.

    Raises:
        OpenOutcryError: a record differs from its replay, or an argument is invalid.
    """
    sides = Sides(benchmark, cash, equal_weight, passive)
    dates = dates_of(dates, _series(agents, luck_floor) | vars(sides))
    wanted_costs, wanted_limits = suite.rules() if suite is not None else (None, None)
    terms = _Terms(
        markets=_markets(dataset, suite),
        costs=costs or wanted_costs,
        limits=limits or wanted_limits,
        lookback=suite.lookback() if suite is not None else None,
        windows=windows,
        sides=sides,
        dates=dates,
        periods_per_year=periods_per_year,
    )
    submissions = _submissions(agents, terms)
    floor = [] if luck_floor is None or _is_empty(luck_floor) else _submissions(luck_floor, terms)
    settings = _settings(suite, config, n_trials)
    if trusted := list(trusted_keys):
        settings.setdefault("originals", sorted(_signed(agents, trusted)))
    if floor:
        settings["luck_floor"] = sorted({*settings.get("luck_floor", ()), *(null.agent_id for null in floor)})
    try:
        config_json = json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refusal("argument_invalid", f"`config` must be a JSON object; received one with {error}") from error
    board = Board.from_json(native.score_field([*submissions, *floor], config_json))
    return replace(board, caveats=(*_caveats(terms), *_doubts(agents, terms), *board_notices(board)))


def _settings(suite: Suite | None, config: Mapping[str, Any] | None, n_trials: int) -> dict[str, Any]:
    """Return the settings of suite and configuration.

    They are of the current edition if neither states it.
    """
    settings = dict(suite.config()) if suite is not None else {}
    stated = settings.get("edition")
    given = (config or {}).get("edition", stated)
    if stated is not None and given != stated:
        wanted = f"`edition` must be that of the suite, {stated}"
        raise refusal("argument_invalid", f"{wanted}; received {given}; hint: its `benchmarks` determine it")
    for name, value in (config or {}).items():
        both = isinstance(value, Mapping) and isinstance(settings.get(name), Mapping)
        settings[name] = {**settings[name], **value} if both else value
    settings.setdefault("edition", EDITION)
    if n_trials:
        counted = {**settings.get("trials", {}), "n_trials": checked_integer("n_trials", n_trials, 0, 2**63 - 1)}
        settings["trials"] = counted
    return settings


@dataclass(frozen=True)
class _Terms:
    markets: list[Dataset]
    costs: CostModel | None
    limits: Limits | None
    lookback: int | None
    windows: Sequence[int] | None
    sides: Sides
    dates: Sequence[str]
    periods_per_year: float | None


def _markets(dataset: Dataset | Iterable[Dataset] | None, suite: Suite | None) -> list[Dataset]:
    given = [] if dataset is None else [dataset] if isinstance(dataset, Dataset) else list(dataset)
    markets = [*given, *(suite.markets() if suite is not None else ())]
    if wrong := next((each for each in markets if not isinstance(each, Dataset)), None):
        message = f"`dataset` must be a Dataset or a list of them; received {type(wrong).__name__}"
        raise refusal("argument_invalid", message)
    return markets


def _caveats(terms: _Terms) -> tuple[str, ...]:
    """Return the caveats of the bars per year, and of stale prices."""
    return *caveats_of(terms.dates, terms.periods_per_year), *market_caveats(terms.markets)


def _doubts(agents: Any, terms: _Terms) -> tuple[str, ...]:
    """Return the caveats of agents that are given as returns, and of their benchmarks."""
    series = {name: each for name, each in _series(agents, None).items() if not _is_submittable(each)}
    if not series or (isinstance(agents, (list, tuple)) and any(map(_is_submittable, agents))):
        return ()
    return doubts_of(terms.sides.portfolios | series, periods_of(terms.dates, terms.periods_per_year))


def _submissions(agents: Any, terms: _Terms) -> list[Submission]:
    if _is_submittable(agents):
        agents = [agents]
    if isinstance(agents, Mapping):
        return [_named(name, agent, terms) for name, agent in agents.items()]
    if (
        isinstance(agents, (list, tuple))
        and agents
        and all(isinstance(each, (RunRecord, Submission)) for each in agents)
    ):
        return [_submission(each, terms) for each in agents]
    return [_named("returns", agents, terms)]


def _series(agents: Any, luck_floor: Any) -> dict[Any, Any]:
    """Return the returns of a board by name."""
    nulls = luck_floor if isinstance(luck_floor, Mapping) else {}
    given = dict(agents) if isinstance(agents, Mapping) else {"returns": agents}
    return given | {f"luck_floor {name}": returns for name, returns in nulls.items()}


def _is_empty(agents: Any) -> bool:
    return isinstance(agents, (list, tuple)) and not agents


def _is_submittable(agent: Any) -> bool:
    return isinstance(agent, (RunRecord, Submission))


def _signed(agents: Any, keys: list[bytes | str]) -> set[str]:
    """Return the ids of agents with a record signed by one of the keys."""
    given = agents.values() if isinstance(agents, Mapping) else agents
    several = given if isinstance(given, Iterable) else [given]
    return {each.agent_id for each in several if isinstance(each, RunRecord) and each.is_signed_by(keys)}


def _submission(agent: RunRecord | Submission, terms: _Terms) -> Submission:
    if isinstance(agent, Submission):
        return agent
    for run, header in enumerate(agent.headers):
        if terms.lookback is not None and header["lookback"] != str(terms.lookback):
            wanted = f"a record with the lookback of the suite, {terms.lookback}, is required"
            hint = "hint: record the agent with `openoutcry suite run`, or pass that `lookback` to `run_backtest`"
            raise refusal("record_differs", f"{wanted}; received lookback {header['lookback']} in run {run}; {hint}")
    try:
        return submit(agent, terms.markets, terms.costs, terms.limits)
    except native.OpenOutcryError as error:
        add_note(error, f"in the record of {agent.agent_id!r}")
        raise


def _named(name: Any, agent: Any, terms: _Terms) -> Submission:
    if _is_submittable(agent):
        return _submission(agent, terms)
    return returns_of(
        checked_text("agent_id", name), agent, terms.windows, terms.sides, terms.dates, terms.periods_per_year
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
    """Replay a record and return the submission that the scorer reads.

    Args:
        record: The record.
        datasets: The markets of its runs.
        costs: Required costs; None takes those of the record.
        limits: Required limits; None takes those of the record.
        fill_key: The 32-byte secret behind the commitment of a sealed fill key.
        capacity: NAV at which the mean active return is 0, if it was measured.

    Raises:
        OpenOutcryError: the record is unfinished, was changed after it was signed, or differs from its replay.
    """
    markets = _markets(datasets, None)
    if not markets:
        raise refusal("argument_invalid", "`dataset` is required for records; received none")
    cores, names = [market._core for market in markets], [market._known() for market in markets]
    return Submission.of_record(
        record._core, cores, costs=costs, limits=limits, fill_key=fill_key, capacity=capacity, market_names=names
    )


MAX_CAPITAL = 1e18


def capacity(
    record: RunRecord, datasets: Dataset | Iterable[Dataset], *, fill_key: bytes | None = None
) -> tuple[float | None, str]:
    """Return the capacity of a record: the NAV at which its mean active return is 0.

    The same weights are replayed at other starting NAVs, against buy-and-hold of the same size. The search is accurate
    to 1 % of NAV.

    Args:
        record: The record.
        datasets: The markets of its runs.
        fill_key: The 32-byte secret behind the commitment of a sealed fill key.

    Returns:
        The capacity in account currency, or None, and the reason why it is None.

    Raises:
        OpenOutcryError: the record cannot be replayed.
    """
    cores = [market._core for market in _markets(datasets, None)]

    def active(capital: float) -> float | None:
        resized = Submission.at_capital(record._core, cores, capital, fill_key=fill_key)
        mean = Board.from_json(native.score_field([resized], '{"draws":{"replicates":1}}')).scores[0].sides[0]["mean"]
        return None if mean is None else float(mean)

    low = min(float(header["costs.capital"]) for header in record.headers)
    here, there = active(low), active(MAX_CAPITAL)
    if here is None or there is None:
        return None, "defined active returns are required; received undefined ones"
    if here <= 0.0:
        return None, f"a mean active return above 0 at a NAV of {low:g} is required; received {here:.3g} a year"
    if there > 0.0:
        return None, f"costs that grow with size are required; received {there:.3g} a year at a NAV of {MAX_CAPITAL:g}"
    high = MAX_CAPITAL
    while high > 1.01 * low:
        middle = float(np.sqrt(low) * np.sqrt(high))
        mean = active(middle)
        if mean is not None and mean > 0.0:
            low = middle
        else:
            high = middle
    return low, ""
