"""Signed exports of past seasons with configurable markets, snapshots and results."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from arena_logs import AS_OF, Season

from openoutcry.arena.dataset_splits import Sampling
from openoutcry.arena.past_questions import PastSeason, Question
from openoutcry.arena.scoring import Parameters
from openoutcry.arena.timestamps import HOUR, format_timestamp, parse_timestamp

BEGAN = parse_timestamp("as_of", AS_OF)
EACH = Sampling(every_hours=1, embargo_hours=0, settling_hours=0)


def questions_of(folder: Path, sampling: Sampling = EACH) -> list[Question]:
    """Return the questions of an export."""
    return list(PastSeason.read(folder).questions(sampling))


def at(hours: float) -> str:
    """Return a time of the season in hours after its first snapshot."""
    return format_timestamp(BEGAN + round(hours * HOUR))


@dataclass(frozen=True)
class Result:
    """A resolution record: hour, status, outcome, and hour of an early close."""

    hours: float
    status: str = "finalized"
    outcome: str | None = "yes"
    closed: float | None = None


@dataclass(frozen=True)
class MarketSpec:
    """A market: first and last hour in snapshots, scheduled close, and resolutions."""

    ticker: str
    first: float
    last: float
    close: float
    results: tuple[Result, ...]
    theater: str = "iran"

    @property
    def market_id(self) -> str:
        """Its id."""
        return f"kalshi:{self.ticker}"


def news(hours: float) -> dict[str, Any]:
    """Return an article of one snapshot; its title contains the time."""
    title = f"Only known since {at(hours)}"
    return {"id": f"news:{hours}", "kind": "news", "title": title, "summary": "", "published_at": at(hours)}


def state(market: MarketSpec, hours: float) -> dict[str, Any]:
    """Return the market item of a snapshot; its price depends on the hour."""
    price = random.Random(f"{market.ticker} {hours}").randint(1, 99) / 100
    return {
        "id": f"market_state:{market.market_id}",
        "kind": "market_state",
        "market_id": market.market_id,
        "yes_mid_price": price,
        "yes_bid": price,
        "yes_ask": price,
        "question": f"Will {market.ticker} come?",
        "close_time": at(market.close),
        "theaters": [market.theater],
    }


def snapshot(markets: list[MarketSpec], hours: float, items: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a snapshot."""
    shown = [state(each, hours) for each in markets if each.first <= hours <= each.last]
    return json.dumps({"schema_version": "0.2.0", "as_of": at(hours), "items": [*shown, *items]}).encode()


def exported(
    folder: Path,
    markets: list[MarketSpec],
    hours: list[float],
    items: Callable[[float], list[dict[str, Any]]] = lambda hours: [news(hours)],
) -> Path:
    """Write the export of a season with a log in time order.

    Args:
        folder: Destination.
        markets: Its markets.
        hours: Hours of its snapshots.
        items: Returns the other items of a snapshot.
    """
    made = Season().start()
    made.base_rates = b"[]"
    rules = {"scoring_version": "1", "parameters": Parameters().to_record(), "at": AS_OF}
    made.append({"type": "scoring", "base_rates": [], "base_rates_sha256": sha256(b"[]").hexdigest(), **rules})
    events: list[tuple[float, int, Callable[[], Any]]] = [
        (each, 0, partial(made.publish, at(each), snapshot(markets, each, items(each)))) for each in hours
    ]
    events += [
        (result.hours, 1, partial(made.append, _resolved(market, result)))
        for market in markets
        for result in market.results
    ]
    for _, _, happen in sorted(events, key=lambda event: event[:2]):
        happen()
    made.register("last")
    return made.export(folder)


def _resolved(market: MarketSpec, result: Result) -> dict[str, Any]:
    close = None if result.closed is None else at(result.closed)
    members = {"status": result.status, "outcome": result.outcome, "actual_close_time": close}
    return {"type": "resolution", "market_id": market.market_id, "at": at(result.hours), "source": "kalshi", **members}


def season(seed: int, n_markets: int = 60, n_days: int = 40) -> tuple[list[MarketSpec], list[float]]:
    """Return random markets with all kinds of resolutions, and the hours of the snapshots."""
    rng = random.Random(seed)
    markets = []
    for place in range(n_markets):
        first = rng.randint(0, 24 * n_days - 120)
        close = first + rng.randint(3, 120)
        end = close + rng.randint(-10, 30)
        outcome = rng.choice(["yes", "no"])
        results = rng.choice(
            [
                (Result(end, outcome=outcome),),
                (Result(end, outcome=outcome),),
                (Result(end, outcome=outcome, closed=end - 1),),
                (Result(end, "determined", outcome),),
                (
                    Result(end, "determined", outcome),
                    Result(end + 5, "disputed", None),
                    Result(end + 60, outcome=outcome),
                ),
                (Result(end, outcome="no"), Result(end + 40, "amended", "yes")),
                (
                    Result(end, "determined", outcome),
                    Result(end + 9, outcome=outcome),
                    Result(end + 200, outcome=outcome),
                ),
                (Result(end, "void", None),),
                (Result(end, outcome=outcome), Result(end + 20, "disputed", None)),
                (),
            ]
        )
        theater = rng.choice(["iran", "korea"])
        markets.append(MarketSpec(f"KX{place}", first, close - rng.choice([0, 3, 30]), close, results, theater))
    return markets, [float(each) for each in range(0, 24 * n_days, rng.choice([4, 6]))]
