#!/usr/bin/env python3
"""Write `contract/vectors/*.json`: the engine on the cases of `scripts/vectors`.

Every number, event and field of the engine is first compared with `vectors/witness.py`, an independent implementation
of `contract/README.md` on `tests/support/reference_engine.py`. If they differ by more than 1e-12, the script prints the
differences, writes nothing and exits with 1. The files record the bits of the engine. `commitments.json` and
`orders.json` do not use the package: `vectors/commitments.py` and `vectors/orders.py` write them, and tests compare the
package with them.

Run it in an environment with the built package: `python scripts/make_vectors.py [--check]`. `--check` writes nothing
and fails if a file differs from what would be written.
"""

from __future__ import annotations

import json
import sys
from math import inf, isclose
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import numpy as np  # noqa: E402
from vectors import commitments, decisions, episodes, fills, orders, refusals  # noqa: E402
from vectors.witness import TABLES, expect  # noqa: E402

import openoutcry as oo  # noqa: E402
from openoutcry import openoutcry_py as native  # noqa: E402

VECTORS = ROOT / "contract" / "vectors"
TOLERANCE = 1e-12
JsonObject = dict[str, Any]


def main() -> int:
    """Check every case, then write the files, and return the exit code."""
    cases = {"step": [*decisions.all_cases(), *fills.all_cases()], "episode": episodes.all_cases()}
    differences = [f"{case['name']}: {text}" for each in cases.values() for case in each for text in record(case)]
    if differences:
        print(*differences, f"{len(differences)} differences: nothing is written", sep="\n")
        return 1
    cases["reject"] = refusals.all_cases()
    texts = {name: printed({"cases": each}) for name, each in cases.items()}
    texts["reject"] = printed({"environments": refusals.environments(), "cases": cases["reject"]})
    cases["commitments"] = commitments.all_cases()
    texts["commitments"] = printed({"cases": cases["commitments"]})
    cases["orders"] = orders.all_cases()
    texts["orders"] = printed({"cases": cases["orders"]})
    stale = [name for name, text in texts.items() if not is_current(name, text)]
    if "--check" in sys.argv[1:]:
        print(*(f"{name}.json differs from the output of the engine" for name in stale), sep="\n")
        return 1 if stale else 0
    VECTORS.mkdir(exist_ok=True)
    for name, text in texts.items():
        (VECTORS / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}.json: {len(cases[name])} cases, {len(text)} bytes")
    return 0


def is_current(name: str, text: str) -> bool:
    path = VECTORS / f"{name}.json"
    return path.exists() and path.read_text(encoding="utf-8") == text


def record(case: JsonObject) -> list[str]:
    """Add the engine's output to a case and return its differences from the witness."""
    first, steps, table = expect(case["given"])
    env = environment(case["given"])
    reset = env.reset()
    differences = list(differ(json.loads(reset), first, "reset"))
    recorded = []
    for k, (text, wanted) in enumerate(zip(case["given"]["decisions"], steps, strict=True)):
        observation, reward, done, info = env.step(text)
        seen = {"observation": json.loads(observation), "reward": reward, "done": done, "info": json.loads(info)}
        differences += differ(seen, wanted, f"step {k}")
        recorded.append({"observation": observation, "reward": reward, "done": done, "info": info})
    case["given"]["weights"] = [[None if np.isnan(w) else w for w in row] for row in table]
    case["expected"] = {"reset": reset, "steps": recorded}
    return differences


def differ(seen: Any, wanted: Any, place: str) -> Any:
    """Yield the differences of two JSON values; numbers may differ up to the tolerance."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        for name in sorted({*seen, *wanted}):
            if name in seen and name in wanted:
                yield from differ(seen[name], wanted[name], f"{place}.{name}")
            else:
                yield f"{place}.{name} is only in {'the engine' if name in seen else 'the witness'}"
    elif isinstance(wanted, list) and isinstance(seen, list) and len(seen) == len(wanted):
        for i, pair in enumerate(zip(seen, wanted, strict=True)):
            yield from differ(*pair, f"{place}[{i}]")
    elif isinstance(wanted, float | int) and not isinstance(wanted, bool) and not isinstance(seen, bool | str):
        if not isclose(seen, wanted, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3):
            yield f"{place}: the engine returns {seen!r}, the witness {wanted!r}"
    elif seen != wanted:
        yield f"{place}: the engine returns {seen!r}, the witness {wanted!r}"


def environment(given: JsonObject) -> native.TradingEnv:
    """Return the environment of a case."""
    return native.TradingEnv.from_dataset(
        dataset_of(given["dataset"])._core,
        window=tuple(given["window"]),
        costs=costs_of(given["costs"]),
        limits=limits_of(given["limits"]),
        lookback=given["lookback"],
        seed=given["seed"],
    )


def costs_of(costs: JsonObject) -> oo.CostModel:
    """Convert the costs of a vector."""
    return oo.CostModel(**costs)


def limits_of(limits: JsonObject) -> oo.Limits:
    """Convert the limits of a vector; `null` is no limit."""
    none = {name: inf for name in ("max_weight", "max_gross") if limits[name] is None}
    return oo.Limits(**(limits | none))


def dataset_of(data: JsonObject) -> oo.Dataset:
    """Convert the dataset of a vector."""
    tables = {name: np.array(data[name], dtype=float) for name in (*TABLES, "high", "low") if name in data}
    if "tradable" in tables:
        tables["tradable"] = tables["tradable"] != 0.0
    return oo.Dataset.from_arrays(
        data["dates"],
        data["symbols"],
        np.array(data["close"], dtype=float),
        **tables,
        periods_per_year=data["periods_per_year"],
        fundamentals=[tuple(item.values()) for item in data.get("fundamentals", [])],
        news=[tuple(item.values()) for item in data.get("news", [])],
    )


def printed(value: Any, pad: str = "") -> str:
    """Format JSON with one line per field and per row of a table."""
    if not isinstance(value, dict | list) or is_short(value):
        return json.dumps(value) + ("" if pad else "\n")
    if isinstance(value, dict):
        items, ends = [f"{json.dumps(name)}: {printed(item, pad + '  ')}" for name, item in value.items()], "{}"
    else:
        items, ends = [printed(item, pad + "  ") for item in value], "[]"
    lines = ",\n".join(f"{pad}  {item}" for item in items)
    return f"{ends[0]}\n{lines}\n{pad}{ends[1]}" + ("" if pad else "\n")


def is_short(value: Any) -> bool:
    items = list(value.values() if isinstance(value, dict) else value)
    width = 100 if any(isinstance(item, str) for item in items) else 200
    return not any(isinstance(item, dict | list) for item in items) and len(json.dumps(value)) < width


if __name__ == "__main__":
    sys.exit(main())
