"""Replay the hand-worked day orders of `contract/vectors/orders.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from order_engine import run_engine
from order_vectors import Json, run_reference

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from vectors import orders  # noqa: E402

CASES = json.loads((ROOT / "contract/vectors/orders.json").read_text(encoding="utf-8"))["cases"]
TOLERANCE = 1e-12

# A runner executes the decisions of a case and returns its steps in the form of `expected.steps`.
RUNNERS: dict[str, Callable[[Json], list[Json]]] = {"engine": run_engine, "reference": run_reference}


def differences(received: Any, expected: Any, place: str = "") -> Iterator[str]:
    """Yield where two JSON values differ; numbers may differ by a rounding."""
    if isinstance(expected, dict) and isinstance(received, dict):
        for name in sorted({*received, *expected}):
            if name in received and name in expected:
                yield from differences(received[name], expected[name], f"{place}.{name}")
            else:
                yield f"{place}.{name} is only in the {'result' if name in received else 'vector'}"
    elif isinstance(expected, list) and isinstance(received, list) and len(received) == len(expected):
        for i, pair in enumerate(zip(received, expected, strict=True)):
            yield from differences(*pair, f"{place}[{i}]")
    elif is_number(expected) and is_number(received):
        if not isclose(received, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3):
            yield f"{place}: received {received!r}, expected {expected!r}"
    elif received != expected:
        yield f"{place}: received {received!r}, expected {expected!r}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_vector_of_day_orders_gives_the_hand_worked_result(case: Json, runner: str) -> None:
    assert list(differences(RUNNERS[runner](case["given"]), case["expected"]["steps"])) == []


def test_the_file_contains_what_the_scripts_work_out() -> None:
    assert json.loads(json.dumps(orders.all_cases())) == CASES


def test_the_names_of_the_vectors_are_unique() -> None:
    assert len({case["name"] for case in CASES}) == len(CASES)


def test_the_vectors_cover_every_row_and_rule_of_the_fills() -> None:
    rows = {"plain", "close", "limit", "stop", "stop-limit"}
    rules = {f"O{n}" for n in (1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 13, 14, 17, 18, 22)}
    assert {rule for case in CASES for rule in case["rules"]} == rows | rules


def test_the_vectors_cover_every_reason_of_day_orders() -> None:
    steps = [step for case in CASES for step in case["expected"]["steps"]]
    found = {event.get("reason") for step in steps for event in step["info"]["events"]}
    new = {"limit_not_reached", "stop_not_reached", "no_range", "exited", "exits_crossed", "cash"}
    assert new | {"stop_loss", "take_profit", "participation", "rebalanced", "cost_too_high"} <= found


def test_a_wrong_number_of_a_vector_is_found() -> None:
    wrong = json.loads(json.dumps(CASES[0]["expected"]["steps"]))
    wrong[0]["info"]["nav"] *= 1.0 + 1e-11
    assert [text.split(":")[0] for text in differences(wrong, CASES[0]["expected"]["steps"])] == ["[0].info.nav"]
