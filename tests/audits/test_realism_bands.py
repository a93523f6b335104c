"""`scripts/realism_bands.py` reproduces the committed reference bands of the bundled currencies."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from builders import count

import openoutcry as oo
from openoutcry.audits.realism import panel_of
from openoutcry.audits.realism.reference_bands import bands_of, document

pytestmark = pytest.mark.once

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "realism_bands.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("realism_bands", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_reproduces_the_bands_of_the_currency_tier(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_draws = count(4000, 60)
    monkeypatch.setattr(script, "DRAWS", n_draws)
    found = script.measure("fx", script.TIERS["fx"], {"ecb-fx": oo.data.load("ecb-fx")})
    committed = document()["tiers"]["fx"]
    if n_draws == committed_draws():
        assert found["facts"].keys() == committed["facts"].keys()
        for fact, band in found["facts"].items():
            np.testing.assert_allclose(band["quantiles"], committed["facts"][fact]["quantiles"], atol=2e-4)
    for fact, band in bands_of("fx").items():
        middle = found["facts"][fact]["quantiles"][script.LEVELS.index(0.5)]
        assert band.low < middle < band.high
        widths = [each["high"] - each["low"] for each in (found["facts"][fact], committed["facts"][fact])]
        assert 0.6 < widths[0] / widths[1] < 1.5, fact


def committed_draws() -> int:
    draws: int = document()["draws"]
    return draws


def test_the_committed_tiers_and_seed_equal_those_of_the_script(script: ModuleType) -> None:
    found = document()
    assert found["seed"] == script.SEED
    assert found["draws"] == script.DRAWS
    assert tuple(found["levels"]) == script.LEVELS
    assert {name: tier["blocks"] for name, tier in found["tiers"].items()} == {
        name: script.asdict(tier) for name, tier in script.TIERS.items()
    }


def test_blocks_start_within_the_volatility_quantiles_of_the_tier(script: ModuleType) -> None:
    rng = np.random.default_rng(1)
    calm, wild = 0.01 * rng.standard_normal((1000, 2)), 0.05 * rng.standard_normal((1000, 2))
    prices = 100.0 * np.exp(np.cumsum(np.vstack([calm, wild]), axis=0))
    returns = panel_of(
        oo.Dataset.from_arrays(np.datetime64("2001-01-01") + np.arange(2000), ["A", "B"], prices)
    ).returns
    assert script.block_starts(returns, script.Tier("x", 250, 0.0, 0.3)).max() < 800
    assert script.block_starts(returns, script.Tier("x", 250, 0.7, 1.0)).min() >= 900


def test_both_date_formats_are_parsed(script: ModuleType) -> None:
    assert [script.iso(date) for date in ("1999-01-04", "1/4/1999", "12/31/2018")] == [
        "1999-01-04",
        "1999-01-04",
        "2018-12-31",
    ]
