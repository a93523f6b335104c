#!/usr/bin/env python3
"""Measure the rewards of reward hacks, baselines and mandate breaches: the tables of `docs/verifiers.md`.

    scripts/verifiers_audit.py --write docs/verifiers.json
    scripts/verifiers_audit.py --rows 60 --only games

All randomness is seeded by the index of a row, so the same rows give the same numbers.
`tests/verifiers_env/test_verifiers_audit.py` compares the tables of the page with the results file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry.verifiers_env.episode_outcome import Outcome
from openoutcry.verifiers_env.reward_hacking import MANDATE_BREAKERS, MANDATE_KEEPERS, REWARD_HACKS
from openoutcry.verifiers_env.rewards import REWARDS
from openoutcry.verifiers_env.row_markets import digest_of
from openoutcry.verifiers_env.scripted_policies import BASELINES, baseline, is_valid_task, play
from openoutcry.verifiers_env.task_rows import TIERS, Row

SPLIT, TIER, LOOKBACK = "train", "medium", 20
GAMED = ("pairs", "ecb-fx")
MARKETS = (*GAMED, "crisis", "regime-shift")
MANDATE_MARKETS = {"long-only": "pairs", "market-neutral": "pairs", "drawdown-cap": "regime-shift"}
WINDOWS = 3
PAID = "paid"
COLUMNS = (PAID, *REWARDS)

Scores = dict[str, np.ndarray]
"""Reward of each row, by name. Shape `(n_rows,)`, float64."""
Cell = dict[str, float]


def rows_of(market: str, n_rows: int, **other: Any) -> list[Row]:
    """Return rows of a market in the measured tier."""
    tier = TIERS[TIER]
    digest = digest_of(market, tier.n_symbols, LOOKBACK + tier.horizon)
    sizes = {"n_symbols": tier.n_symbols, "horizon": tier.horizon, "lookback": LOOKBACK} | other
    return [Row(SPLIT, index, market, digest, **sizes) for index in range(n_rows)]


def outcome_by(name: str, row: Row) -> Outcome:
    """Return the outcome of a named policy on a row."""
    if name in BASELINES:
        return play(row, baseline(name, row))
    if name == "keeper":
        return MANDATE_KEEPERS[row.mandate](row)
    return (REWARD_HACKS | MANDATE_BREAKERS)[name](row)


def scores(name: str, rows: Iterable[Row]) -> Scores:
    """Return the rewards of a policy on rows: each reward, and their weighted sum."""
    found: dict[str, list[float]] = {column: [] for column in COLUMNS}
    for row in rows:
        outcome = outcome_by(name, row)
        each = {reward: spec.reward(outcome) for reward, spec in REWARDS.items()}
        each[PAID] = sum(spec.weight * each[reward] for reward, spec in REWARDS.items())
        for column, value in each.items():
            found[column].append(value)
    return {column: np.array(values) for column, values in found.items()}


def cell(values: np.ndarray) -> Cell:
    """Return the mean of rows with its 95 % interval, from the normal distribution."""
    mean, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
    statistics = {"mean": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error}
    # Adding 0.0 removes the sign of a negative zero.
    return {"n": len(values)} | {key: round(value, 4) + 0.0 for key, value in statistics.items()}


def measured(task: tuple[str, str, str, int]) -> dict[str, Cell]:
    """Return the cells of one table row, given kind, market or mandate, policy and number of rows."""
    kind, place, name, n_rows = task
    if kind == "mandates":
        rows = rows_of(MANDATE_MARKETS[place], n_rows, mandate=place)
    elif kind == "windows":
        rows = rows_of(place, n_rows, n_windows=WINDOWS)
    else:
        rows = rows_of(place, n_rows)
    if kind == "sound":
        return {"is_sound": cell(np.array([float(is_valid_task(row)) for row in rows]))}
    return {column: cell(values) for column, values in scores(name, rows).items()}


def tasks(n_rows: int) -> list[tuple[str, str, str, int]]:
    """Return the tasks of all tables."""
    found = [("games", market, name, n_rows) for market in GAMED for name in REWARD_HACKS]
    found += [("baselines", market, name, n_rows) for market in MARKETS for name in BASELINES]
    found += [("windows", market, name, n_rows) for market in GAMED for name in (*REWARD_HACKS, "oracle")]
    found += [
        ("mandates", mandate, name, n_rows) for mandate in MANDATE_MARKETS for name in ("keeper", *MANDATE_BREAKERS)
    ]
    return found + [("sound", market, "all", n_rows) for market in MARKETS]


def audited(chosen: list[tuple[str, str, str, int]], n_processes: int) -> dict[str, Any]:
    """Return the tables, as `docs/verifiers.json` holds them."""
    results: dict[str, Any] = {}
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        for (kind, place, name, _), cells in zip(chosen, pool.map(measured, chosen), strict=True):
            print(f"{kind}: {place}: {name}", file=sys.stderr, flush=True)
            of_place = results.setdefault(kind, {}).setdefault(place, {})
            if kind == "windows":
                of_place[name] = cells["pass_k_reward"]
            elif kind == "baselines":
                of_place[name] = cells[PAID]
            elif kind == "sound":
                results[kind][place] = cells["is_sound"]
            else:
                of_place[name] = cells
    return results


def interval(each: Cell) -> str:
    """Return a mean and its interval as text."""
    return f"{_signed(each['mean'])} ({_signed(each['low'])} to {_signed(each['high'])})"


def _signed(value: float) -> str:
    shown = f"{value:+.2f}"
    return "0.00" if float(shown) == 0.0 else shown


def lines(head: list[str], body: Iterable[list[str]]) -> str:
    """Return a Markdown table."""
    rows = [f"| {' | '.join(each)} |" for each in (head, *body)]
    return "\n".join([rows[0], f"|{'---|' * len(head)}", *rows[1:]])


def shown(name: str, found: dict[str, Any]) -> str:
    """Return one of `TABLES` for the results."""
    return TABLES[name](found)


def _games(found: dict[str, Any]) -> str:
    games = found["games"]
    order = sorted(REWARD_HACKS, key=lambda name: -games["pairs"][name][PAID]["mean"])
    head = ["policy", *(f"reward on `{market}`" for market in GAMED)]
    oracle = ["oracle", *(interval(found["baselines"][market]["oracle"]) for market in GAMED)]
    body = [[name, *(interval(games[market][name][PAID]) for market in GAMED)] for name in order]
    return lines(head, [oracle, *body])


def _rewards(found: dict[str, Any]) -> str:
    head = ["reward", "copy", "hold", "best other policy on `pairs`", "on `ecb-fx`"]
    body = []
    for reward in REWARDS:
        line = [f"`{reward}`", *(_both(found, name, reward) for name in ("copy the benchmark", "hold for ever"))]
        for market in GAMED:
            others = [name for name in REWARD_HACKS if name not in ("copy the benchmark", "hold for ever", "verbose")]
            best = max(others, key=lambda name: found["games"][market][name][reward]["mean"])
            line.append(f"{best}: {interval(found['games'][market][best][reward])}")
        body.append(line)
    return lines(head, body)


def _both(found: dict[str, Any], name: str, reward: str) -> str:
    return " / ".join(_signed(found["games"][market][name][reward]["mean"]) for market in GAMED)


def _pass(found: dict[str, Any]) -> str:
    head = ["policy", *(f"`{market}`, {n} window{'s' * (n > 1)}" for market in GAMED for n in (1, WINDOWS))]
    chosen = ("all against it until ahead", "all in", "martingale betting", "hold for ever", "random")
    body = [
        [
            name,
            *(
                f"{100 * each['mean']:.0f} %"
                for market in GAMED
                for each in (found["games"][market][name]["pass_k_reward"], found["windows"][market][name])
            ),
        ]
        for name in chosen
    ]
    return lines(head, body)


def _mandates(found: dict[str, Any]) -> str:
    head = ["mandate, market", "mandate kept", *MANDATE_BREAKERS]
    return lines(
        head,
        (
            [f"{mandate}, `{MANDATE_MARKETS[mandate]}`", *(interval(each[PAID]) for each in cells.values())]
            for mandate, cells in found["mandates"].items()
        ),
    )


def _baselines(found: dict[str, Any]) -> str:
    cells = found["baselines"]
    body = [[name, *(interval(cells[market][name]) for market in MARKETS)] for name in BASELINES]
    return lines(["baseline", *(f"`{market}`" for market in MARKETS)], body)


def in_a_line(found: dict[str, Any]) -> str:
    """Return the rewards of the reward hacks on the first market, best first, in one line."""
    cells = {name: each[PAID]["mean"] for name, each in found["games"][GAMED[0]].items()}
    cells["oracle"] = found["baselines"][GAMED[0]]["oracle"]["mean"]
    return ", ".join(f"{name} {_signed(cells[name])}" for name in sorted(cells, key=lambda name: -cells[name]))


TABLES = {"games": _games, "rewards": _rewards, "pass": _pass, "mandates": _mandates, "baselines": _baselines}
"""The tables of the page, by name."""


def main() -> None:
    """Measure the selected rows, and print the tables if the results are complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300, help="rows of each market")
    parser.add_argument("--only", choices=["games", "baselines", "windows", "mandates", "sound"], help="one kind only")
    parser.add_argument("--processes", type=int, default=2, help="number of processes")
    parser.add_argument("--write", type=Path, help="JSON file of results")
    given = parser.parse_args()
    chosen = [task for task in tasks(given.rows) if given.only in (None, task[0])]
    found = audited(chosen, given.processes)
    if given.write is not None:
        known = json.loads(given.write.read_text(encoding="utf-8")) if given.write.exists() else {}
        found = known | found
        given.write.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.only is None or given.write is not None:
        print(*(f"{name}\n{shown(name, found)}\n" for name in TABLES), sep="\n")
    else:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
