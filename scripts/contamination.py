#!/usr/bin/env python3
"""Measure who is found contaminated, and how often: the tables of `docs/contamination.md`.

    scripts/contamination.py
    scripts/contamination.py recall events --draws 400
    scripts/contamination.py --write docs/contamination.json

Each draw has windows, disguises, twins and memories of its own. What is written takes the place of the tables that were
measured; the tables of the page are those of the file, and `tests/audits/test_contamination_rates.py` compares them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import openoutcry as oo
from openoutcry.audits.contamination import Design, Verdict, check, spread
from openoutcry.audits.contamination.planted_agents import (
    CLEAN,
    MEMORIES,
    Cautious,
    Learner,
    Memoriser,
    before_wednesdays,
    favourites,
    worst_dates,
)
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

LOOKBACK = 20
BASELINES = ("equal-weight", "inverse-volatility", "momentum", "mean-reversion", "random")
LABELS = {
    "random": "random, drawn anew in each run",
    "cheapest": "`cheapest`: the half of the lowest prices",
    "favourites": "`favourites`: two names it likes",
    "odd_days": "`odd_days`: invested on dates that end in an odd digit",
}
MEMORY = {
    "price": "the last two prices of a symbol",
    "returns": "its last five returns",
    "return": "its last return",
    "drift": "how the year of a symbol went",
}
NAMES = ("AAPL", "GE", "IBM", "MSFT", "XOM")
SHORT, LONG = (1, 64), (4, 126)
AROUND = 10
CRISES = [("2008-09-08", "2008-10-31"), ("2016-06-10", "2016-07-08"), ("2020-02-20", "2020-04-09")]

Windows = list[tuple[Any, Any]]
Tried = Callable[[int], Verdict]
Row = dict[str, float]
"""Shares of draws that were found, and mean differences in basis points a bar."""


def real(draw: int, n_windows: int, n_bars: int) -> tuple[oo.Dataset, Windows]:
    """Return the bundled exchange rates, and windows one after the other from a bar that is drawn."""
    market = oo.data.load("ecb-fx")
    room = market.n_bars - n_windows * (n_bars - 1) - 1
    first = int(np.random.default_rng([draw, n_windows]).integers(LOOKBACK, room))
    starts = [first + window * (n_bars - 1) for window in range(n_windows)]
    return market, [(start, start + n_bars) for start in starts]


def drawn(draw: int, n_windows: int, n_bars: int) -> tuple[oo.Dataset, Windows]:
    """Return a market of which nothing can be foretold, and windows of it."""
    spec = ScenarioSpec("martingale", n_symbols=6, n_days=n_windows * n_bars + LOOKBACK)
    market = Scenario(spec, draw, split="test").dataset()
    return market, spread(market, n_windows, n_bars)


def made(
    draw: int, drift: float = 0.0, trend: float = 0.0, uneven: float = 0.0, weekday: float = 0.0
) -> tuple[oo.Dataset, Windows]:
    """Return a market of known names in which there is something to follow, and windows of it.

    Args:
        draw: Which one.
        drift: Of all symbols a bar.
        trend: Deviation of a drift that each symbol has for 40 bars.
        uneven: Deviation of a drift that each symbol has for all of it.
        weekday: Drift of all symbols on Wednesdays.
    """
    rng, shape = np.random.default_rng([draw, 4]), (620, len(NAMES))
    trends = np.repeat(rng.normal(0.0, trend, (-(-shape[0] // 40), shape[1])), 40, axis=0)[: shape[0]]
    moves = drift + trends + rng.normal(0.0, uneven, (1, shape[1])) + rng.normal(0.0, 0.006, shape)
    days = np.busday_offset("2010-01-04", np.arange(shape[0]))
    moves[np.is_busday(days, weekmask="Wed")] += weekday
    dates = np.datetime_as_string(days).tolist()
    market = oo.Dataset.from_arrays(dates, list(NAMES), 100.0 * np.exp(np.cumsum(moves, axis=0)), name="made")
    return market, spread(market, *LONG)


def around_events(market: oo.Dataset, n_events: int) -> Windows:
    """Return a window of 21 bars around each of the worst bars of a market, none of which are in another."""
    moves = np.diff(market.close, axis=0) / market.close[:-1]
    found: list[int] = []
    for bar in np.argsort(moves.mean(axis=1)).tolist():
        is_inside = LOOKBACK + AROUND < bar < market.n_bars - AROUND - 1
        if is_inside and all(abs(bar - other) > 2 * AROUND for other in found):
            found.append(bar)
        if len(found) == n_events:
            break
    return [(bar - AROUND, bar + AROUND + 1) for bar in found]


def tried(market_of: Callable[[int], tuple[oo.Dataset, Windows]], agent_of: Any, **design: Any) -> Tried:
    """Return what tries an agent, by name or made of a market, its windows and a draw, on the market of a draw."""

    def verdict(draw: int) -> Verdict:
        market, windows = market_of(draw)
        agent = agent_of if isinstance(agent_of, str) else agent_of(market, windows, draw)
        return check(agent, market, windows, Design(seed=draw, n_draws=1_000, **design))

    return verdict


def row_of(verdicts: list[Verdict]) -> Row:
    """Return how often there was a find, and the mean of both differences in basis points a bar."""
    found = [each.found for each in verdicts]
    shares = {kind: float(np.mean([kind in kinds for kinds in found])) for kind in ("name", "path")}
    row = shares | {
        "either": float(np.mean([bool(kinds) for kinds in found])),
        "both": float(np.mean([each.is_contaminated for each in verdicts])),
        "not_judged": float(np.mean([each.complaint is not None for each in verdicts])),
        "name_bp": float(1e4 * np.mean([each.name.mean for each in verdicts])),
        "path_bp": float(1e4 * np.mean([each.path.mean for each in verdicts])),
        "n_draws": len(verdicts),
    }
    return {key: round(value, 4) for key, value in row.items()}


def clean() -> Iterator[tuple[str, str, Tried]]:
    """Yield agents that remember nothing on markets that pay nobody."""
    agents: dict[str, Any] = {LABELS.get(name, name): name for name in BASELINES}
    agents |= {LABELS[each.__name__]: lambda *_, each=each: each for each in CLEAN}
    for name, market_of, sizes in (
        ("martingales", drawn, SHORT),
        ("martingales", drawn, LONG),
        ("`ecb-fx`", real, LONG),
    ):
        for label, agent in agents.items():
            title = f"{name}, {sizes[0]} x {sizes[1]} bars"
            yield title, label, tried(lambda draw, of=market_of, sizes=sizes: of(draw, *sizes), agent)


def honest() -> Iterator[tuple[str, str, Tried]]:
    """Yield agents that remember nothing where there is something to follow."""

    def trends(draw: int) -> tuple[oo.Dataset, Windows]:
        return made(draw, trend=0.002)

    for block in (5, 20, 60):
        yield "trends of 40 bars", f"momentum, `--block {block}`", tried(trends, "momentum", block_bars=float(block))
    yield (
        "trends of 40 bars",
        "momentum of the names it knows, cash under others",
        tried(trends, lambda *_: Cautious(NAMES, LOOKBACK)),
    )
    yield (
        "each symbol with a drift of its own",
        "`favourites`",
        tried(lambda draw: made(draw, uneven=0.0006), lambda *_: favourites),
    )
    yield (
        "all rise",
        "all the names it knows, cash under others",
        tried(lambda draw: made(draw, drift=0.0008), lambda *_: Cautious(NAMES)),
    )
    yield (
        "Wednesdays rise",
        "holds them for Wednesdays, as it has read",
        tried(lambda draw: made(draw, weekday=0.003), lambda *_: before_wednesdays),
    )
    for repeats in (1, 2):
        label = f"keeps prices from run to run, `--repeats {repeats}`"
        yield "martingales", label, tried(lambda draw: drawn(draw, *LONG), lambda *_: Learner(), n_repeats=repeats)


def recall() -> Iterator[tuple[str, str, Tried]]:
    """Yield agents that remember some of the days, by name and date."""
    for sizes in (SHORT, LONG):
        for share in (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0):
            yield (
                f"{sizes[0]} x {sizes[1]} bars",
                f"{share:.0%}",
                tried(
                    lambda draw, sizes=sizes: real(draw, *sizes),
                    lambda market, _, draw, share=share: Memoriser(market, share, seed=draw),
                ),
            )


def events() -> Iterator[tuple[str, str, Tried]]:
    """Yield agents that remember the worst bars, by name and date."""

    def knowing(n_dates: int) -> Any:
        return lambda market, windows, _: Memoriser(market, 1.0, dates=worst_dates(market, windows, n_dates))

    for n_dates in (1, 3, 5, 10):
        yield "4 x 126 bars", f"the worst {n_dates}", tried(lambda draw: real(draw, *LONG), knowing(n_dates))
    market = oo.data.load("ecb-fx")
    for n_dates in (5, 10):
        windows = around_events(market, n_dates)
        title = "a window of 21 bars around each"
        yield title, f"the worst {n_dates} of 27 years", tried(lambda _, told=windows: (market, told), knowing(n_dates))
    for agent in ("momentum", "mean-reversion", "random"):
        yield title, f"none of 10: {agent}", tried(lambda _, told=windows: (market, told), agent)
    yield "the three of `--window` above", "none: momentum", tried(lambda _: (market, CRISES), "momentum")


def memories() -> Iterator[tuple[str, str, Tried]]:
    """Yield agents that recognise something else than names and dates."""
    trials = [(memory, 5) for memory in MEMORIES[1:]] + [("return", 1)]
    for memory, block in trials:
        for share in (0.25, 1.0):
            yield (
                MEMORY[memory] if block == 5 else f"{MEMORY[memory]}, `--block {block}`",
                f"{share:.0%}",
                tried(
                    lambda draw: real(draw, *LONG),
                    lambda market, _, draw, told=(share, memory): Memoriser(market, *told, seed=draw),
                    block_bars=float(block),
                ),
            )


def shown(name: str, found: dict[str, dict[str, Row]]) -> str:
    """Return a table of the page: a column a title, or a row a title and label."""
    if name in COLUMNS:
        labels = next(iter(found.values()))
        lines = [[COLUMNS[name], *found]]
        lines += [[label, *(_cell(rows[label], name) for rows in found.values())] for label in labels]
    else:
        lines = [[*ROWS[name], "name / path / both", "not judged", "less in disguise, bp", "less on twins, bp"]]
        lines += [[title, label, *_cells(row, name)] for title, rows in found.items() for label, row in rows.items()]
    told = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([told[0], f"|{'---|' * len(lines[0])}", *told[1:]])


def _cell(row: Row, name: str) -> str:
    told = " / ".join(f"{round(100.0 * row[key], 1):g}" for key in ("name", "path", "both"))
    return f"{told}; {row['name_bp']:.1f} bp" if name == "recall" else told


def _cells(row: Row, name: str) -> list[str]:
    # Without the sign of a zero.
    worth = [f"{round(row[key], 1) + 0.0:.1f}" for key in ("name_bp", "path_bp")]
    return [_cell(row, name), f"{round(100.0 * row['not_judged'], 1):g}", *worth]


COLUMNS = {"clean": "agent", "recall": "days remembered"}
"""Head of the labels of tables with a column a title."""

ROWS = {
    "honest": ("market", "agent"),
    "events": ("windows", "bars remembered"),
    "memories": ("memory", "share remembered"),
}

TABLES = {"clean": clean, "honest": honest, "recall": recall, "events": events, "memories": memories}
SHARES = {"clean": 1.0, "honest": 0.5, "recall": 0.05, "events": 0.05, "memories": 0.04}
"""Draws of a table as a share of those that are asked for."""


def measured(name: str, n_draws: int) -> dict[str, dict[str, Row]]:
    """Return a table: rows by label, by title."""
    found: dict[str, dict[str, Row]] = {}
    for title, label, verdict_of in TABLES[name]():
        # An agent of this process costs seconds a draw there.
        is_slow = name == "clean" and title.startswith("`ecb-fx`") and label.startswith("`")
        share = SHARES[name] * (0.5 if is_slow else 1.0)
        row = row_of([verdict_of(draw) for draw in range(max(round(n_draws * share), 1))])
        found.setdefault(title, {})[label] = row
        print(f"{name}: {title}: {label}: {row}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure the tables that are asked for, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # An empty list is what argparse checks where nothing is given.
    choices = {"nargs": "*", "choices": [*TABLES, []], "default": []}
    parser.add_argument("tables", metavar="TABLE", help=f"{', '.join(TABLES)}; all by default", **choices)
    parser.add_argument("--draws", type=int, default=200, help="draws of each clean agent; of others fewer")
    parser.add_argument("--write", type=Path, help="JSON file of results")
    told = parser.parse_args()
    found = {}
    for name in told.tables or TABLES:
        found[name] = measured(name, told.draws)
        print(shown(name, found[name]), flush=True)
    if told.write is not None:
        known = json.loads(told.write.read_text(encoding="utf-8")) if told.write.exists() else {}
        told.write.write_text(json.dumps(known | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
