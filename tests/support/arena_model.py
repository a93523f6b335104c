"""Reference model of an arena: no database, no log, no server."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

HOUR, DAY = 3600 * 10**6, 86_400 * 10**6
WITHOUT_CLOSE = 14 * DAY
STATUS = {"decision_cutoff_passed": 410, "duplicate_market": 422, "stale_snapshot": 422, "unknown_market": 400}


@dataclass
class Market:
    """State of a market."""

    cutoff: int
    close: int
    status: str | None = None
    outcome: str | None = None
    resolved_at: int = 0
    actual_close: int | None = None


class Decided(NamedTuple):
    """An accepted decision."""

    slug: str
    market_id: str
    as_of: int
    received_at: int
    cutoff: int
    share: str


class Answer(NamedTuple):
    """Expected response to a submission: status, and reasons by rejected market."""

    status: int
    rejected: dict[str, str]


@dataclass
class Model:
    """State of an arena."""

    clock: int
    snapshots: list[int] = field(default_factory=list)
    markets: dict[str, Market] = field(default_factory=dict)
    suspended: dict[str, bool] = field(default_factory=dict)
    accepted: list[Decided] = field(default_factory=list)

    def register(self, slug: str) -> int:
        """Register an agent and return the expected status."""
        if slug.lower() in self.suspended:
            return 409
        self.suspended[slug.lower()] = False
        return 201

    def publish(self, as_of: int, closes: dict[str, int | None]) -> None:
        """Publish a snapshot with markets and their closes; None for an unknown close."""
        self.snapshots.append(as_of)
        for market_id, close in closes.items():
            cutoff = as_of + WITHOUT_CLOSE if close is None else close - 2 * HOUR
            known = self.markets.setdefault(market_id, Market(cutoff, cutoff + 2 * HOUR))
            known.close = cutoff + 2 * HOUR
            # A passed cutoff is fixed, because decisions are public.
            if self.clock <= known.cutoff:
                known.cutoff = cutoff

    def submit(self, slug: str, as_of: int, shares: list[tuple[str, str]]) -> Answer:
        """Accept valid decisions and return the expected response."""
        if as_of not in self.snapshots:
            return Answer(404, {})
        if len({market_id for market_id, _ in shares}) < len(shares):
            return Answer(422, {})
        if self.suspended[slug]:
            return Answer(403, {})
        reasons = {market_id: self._reason(slug, as_of, market_id) for market_id, _ in shares}
        rejected = {market_id: reason for market_id, reason in reasons.items() if reason is not None}
        for market_id, share in shares:
            if market_id not in rejected:
                cutoff = self.markets[market_id].cutoff
                self.accepted.append(Decided(slug, market_id, as_of, self.clock, cutoff, share))
        if len(rejected) < len(shares):
            return Answer(200, rejected)
        return Answer(STATUS[next(iter(rejected.values()))], rejected)

    def _reason(self, slug: str, as_of: int, market_id: str) -> str | None:
        market = self.markets.get(market_id)
        if market is None:
            return "unknown_market"
        if self.clock > market.cutoff or market.status is not None:
            return "decision_cutoff_passed"
        before = [each.as_of for each in self.accepted if (each.slug, each.market_id) == (slug, market_id)]
        if as_of in before:
            return "duplicate_market"
        return "stale_snapshot" if before and as_of < max(before) else None

    def resolve(self, market_id: str, status: str, outcome: str | None, actual_close: int | None) -> bool:
        """Record a result, or refuse it: a final result needs an explicit correction."""
        market = self.markets[market_id]
        is_said_again = outcome is not None and outcome == market.outcome
        may_follow = {"amended", "void", "scalar"} | ({"disputed"} if market.status == "determined" else set())
        if self.status(market) == "settled" and status not in may_follow and not is_said_again:
            return False
        market.status, market.outcome, market.resolved_at = status, outcome, self.clock
        market.actual_close = market.actual_close if actual_close is None else actual_close
        return True

    def status(self, market: Market) -> str:
        """Return whether a market is open, closed or settled."""
        if market.status is None:
            return "open" if self.clock <= market.cutoff else "closed"
        if market.status == "determined":
            return "settled" if self.clock >= market.resolved_at + DAY else "closed"
        return "closed" if market.status == "disputed" else "settled"

    def shown(self, slug: str) -> list[tuple[str, str]]:
        """Return the public decisions of an agent."""
        public = [
            each for each in self.accepted if each.slug == slug and self.clock > self.markets[each.market_id].cutoff
        ]
        return [(each.market_id, each.share) for each in public]

    def scores(self, slug: str) -> tuple[int, Fraction | None]:
        """Return the number of scored decisions of an agent and their mean squared error."""
        counted: dict[str, Decided] = {}
        for each in [] if self.suspended[slug] else self.accepted:
            market = self.markets[each.market_id]
            limits = [each.cutoff] + ([] if market.actual_close is None else [market.actual_close - 2 * HOUR])
            is_public = self.clock > market.cutoff and market.outcome is not None and self.status(market) == "settled"
            if each.slug == slug and is_public and each.received_at <= min(limits):
                counted[each.market_id] = each
        losses = [
            (Fraction(each.share) - (self.markets[each.market_id].outcome == "yes")) ** 2 for each in counted.values()
        ]
        return len(losses), sum(losses, Fraction(0)) / len(losses) if losses else None

    def next_edge(self) -> int | None:
        """Return the next moment after which something is otherwise: a cutoff, a result that becomes final."""
        cutoffs = [each.cutoff for each in self.markets.values()]
        finals = [each.resolved_at + DAY - 1 for each in self.markets.values() if each.status == "determined"]
        return min((each for each in cutoffs + finals if each >= self.clock), default=None)

    def listed(self, status: str) -> list[dict[str, Any]]:
        """Return markets of a status in their order."""
        found = [(each.cutoff, name) for name, each in self.markets.items() if self.status(each) == status]
        return [{"market_id": name, "decision_cutoff": cutoff} for cutoff, name in sorted(found)]
