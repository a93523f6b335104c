"""Selection of the decision that counts for each agent and market."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from openoutcry.arena.scoring import coverage, settlement
from openoutcry.arena.scoring.exact_arithmetic import UNIT, Int64Array, Millionths, int64_array
from openoutcry.arena.scoring.market_quotes import Quotes, quote_columns
from openoutcry.arena.scoring.score_inputs import Agent, Decision, ScoreInputs
from openoutcry.arena.timestamps import SECOND
from openoutcry.errors import refusal

BoolArray = npt.NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Decisions that count, as columns sorted by agent and then by market.

    Decisions on markets with a provisional result are included, with `is_settled` false. `probability`, `confidence`
    and prices are int64 millionths, -1 if missing. `theaters` is an index into `theater_sets`.
    """

    inputs: ScoreInputs
    agents: tuple[Agent, ...]
    n_markets: int
    agent: Int64Array
    market: Int64Array
    probability: Int64Array
    confidence: Int64Array
    prices: dict[str, Int64Array]
    yes: BoolArray
    theaters: Int64Array
    is_settled: BoolArray
    theater_sets: tuple[tuple[str, ...], ...]
    coverage_counts: tuple[tuple[int, int], ...]

    @property
    def loss(self) -> Int64Array:
        """Squared error of each forecast, in units of 10^-12."""
        return (self.probability - self.yes * UNIT) ** 2

    @property
    def starts(self) -> list[int]:
        """Index of the first forecast of each agent, then the number of forecasts."""
        starts: list[int] = np.searchsorted(self.agent, np.arange(len(self.agents) + 1)).tolist()
        return starts

    def where(self, selected: BoolArray) -> Forecasts:
        """Return the forecasts selected by a mask, with the same agents."""
        names = ("agent", "market", "probability", "confidence", "yes", "theaters", "is_settled")
        prices = {name: price[selected] for name, price in self.prices.items()}
        return replace(self, prices=prices, **{name: getattr(self, name)[selected] for name in names})

    def of_theater(self, theater: str) -> BoolArray:
        """Return a mask of the forecasts on markets that name a theater."""
        named = np.array([theater in each for each in self.theater_sets], dtype=np.bool_)
        return named[self.theaters] if len(named) else np.zeros(len(self.theaters), dtype=np.bool_)


def select(inputs: ScoreInputs) -> Forecasts:
    """Return the decisions that count, with agents and markets sorted by name."""
    agents = tuple(sorted(inputs.agents))
    places = {agent.slug: place for place, agent in enumerate(agents)}
    if len(places) < len(agents):
        raise refusal("value_invalid", "agents must have distinct slugs; received one twice")
    quotes = quote_columns(inputs.quotes, inputs.snapshots_us)
    table = _Table.of(inputs.decisions, places, quotes.markets)
    settled = settlement.settle(inputs.resolutions, inputs.at_us, inputs.parameters.grace_s)
    markets = _markets(inputs, quotes, settled)
    shown, is_current = quotes.at(table.market, table.received)
    if np.any(shown < 0):
        raise refusal("value_invalid", "a decision must be on a market of a snapshot before it; received another")
    suspended = np.array([agent.suspended for agent in agents], dtype=np.bool_)
    limit = np.minimum(quotes.cutoff[shown], markets.limit[table.market])
    counts = (table.received <= limit) & markets.is_known[table.market] & ~suspended[table.agent]
    selected = table.last(counts)
    # Theaters are those of the cited snapshot, prices those of the latest one.
    used, _ = quotes.at(table.market[selected], table.snapshot[selected])
    used = np.where(used < 0, shown[selected], used)
    prices = {name: np.where(is_current[selected], price[shown[selected]], -1) for name, price in quotes.prices.items()}
    reached = coverage.coverage_counts(inputs, agents, quotes, table.agent, table.market, markets.first)
    return Forecasts(
        inputs=inputs,
        agents=agents,
        n_markets=len(quotes.markets),
        agent=table.agent[selected],
        market=table.market[selected],
        probability=table.probability[selected],
        confidence=table.confidence[selected],
        prices=prices,
        yes=markets.yes[table.market[selected]],
        theaters=quotes.theaters[used],
        is_settled=markets.is_settled[table.market[selected]],
        theater_sets=quotes.theater_sets,
        coverage_counts=reached,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Decisions as columns, in the order of the input."""

    seq: Int64Array
    agent: Int64Array
    market: Int64Array
    received: Int64Array
    snapshot: Int64Array
    probability: Int64Array
    confidence: Int64Array

    @classmethod
    def of(cls, decisions: Sequence[Decision], agents: Mapping[str, int], markets: Mapping[str, int]) -> _Table:
        rows = zip(*decisions, strict=True) if decisions else [()] * len(Decision._fields)
        seqs, slugs, ids, received, snapshots, probabilities, confidences = rows
        n, read = len(decisions), Millionths()
        try:
            agent, market = (
                int64_array(map(agents.__getitem__, slugs), n),
                int64_array(map(markets.__getitem__, ids), n),
            )
        except KeyError as error:
            message = f"a decision must be of a known agent on a known market; received {error.args[0]!r}"
            raise refusal("value_invalid", message) from None
        probability = read.column(probabilities)
        if np.any(probability < 0):
            raise refusal("value_invalid", "a decision must have a probability; received None")
        moments = int64_array(received, n), int64_array(snapshots, n)
        return cls(int64_array(seqs, n), agent, market, *moments, probability, read.column(confidences))

    def last(self, counts: BoolArray) -> Int64Array:
        """Return the indices of the last decision that counts per agent and market."""
        places = np.flatnonzero(counts)
        order = np.lexsort((self.seq[places], self.received[places], self.market[places], self.agent[places]))
        places = places[order]
        same = (np.diff(self.agent[places]) == 0) & (np.diff(self.market[places]) == 0)
        if np.any(same & (np.diff(self.seq[places]) == 0)):
            raise refusal("value_invalid", "a submission must decide on a market once; received it twice")
        last: Int64Array = places[np.append(~same, np.ones(min(1, len(places)), dtype=np.bool_))]
        return last


@dataclass(frozen=True, slots=True)
class _Markets:
    """Result of each market.

    `first` is the time of its first resolution record, `limit` the latest time of a decision that counts, both in
    microseconds.
    """

    is_known: BoolArray
    is_settled: BoolArray
    yes: BoolArray
    limit: Int64Array
    first: Int64Array


def _markets(inputs: ScoreInputs, quotes: Quotes, settled: Mapping[str, settlement.Settlement]) -> _Markets:
    n = len(quotes.markets)
    known, final, yes = (np.zeros(n, dtype=np.bool_) for _ in range(3))
    found = _Markets(known, final, yes, np.full(n, _NEVER), np.full(n, _NEVER))
    margin = inputs.parameters.close_margin_s * SECOND
    for market_id, each in settled.items():
        place = quotes.markets.get(market_id)
        if place is None:
            continue
        found.first[place] = each.first_us
        found.yes[place] = each.yes
        if each.actual_close_us is not None:
            found.limit[place] = each.actual_close_us - margin
        within = inputs.window is None or (
            each.settled_us is not None and inputs.window[0] <= each.settled_us < inputs.window[1]
        )
        found.is_settled[place] = within and each.state == settlement.SETTLED
        found.is_known[place] = within and each.state in (settlement.SETTLED, settlement.PROVISIONAL)
    return found
