"""Seasons that are over, as signed exports: markets that open, close and are settled, or are not."""

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


def asked(folder: Path, sampling: Sampling = EACH) -> list[Question]:
    """Return the questions of an export."""
    return list(PastSeason.read(folder).questions(sampling))


def at(hours: float) -> str:
    """Return a moment of the season, so many hours after its first snapshot."""
    return format_timestamp(BEGAN + round(hours * HOUR))


@dataclass(frozen=True)
class Told:
    """A record of what became of a market: hours, status, outcome, and hours of an early close."""

    hours: float
    status: str = "finalized"
    outcome: str | None = "yes"
    closed: float | None = None


@dataclass(frozen=True)
class Listed:
    """A market: first and last hour in snapshots, the close that they say, and what became of it."""

    ticker: str
    first: float
    last: float
    close: float
    told: tuple[Told, ...]
    theater: str = "iran"

    @property
    def market_id(self) -> str:
        """Its id."""
        return f"kalshi:{self.ticker}"


def news(hours: float) -> dict[str, Any]:
    """Return an article that is of a snapshot alone; its title says which."""
    title = f"Only known since {at(hours)}"
    return {"id": f"news:{hours}", "kind": "news", "title": title, "summary": "", "published_at": at(hours)}


def state(market: Listed, hours: float) -> dict[str, Any]:
    """Return a market as a snapshot has it; its price says when."""
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


def snapshot(markets: list[Listed], hours: float, items: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a snapshot."""
    shown = [state(each, hours) for each in markets if each.first <= hours <= each.last]
    return json.dumps({"schema_version": "0.2.0", "as_of": at(hours), "items": [*shown, *items]}).encode()


def exported(
    folder: Path,
    markets: list[Listed],
    hours: list[float],
    items: Callable[[float], list[dict[str, Any]]] = lambda hours: [news(hours)],
) -> Path:
    """Write the export of a season whose log is in the order of time.

    Args:
        folder: Where to.
        markets: Its markets.
        hours: When there are snapshots.
        items: What a snapshot has beside markets.
    """
    made = Season().begin()
    made.base_rates = b"[]"
    rules = {"scoring_version": "1", "parameters": Parameters().to_record(), "at": AS_OF}
    made.append({"type": "scoring", "base_rates": [], "base_rates_sha256": sha256(b"[]").hexdigest(), **rules})
    events: list[tuple[float, int, Callable[[], Any]]] = [
        (each, 0, partial(made.publish, at(each), snapshot(markets, each, items(each)))) for each in hours
    ]
    events += [
        (told.hours, 1, partial(made.append, _resolved(market, told))) for market in markets for told in market.told
    ]
    for _, _, happen in sorted(events, key=lambda event: event[:2]):
        happen()
    made.register("last")
    return made.export(folder)


def _resolved(market: Listed, told: Told) -> dict[str, Any]:
    close = None if told.closed is None else at(told.closed)
    result = {"status": told.status, "outcome": told.outcome, "actual_close_time": close}
    return {"type": "resolution", "market_id": market.market_id, "at": at(told.hours), "source": "kalshi", **result}


def season(seed: int, n_markets: int = 60, n_days: int = 40) -> tuple[list[Listed], list[float]]:
    """Return the markets of a random season, with every oddity, and the hours of its snapshots."""
    rng = random.Random(seed)
    markets = []
    for place in range(n_markets):
        first = rng.randint(0, 24 * n_days - 120)
        close = first + rng.randint(3, 120)
        end = close + rng.randint(-10, 30)
        outcome = rng.choice(["yes", "no"])
        told = rng.choice(
            [
                (Told(end, outcome=outcome),),
                (Told(end, outcome=outcome),),
                (Told(end, outcome=outcome, closed=end - 1),),
                (Told(end, "determined", outcome),),
                (Told(end, "determined", outcome), Told(end + 5, "disputed", None), Told(end + 60, outcome=outcome)),
                (Told(end, outcome="no"), Told(end + 40, "amended", "yes")),
                (Told(end, "determined", outcome), Told(end + 9, outcome=outcome), Told(end + 200, outcome=outcome)),
                (Told(end, "void", None),),
                (Told(end, outcome=outcome), Told(end + 20, "disputed", None)),
                (),
            ]
        )
        theater = rng.choice(["iran", "korea"])
        markets.append(Listed(f"KX{place}", first, close - rng.choice([0, 3, 30]), close, told, theater))
    return markets, [float(each) for each in range(0, 24 * n_days, rng.choice([4, 6]))]
