#!/usr/bin/env python3
"""Print the tables of `docs/contamination.md`: who is found contaminated, and how often.

    scripts/contamination.py
    scripts/contamination.py recall memories --draws 400

Each draw has windows, disguises, twins and memories of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import openoutcry as oo
from openoutcry.contamination import Design, Verdict, check, spread
from openoutcry.contamination.planted import CLEAN, MEMORIES, Memoriser
from openoutcry.scenario import Scenario, ScenarioSpec

LOOKBACK = 20
BASELINES = ("equal-weight", "inverse-volatility", "momentum", "mean-reversion", "random")


def real(draw: int, n_windows: int, n_bars: int) -> tuple[oo.Dataset, list[tuple[int, int]]]:
    """Return the bundled exchange rates, and windows one after the other from a bar that is drawn."""
    market = oo.data.load("ecb-fx")
    room = market.n_bars - n_windows * (n_bars - 1) - 1
    first = int(np.random.default_rng([draw, n_windows]).integers(LOOKBACK, room))
    starts = [first + window * (n_bars - 1) for window in range(n_windows)]
    return market, [(start, start + n_bars) for start in starts]


def drawn(draw: int, n_windows: int, n_bars: int) -> tuple[oo.Dataset, list[tuple[int, int]]]:
    """Return a market of which nothing can be foretold, and windows of it."""
    spec = ScenarioSpec("martingale", n_symbols=6, n_days=n_windows * n_bars + LOOKBACK)
    market = Scenario(spec, draw, split="test").dataset()
    return market, spread(market, n_windows, n_bars)


def shares(verdicts: list[Verdict]) -> Iterator[str]:
    """Yield the cells of a row: how often by name, by path and by either, and both means in basis points."""
    for kinds in (("name",), ("path",), ("name", "path")):
        yield f"{np.mean([bool(set(kinds) & set(each.found)) for each in verdicts]):.1%}"
    for kind in ("name", "path"):
        yield f"{1e4 * np.mean([getattr(each, kind).mean for each in verdicts]):+.2f}"


def table(title: str, rows: dict[str, Callable[[int], Verdict]], n_draws: int) -> None:
    """Print a table, a row an agent."""
    print(f"\n{title}, {n_draws} draws\n\n| agent | name | path | either | as it is less masked, bp | less twins, bp |")
    print("|---|---|---|---|---|---|")
    for label, verdict_of in rows.items():
        print("|", " | ".join([label, *shares([verdict_of(draw) for draw in range(n_draws)])]), "|", flush=True)


def tried(market_of: Any, agent_of: Callable[[oo.Dataset, int], Any], *sizes: int) -> Callable[[int], Verdict]:
    """Return what tries an agent on the market of a draw."""

    def verdict(draw: int) -> Verdict:
        market, windows = market_of(draw, *sizes)
        return check(agent_of(market, draw), market, windows, Design(seed=draw, n_draws=1_000))

    return verdict


def clean(n_draws: int) -> None:
    """Print how often clean agents are found."""
    agents = {name: name for name in BASELINES} | {each.__name__.replace("_", "-"): each for each in CLEAN}
    for name, market_of, sizes in (
        ("martingales", drawn, (1, 64)),
        ("martingales", drawn, (4, 126)),
        ("ecb-fx", real, (4, 126)),
    ):
        rows = {
            label: tried(market_of, lambda market, draw, agent=agent: agent, *sizes) for label, agent in agents.items()
        }
        table(f"Clean agents on {name}, {sizes[0]} x {sizes[1]} bars", rows, n_draws)


def recall(n_draws: int) -> None:
    """Print how often those are found who remember some of the days."""
    for sizes in ((1, 64), (4, 126)):
        rows = {
            f"{share:.0%} of days": tried(
                real, lambda market, draw, share=share: Memoriser(market, share, seed=draw), *sizes
            )
            for share in (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
        }
        table(f"Recall by name and date on ecb-fx, {sizes[0]} x {sizes[1]} bars", rows, n_draws)


def memories(n_draws: int) -> None:
    """Print how often those are found who recognise something else than names and dates."""
    rows = {
        f"{memory}, {share:.0%}": tried(
            real, lambda market, draw, told=(share, memory): Memoriser(market, *told, seed=draw), 4, 126
        )
        for memory in MEMORIES[1:]
        for share in (0.25, 1.0)
    }
    table("Other memories on ecb-fx, 4 x 126 bars", rows, n_draws)


TABLES = {"clean": clean, "recall": recall, "memories": memories}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # An empty list is what argparse checks where nothing is given.
    choices = {"nargs": "*", "choices": [*TABLES, []], "default": []}
    parser.add_argument("tables", metavar="TABLE", help=f"{', '.join(TABLES)}; all by default", **choices)
    parser.add_argument("--draws", type=int, default=200, help="draws of each clean agent; of memories a tenth")
    told = parser.parse_args()
    for name in told.tables or TABLES:
        TABLES[name](told.draws if name == "clean" else max(told.draws // 10, 1))


if __name__ == "__main__":
    main()
