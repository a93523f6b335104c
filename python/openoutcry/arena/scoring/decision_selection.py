"""Which decision of an agent on a market counts (R-43), and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from openoutcry.arena.scoring import coverage, settlement
from openoutcry.arena.scoring.exact_arithmetic import UNIT, Millionths, Whole, whole
from openoutcry.arena.scoring.market_quotes import Quotes, columns
from openoutcry.arena.scoring.score_inputs import Agent, Decision, Facts
from openoutcry.arena.timestamps import SECOND
from openoutcry.errors import refusal

Flags = npt.NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Forecasts:
    """The decisions that count, as columns by agent and then by market.

    Those on markets that are not settled yet, only provisionally determined, are here too and marked.
    `probability`, `confidence` and prices are millionths, -1 for none; `loss` is the squared error in its unit.
    `theaters` is a place in `theater_sets`.
    """

    facts: Facts
    agents: tuple[Agent, ...]
    n_markets: int
    agent: Whole
    market: Whole
    probability: Whole
    confidence: Whole
    prices: dict[str, Whole]
    yes: Flags
    theaters: Whole
    is_settled: Flags
    theater_sets: tuple[tuple[str, ...], ...]
    covered: tuple[tuple[int, int], ...]

    @property
    def loss(self) -> Whole:
        """Squared error of each forecast, in 10^-12."""
        return (self.probability - self.yes * UNIT) ** 2

    @property
    def starts(self) -> list[int]:
        """Place of the first forecast of each agent, and the count of all."""
        starts: list[int] = np.searchsorted(self.agent, np.arange(len(self.agents) + 1)).tolist()
        return starts

    def where(self, kept: Flags) -> Forecasts:
        """Return some of the forecasts, of the same agents."""
        names = ("agent", "market", "probability", "confidence", "yes", "theaters", "is_settled")
        prices = {name: price[kept] for name, price in self.prices.items()}
        return replace(self, prices=prices, **{name: getattr(self, name)[kept] for name in names})

    def of_theater(self, theater: str) -> Flags:
        """Return which forecasts are of markets that name a theater."""
        named = np.array([theater in each for each in self.theater_sets], dtype=np.bool_)
        return named[self.theaters] if len(named) else np.zeros(len(self.theaters), dtype=np.bool_)


def select(facts: Facts) -> Forecasts:
    """Return the decisions that count, agents and markets by name."""
    agents = tuple(sorted(facts.agents))
    places = {agent.slug: place for place, agent in enumerate(agents)}
    if len(places) < len(agents):
        raise refusal("value_invalid", "agents must have distinct slugs; received one twice")
    quotes = columns(facts.quotes, facts.snapshots_us)
    table = _Table.of(facts.decisions, places, quotes.markets)
    settled = settlement.settle(facts.resolutions, facts.at_us, facts.parameters.grace_s)
    markets = _markets(facts, quotes, settled)
    shown, is_current = quotes.at(table.market, table.received)
    if np.any(shown < 0):
        raise refusal("value_invalid", "a decision must be on a market of a snapshot before it; received another")
    suspended = np.array([agent.suspended for agent in agents], dtype=np.bool_)
    limit = np.minimum(quotes.cutoff[shown], markets.limit[table.market])
    counts = (table.received <= limit) & markets.is_known[table.market] & ~suspended[table.agent]
    kept = table.last(counts)
    # Theaters are those of the snapshot that was used, prices those of the last one.
    used, _ = quotes.at(table.market[kept], table.snapshot[kept])
    used = np.where(used < 0, shown[kept], used)
    prices = {name: np.where(is_current[kept], price[shown[kept]], -1) for name, price in quotes.prices.items()}
    reached = coverage.covered(facts, agents, quotes, table.agent, table.market, markets.first)
    return Forecasts(
        facts=facts,
        agents=agents,
        n_markets=len(quotes.markets),
        agent=table.agent[kept],
        market=table.market[kept],
        probability=table.probability[kept],
        confidence=table.confidence[kept],
        prices=prices,
        yes=markets.yes[table.market[kept]],
        theaters=quotes.theaters[used],
        is_settled=markets.is_settled[table.market[kept]],
        theater_sets=quotes.theater_sets,
        covered=reached,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Decisions as columns, as they come."""

    seq: Whole
    agent: Whole
    market: Whole
    received: Whole
    snapshot: Whole
    probability: Whole
    confidence: Whole

    @classmethod
    def of(cls, decisions: Sequence[Decision], agents: Mapping[str, int], markets: Mapping[str, int]) -> _Table:
        rows = zip(*decisions, strict=True) if decisions else [()] * len(Decision._fields)
        seqs, slugs, ids, received, snapshots, probabilities, confidences = rows
        n, read = len(decisions), Millionths()
        try:
            agent, market = whole(map(agents.__getitem__, slugs), n), whole(map(markets.__getitem__, ids), n)
        except KeyError as error:
            message = f"a decision must be of a known agent on a known market; received {error.args[0]!r}"
            raise refusal("value_invalid", message) from None
        probability = read.column(probabilities)
        if np.any(probability < 0):
            raise refusal("value_invalid", "a decision must have a probability; received None")
        moments = whole(received, n), whole(snapshots, n)
        return cls(whole(seqs, n), agent, market, *moments, probability, read.column(confidences))

    def last(self, counts: Flags) -> Whole:
        """Return the last of each agent and market that counts, in their order."""
        places = np.flatnonzero(counts)
        order = np.lexsort((self.seq[places], self.received[places], self.market[places], self.agent[places]))
        places = places[order]
        same = (np.diff(self.agent[places]) == 0) & (np.diff(self.market[places]) == 0)
        if np.any(same & (np.diff(self.seq[places]) == 0)):
            raise refusal("value_invalid", "a submission must decide on a market once; received it twice")
        last: Whole = places[np.append(~same, np.ones(min(1, len(places)), dtype=np.bool_))]
        return last


@dataclass(frozen=True, slots=True)
class _Markets:
    """What became of each market.

    `first` is when anything did, `limit` the last moment of a decision that counts.
    """

    is_known: Flags
    is_settled: Flags
    yes: Flags
    limit: Whole
    first: Whole


def _markets(facts: Facts, quotes: Quotes, settled: Mapping[str, settlement.Settlement]) -> _Markets:
    n = len(quotes.markets)
    known, final, yes = (np.zeros(n, dtype=np.bool_) for _ in range(3))
    found = _Markets(known, final, yes, np.full(n, _NEVER), np.full(n, _NEVER))
    margin = facts.parameters.close_margin_s * SECOND
    for market_id, each in settled.items():
        place = quotes.markets.get(market_id)
        if place is None:
            continue
        found.first[place] = each.first_us
        found.yes[place] = each.yes
        if each.actual_close_us is not None:
            found.limit[place] = each.actual_close_us - margin
        within = facts.window is None or (
            each.settled_us is not None and facts.window[0] <= each.settled_us < facts.window[1]
        )
        found.is_settled[place] = within and each.state == settlement.SETTLED
        found.is_known[place] = within and each.state in (settlement.SETTLED, settlement.PROVISIONAL)
    return found
