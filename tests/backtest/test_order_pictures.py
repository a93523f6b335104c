"""The pictures of `docs/orders.md` are what the engine does today."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("limits", "stops", "closes", "exits")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("order_pictures", ROOT / "scripts" / "order_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_picture_is_the_one_that_the_script_draws(script: ModuleType, name: str) -> None:
    committed = (ROOT / "docs" / "images" / f"orders-{name}.svg").read_text("utf-8")
    assert script.sheet(name) == committed, "hint: python scripts/order_pictures.py"
    assert ElementTree.fromstring(committed).get("role") == "img"
    assert len(committed) < 5_000


def test_every_picture_is_on_the_page(script: ModuleType) -> None:
    page = (ROOT / "docs" / "orders.md").read_text("utf-8")
    assert set(script.SHEETS) == set(NAMES)
    assert [name for name in NAMES if f"](images/orders-{name}.svg)" not in page] == []


def test_a_fill_is_at_the_price_of_the_contract(script: ModuleType) -> None:
    found = {case.title: script.outcome(case) for sheet in script.SHEETS.values() for case in sheet}
    prices = {title: [price for _, price in each.fills] for title, each in found.items()}
    assert prices["Open below the limit"] == [97.0 * 1.005]
    assert prices["Bar trades through it"] == [98.0]
    assert prices["Bar reaches the stop"] == [103.0 * 1.005]
    assert prices["The same, stop_gap 0.5"] == [104.5 * 1.005]
    assert prices["Both: the worse one"] == [100.0 * 1.005, 97.0 * 0.995]
    assert prices["Open above the profit"] == [106.0 * 0.995]
    assert prices["Entry inside, then profit"] == [98.0, 101.0]
    unfilled = {title: each.text for title, each in found.items() if not each.fills}
    assert unfilled == {
        "Bar touches it only": "unfilled: limit_not_reached",
        "Stop not reached": "unfilled: stop_not_reached",
        "Stop-limit, open beyond": "unfilled: limit_not_reached",
        "Close above the limit": "unfilled: limit_not_reached",
        "No high and low": "unfilled: no_range",
    }
