#!/usr/bin/env python3
"""Measure detection and false positive rates of the contamination test: the tables of `docs/contamination.md`.

    scripts/contamination.py
    scripts/contamination.py recall events --draws 400
    scripts/contamination.py --write docs/contamination.json

Each draw has its own windows, masking keys, twins and memories. `--write` replaces the measured tables in a file;
`tests/audits/test_contamination_rates.py` compares the tables of the page with it.
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
from openoutcry.audits.contamination import Design, Verdict, check, spread_windows
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
    "random": "random, a new seed in each run",
    "cheapest": "`cheapest`: the cheaper half of the symbols",
    "favourites": "`favourites`: two fixed names",
    "odd_days": "`odd_days`: invested on dates that end in an odd digit",
}
MEMORY = {
    "price": "the last two prices of a symbol",
    "returns": "the last five returns of a symbol",
    "return": "the last return of a symbol",
    "drift": "the annual returns of a symbol",
}
NAMES = ("AAPL", "GE", "IBM", "MSFT", "XOM")
SHORT, LONG = (1, 64), (4, 126)
AROUND = 10
CRISES = [("2008-09-08", "2008-10-31"), ("2016-06-10", "2016-07-08"), ("2020-02-20", "2020-04-09")]

Windows = list[tuple[Any, Any]]
Experiment = Callable[[int], Verdict]
Row = dict[str, float]
"""Shares of draws with an effect, and mean differences in basis points per bar."""


def fx_windows(draw: int, n_windows: int, n_bars: int) -> tuple[oo.Dataset, Windows]:
    """Return the bundled exchange rates, and consecutive windows from a random bar."""
    market = oo.data.load("ecb-fx")
    room = market.n_bars - n_windows * (n_bars - 1) - 1
    first = int(np.random.default_rng([draw, n_windows]).integers(LOOKBACK, room))
    starts = [first + window * (n_bars - 1) for window in range(n_windows)]
    return market, [(start, start + n_bars) for start in starts]


def martingale_market(draw: int, n_windows: int, n_bars: int) -> tuple[oo.Dataset, Windows]:
    """Return a martingale market and windows of it."""
    spec = ScenarioSpec("martingale", n_symbols=6, n_days=n_windows * n_bars + LOOKBACK)
    market = Scenario(spec, draw, split="test").dataset()
    return market, spread_windows(market, n_windows, n_bars)


def predictable_market(
    draw: int, drift: float = 0.0, trend: float = 0.0, uneven: float = 0.0, weekday: float = 0.0
) -> tuple[oo.Dataset, Windows]:
    """Return a market of known names with predictable returns, and windows of it.

    Args:
        draw: Seed of the market.
        drift: Drift of all symbols per bar.
        trend: Standard deviation of a drift of each symbol over 40 bars.
        uneven: Standard deviation of a constant drift of each symbol.
        weekday: Drift of all symbols on Wednesdays.
    """
    rng, shape = np.random.default_rng([draw, 4]), (620, len(NAMES))
    trends = np.repeat(rng.normal(0.0, trend, (-(-shape[0] // 40), shape[1])), 40, axis=0)[: shape[0]]
    moves = drift + trends + rng.normal(0.0, uneven, (1, shape[1])) + rng.normal(0.0, 0.006, shape)
    days = np.busday_offset("2010-01-04", np.arange(shape[0]))
    moves[np.is_busday(days, weekmask="Wed")] += weekday
    dates = np.datetime_as_string(days).tolist()
    market = oo.Dataset.from_arrays(dates, list(NAMES), 100.0 * np.exp(np.cumsum(moves, axis=0)), name="made")
    return market, spread_windows(market, *LONG)


def around_events(market: oo.Dataset, n_events: int) -> Windows:
    """Return non-overlapping windows of 21 bars around the worst bars of a market."""
    moves = np.diff(market.close, axis=0) / market.close[:-1]
    found: list[int] = []
    for bar in np.argsort(moves.mean(axis=1)).tolist():
        is_inside = LOOKBACK + AROUND < bar < market.n_bars - AROUND - 1
        if is_inside and all(abs(bar - other) > 2 * AROUND for other in found):
            found.append(bar)
        if len(found) == n_events:
            break
    return [(bar - AROUND, bar + AROUND + 1) for bar in found]


def experiment(market_of: Callable[[int], tuple[oo.Dataset, Windows]], agent_of: Any, **design: Any) -> Experiment:
    """Return a function that checks an agent (a name or a factory) on the market of a draw."""

    def verdict(draw: int) -> Verdict:
        market, windows = market_of(draw)
        agent = agent_of if isinstance(agent_of, str) else agent_of(market, windows, draw)
        return check(agent, market, windows, Design(seed=draw, n_draws=1_000, **design))

    return verdict


def summary_row(verdicts: list[Verdict]) -> Row:
    """Return the shares of draws with an effect, and the mean differences in basis points per bar."""
    found = [each.found for each in verdicts]
    shares = {kind: float(np.mean([kind in kinds for kinds in found])) for kind in ("name", "path")}
    row = shares | {
        "either": float(np.mean([bool(kinds) for kinds in found])),
        "both": float(np.mean([each.is_contaminated for each in verdicts])),
        "not_judged": float(np.mean([each.not_judged is not None for each in verdicts])),
        "name_bp": float(1e4 * np.mean([each.name.mean for each in verdicts])),
        "path_bp": float(1e4 * np.mean([each.path.mean for each in verdicts])),
        "n_draws": len(verdicts),
    }
    return {key: round(value, 4) for key, value in row.items()}


def clean() -> Iterator[tuple[str, str, Experiment]]:
    """Yield agents without memorization, on markets without an edge for them."""
    agents: dict[str, Any] = {LABELS.get(name, name): name for name in BASELINES}
    agents |= {LABELS[each.__name__]: lambda *_, each=each: each for each in CLEAN}
    for name, market_of, sizes in (
        ("martingales", martingale_market, SHORT),
        ("martingales", martingale_market, LONG),
        ("`ecb-fx`", fx_windows, LONG),
    ):
        for label, agent in agents.items():
            title = f"{name}, {sizes[0]} x {sizes[1]} bars"
            yield title, label, experiment(lambda draw, of=market_of, sizes=sizes: of(draw, *sizes), agent)


def honest() -> Iterator[tuple[str, str, Experiment]]:
    """Yield agents without memorization on markets with predictable returns."""

    def trends(draw: int) -> tuple[oo.Dataset, Windows]:
        return predictable_market(draw, trend=0.002)

    for block in (5, 20, 60):
        yield (
            "trends of 40 bars",
            f"momentum, `--block {block}`",
            experiment(trends, "momentum", block_bars=float(block)),
        )
    yield (
        "trends of 40 bars",
        "momentum on known names, otherwise cash",
        experiment(trends, lambda *_: Cautious(NAMES, LOOKBACK)),
    )
    yield (
        "a different drift for each symbol",
        "`favourites`",
        experiment(lambda draw: predictable_market(draw, uneven=0.0006), lambda *_: favourites),
    )
    yield (
        "positive drift",
        "all known names, otherwise cash",
        experiment(lambda draw: predictable_market(draw, drift=0.0008), lambda *_: Cautious(NAMES)),
    )
    yield (
        "positive drift on Wednesdays",
        "holds all symbols for Wednesdays",
        experiment(lambda draw: predictable_market(draw, weekday=0.003), lambda *_: before_wednesdays),
    )
    for repeats in (1, 2):
        label = f"learns prices between runs, `--repeats {repeats}`"
        yield (
            "martingales",
            label,
            experiment(lambda draw: martingale_market(draw, *LONG), lambda *_: Learner(), n_repeats=repeats),
        )


def recall() -> Iterator[tuple[str, str, Experiment]]:
    """Yield agents that have memorized a share of the days, by name and date."""
    for sizes in (SHORT, LONG):
        for share in (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0):
            yield (
                f"{sizes[0]} x {sizes[1]} bars",
                f"{share:.0%}",
                experiment(
                    lambda draw, sizes=sizes: fx_windows(draw, *sizes),
                    lambda market, _, draw, share=share: Memoriser(market, share, seed=draw),
                ),
            )


def events() -> Iterator[tuple[str, str, Experiment]]:
    """Yield agents that have memorized the worst bars, by name and date."""

    def knowing(n_dates: int) -> Any:
        return lambda market, windows, _: Memoriser(market, 1.0, dates=worst_dates(market, windows, n_dates))

    for n_dates in (1, 3, 5, 10):
        yield "4 x 126 bars", f"the worst {n_dates}", experiment(lambda draw: fx_windows(draw, *LONG), knowing(n_dates))
    market = oo.data.load("ecb-fx")
    for n_dates in (5, 10):
        windows = around_events(market, n_dates)
        title = "a window of 21 bars around each"
        yield (
            title,
            f"the worst {n_dates} of 27 years",
            experiment(lambda _, windows=windows: (market, windows), knowing(n_dates)),
        )
    for agent in ("momentum", "mean-reversion", "random"):
        yield title, f"none of 10: {agent}", experiment(lambda _, windows=windows: (market, windows), agent)
    yield "the three event windows above", "none: momentum", experiment(lambda _: (market, CRISES), "momentum")


def memories() -> Iterator[tuple[str, str, Experiment]]:
    """Yield agents with cues other than names and dates."""
    trials = [(memory, 5) for memory in MEMORIES[1:]] + [("return", 1)]
    for memory, block in trials:
        for share in (0.25, 1.0):
            yield (
                MEMORY[memory] if block == 5 else f"{MEMORY[memory]}, `--block {block}`",
                f"{share:.0%}",
                experiment(
                    lambda draw: fx_windows(draw, *LONG),
                    lambda market, _, draw, settings=(share, memory): Memoriser(market, *settings, seed=draw),
                    block_bars=float(block),
                ),
            )


def format_table(name: str, found: dict[str, dict[str, Row]]) -> str:
    """Format a table of the page, with a column for each title or a row for each title and label."""
    if name in COLUMNS:
        labels = next(iter(found.values()))
        lines = [[COLUMNS[name], *found]]
        lines += [[label, *(_cell(rows[label], name) for rows in found.values())] for label in labels]
    else:
        lines = [[*ROWS[name], "name / path / both", "not judged", "named less masked, bp", "named less twins, bp"]]
        lines += [[title, label, *_cells(row, name)] for title, rows in found.items() for label, row in rows.items()]
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([rows[0], f"|{'---|' * len(lines[0])}", *rows[1:]])


def _cell(row: Row, name: str) -> str:
    shares = " / ".join(f"{round(100.0 * row[key], 1):g}" for key in ("name", "path", "both"))
    return f"{shares}; {row['name_bp']:.1f} bp" if name == "recall" else shares


def _cells(row: Row, name: str) -> list[str]:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    worth = [f"{round(row[key], 1) + 0.0:.1f}" for key in ("name_bp", "path_bp")]
    return [_cell(row, name), f"{round(100.0 * row['not_judged'], 1):g}", *worth]


COLUMNS = {"clean": "agent", "recall": "days memorized"}
"""Head of the label column, for tables with a column for each title."""

ROWS = {
    "honest": ("market", "agent"),
    "events": ("windows", "bars memorized"),
    "memories": ("memory", "share memorized"),
}

TABLES = {"clean": clean, "honest": honest, "recall": recall, "events": events, "memories": memories}
SHARES = {"clean": 1.0, "honest": 0.5, "recall": 0.05, "events": 0.05, "memories": 0.04}
"""Draws of a table as a share of `--draws`."""


def measure(name: str, n_draws: int) -> dict[str, dict[str, Row]]:
    """Measure a table: rows by label, by title."""
    found: dict[str, dict[str, Row]] = {}
    for title, label, verdict_of in TABLES[name]():
        # A Python agent takes seconds per draw here.
        is_slow = name == "clean" and title.startswith("`ecb-fx`") and label.startswith("`")
        share = SHARES[name] * (0.5 if is_slow else 1.0)
        row = summary_row([verdict_of(draw) for draw in range(max(round(n_draws * share), 1))])
        found.setdefault(title, {})[label] = row
        print(f"{name}: {title}: {label}: {row}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure and print the requested tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # argparse validates the default, an empty list, against the choices.
    choices = {"nargs": "*", "choices": [*TABLES, []], "default": []}
    parser.add_argument("tables", metavar="TABLE", help=f"{', '.join(TABLES)}; all by default", **choices)
    parser.add_argument("--draws", type=int, default=200, help="draws of each clean agent; other tables use fewer")
    parser.add_argument("--write", type=Path, help="JSON file of results")
    options = parser.parse_args()
    found = {}
    for name in options.tables or TABLES:
        found[name] = measure(name, options.draws)
        print(format_table(name, found[name]), flush=True)
    if options.write is not None:
        known = json.loads(options.write.read_text(encoding="utf-8")) if options.write.exists() else {}
        options.write.write_text(json.dumps(known | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
