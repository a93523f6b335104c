"""Random Arena seasons: small ones with all edge cases, large ones with agents of known skill."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from openoutcry.arena.scoring import Agent, BaseRate, Decision, Parameters, Quote, Resolution, ScoreInputs
from openoutcry.arena.timestamps import parse_timestamp

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
OPENED_US = parse_timestamp("at", "2026-01-01T00:00:00Z")
THEATERS = ((), ("iran",), ("iran", "israel"), ("israel",), ("yemen", "iran"))
STATUSES = ("determined", "disputed", "amended", "finalized", "finalized", "finalized", "void")


def hour(n: int) -> int:
    """Return the time of hour `n` of the season, microseconds since 1970."""
    return OPENED_US + n * HOUR_US


def millionths(n: int) -> str:
    """Return millionths as the shortest decimal string."""
    return f"{n // 10**6}.{n % 10**6:06}".rstrip("0").removesuffix(".")


def season(seed: int, n_agents: int = 4, n_markets: int = 12, **changes: Any) -> ScoreInputs:
    """Return a small season with revised quotes, late decisions, disputes, gaps and suspensions."""
    rng = random.Random(seed)
    snapshots = [hour(n) for n in range(0, 40, rng.choice([4, 8]))]
    ids = [f"kalshi:M{n}" for n in range(n_markets)]
    quotes = []
    for market_id in ids:
        theaters, cutoff = rng.choice(THEATERS), rng.randint(10, 60)
        for place, at in enumerate(snapshots):
            if place and rng.random() < 0.2:
                continue
            if rng.random() < 0.1:
                theaters, cutoff = rng.choice(THEATERS), rng.randint(10, 60)
            quotes.append(Quote(market_id, at, hour(cutoff), theaters, *prices(rng)))
    agents = [Agent(f"agent-{n}", hour(rng.randint(0, 20)), rng.random() < 0.1) for n in range(n_agents)]
    decisions = []
    for agent in agents:
        for market_id in ids:
            for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
                received = hour(rng.randint(0, 59)) + rng.randint(0, 3)
                cited = rng.choice([at for at in snapshots if at <= received])
                probability = millionths(rng.choice([0, 50_000, 500_000, 10**6, rng.randint(0, 100) * 10_000]))
                confidence = rng.choice([None, "0.65", "0.649999", "0.9", "1"])
                decisions.append(
                    Decision(len(decisions), agent.slug, market_id, received, cited, probability, confidence)
                )
    rng.shuffle(decisions)
    resolutions = [
        Resolution(
            seq,
            rng.choice(ids),
            status := rng.choice(STATUSES),
            rng.choice(["yes", "no", "no"]) if status not in ("disputed", "void") else None,
            hour(rng.randint(30, 100)),
            rng.choice([None, None, hour(rng.randint(20, 60))]),
        )
        for seq in range(2 * n_markets)
    ]
    # The log is ordered by time.
    times = sorted(each.at_us for each in resolutions)
    resolutions = [each._replace(at_us=at) for each, at in zip(resolutions, times, strict=True)]
    rates = [
        BaseRate(
            theater, rng.choice(["0.3", "0.05", "0.01", "0.875"]), rng.choice([3, 10, 400]), "made up", "2020-2025"
        )
        for theater in rng.sample(["iran", "israel", "yemen", "korea"], rng.randint(0, 3))
    ]
    window = rng.choice([None, None, (hour(40), hour(90))])
    inputs = {"base_rates": rates, "window": window, "parameters": Parameters(min_markets=2)} | changes
    return ScoreInputs(hour(100), agents, snapshots, quotes, decisions, resolutions, **inputs)


def prices(rng: random.Random) -> tuple[str | None, str | None, str | None]:
    """Return mid, bid and ask; some are missing, some 0 or 1."""
    if rng.random() < 0.1:
        return None, None, None
    bid = rng.choice([0, rng.randint(1, 90)])
    ask = rng.choice([100, rng.randint(bid, 100)])
    texts = [millionths((bid + ask) * 5_000), millionths(bid * 10_000), millionths(ask * 10_000)]
    return texts[0], *(None if rng.random() < 0.1 else text for text in texts[1:])


def forecast_table(forecasts: np.ndarray, outcomes: np.ndarray, rate: str, **parameters: Any) -> ScoreInputs:
    """Return a season with given forecasts, shape `(n_agents, n_markets)`; NaN is no forecast.

    The reference rate is the historical one, because `min_rate_n` rules out platform rates.
    """
    n_agents, n_markets = forecasts.shape
    ids = [f"kalshi:M{n:05}" for n in range(n_markets)]
    quotes = [Quote(market_id, hour(0), hour(10), ("iran",), "0.5", "0.49", "0.51") for market_id in ids]
    slugs = [f"agent-{n:04}" for n in range(n_agents)]
    decisions = [
        Decision(
            agent * n_markets + market, slugs[agent], ids[market], hour(1), hour(0), f"{forecasts[agent, market]:.6f}"
        )
        for agent, market in zip(*np.nonzero(~np.isnan(forecasts)), strict=True)
    ]
    resolutions = [
        Resolution(n, market_id, "finalized", "yes" if outcomes[n] else "no", hour(20))
        for n, market_id in enumerate(ids)
    ]
    agents = [Agent(slug, hour(0)) for slug in slugs]
    rules = Parameters(**{"min_rate_n": 10**9, "min_rate": "0", "max_rate": "1"} | parameters)
    rates = [BaseRate("iran", rate, 10**9, "made up", "2020-2025")]
    return ScoreInputs(hour(30), agents, [hour(0)], quotes, decisions, resolutions, rates, parameters=rules)
