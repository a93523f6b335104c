"""Measure a leaderboard from raw records (G6): `python scripts/arena_scoring.py [--decisions 1000000] [--agents 500]`.

Prints the seconds of each stage and in total, from records to the leaderboard with its intervals.
"""

from __future__ import annotations

import argparse
import random
import resource
import time

from openoutcry.arena import scoring
from openoutcry.arena.timestamps import parse_timestamp

HOUR_US = 3_600_000_000
OPENED_US = parse_timestamp("opened", "2026-01-01T00:00:00Z")


def facts(n_decisions: int, n_agents: int, n_markets: int, n_quotes: int) -> scoring.ScoreInputs:
    """Return a random season, from a fixed seed, in which every agent decides on equally many markets."""
    rng = random.Random(1)
    theaters = [("iran",), ("israel", "iran"), ("ukraine",), ("taiwan",), ("korea",), ("yemen",), ()]
    agents = [scoring.Agent(f"agent-{place:05}", OPENED_US) for place in range(n_agents)]
    each = n_quotes // n_markets
    snapshots = [OPENED_US + place * HOUR_US for place in range(each)]
    cutoff = snapshots[-1] + HOUR_US
    chances = [rng.random() for _ in range(n_markets)]
    quotes, decisions = [], []
    for market, chance in enumerate(chances):
        mids = [f"{min(0.99, max(0.01, chance + rng.gauss(0, 0.1))):.3f}" for _ in snapshots]
        quotes += [
            scoring.Quote(f"kalshi:M{market}", at, cutoff, theaters[market % 7], mid, mid, mid)
            for at, mid in zip(snapshots, mids, strict=True)
        ]
    for place, agent in enumerate(agents):
        for market in rng.sample(range(n_markets), n_decisions // n_agents):
            forecast = min(1.0, max(0.0, chances[market] + rng.gauss(0, 0.02 + 0.3 * place / n_agents)))
            at = rng.choice(snapshots)
            decisions.append(
                scoring.Decision(len(decisions), agent.slug, f"kalshi:M{market}", at + 1, at, f"{forecast:.4f}", "0.8")
            )
    resolutions = [
        scoring.Resolution(place, f"kalshi:M{place}", "finalized", "yes" if rng.random() < chance else "no", cutoff + 1)
        for place, chance in enumerate(chances)
    ]
    return scoring.ScoreInputs(cutoff + 2, agents, snapshots, quotes, decisions, resolutions)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--agents", type=int, default=500)
    parser.add_argument("--markets", type=int, default=4_000)
    parser.add_argument("--quotes", type=int, default=400_000)
    chosen = parser.parse_args()
    season = facts(chosen.decisions, chosen.agents, chosen.markets, chosen.quotes)
    started, cpu_started = time.perf_counter(), time.process_time()
    forecasts = scoring.select(season)
    selected = time.perf_counter()
    board = scoring.board(forecasts)
    ended = time.perf_counter()
    n_draws = season.parameters.n_draws
    print(f"{len(forecasts.agent):,} scored decisions, {chosen.agents:,} agents, {n_draws:,} resamples")
    print(f"select {selected - started:.2f} s, board {ended - selected:.2f} s, total {ended - started:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"CPU {time.process_time() - cpu_started:.2f} s, peak memory {peak:,} kB")
    first = board.rows[0]
    print(f"first: {first.slug}, brier_skill_score {first.brier_skill_score}, roi {first.roi}")


if __name__ == "__main__":
    main()
