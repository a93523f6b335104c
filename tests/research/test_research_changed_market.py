"""A market with changed prices neither forgets its trials nor opens its spent holdout again (A10, A11, trap 8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import typed
from research_markets import trending

import openoutcry as oo
from openoutcry.ledger import FAMILY_LIMITS, Ledger
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.session_config import Budgets, ResearchConfig
from openoutcry.research.session_manager import Workspace, research

pytestmark = pytest.mark.once

MARKET = trending(0, 1200, 3)
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
CONFIG = ResearchConfig(budgets=Budgets(1, 40, 12), gates=LAX)
Close = np.ndarray[Any, np.dtype[np.float64]]


def grown(close: Close, factor: float, drift: float) -> Close:
    """Return the prices with their returns times a factor plus a drift."""
    returns = factor * (close[1:] / close[:-1] - 1.0) + drift
    return np.asarray(np.vstack([close[:1], close[:1] * np.cumprod(1.0 + returns, axis=0)]))


CHANGES: dict[str, Callable[[Close], Close]] = {
    "an offset of 20": lambda close: close + 20.0,
    "returns x 1.5": lambda close: grown(close, 1.5, 0.0),
    "2 bp of drift": lambda close: grown(close, 1.0, 2e-4),
    "all three, inverted": lambda close: 1e4 / (grown(close, 1.5, 2e-4) + 20.0),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_spent_holdout_stays_closed_for_changed_prices(tmp_path: Path, how: str) -> None:
    """In Python; the changed market is the first one for the last change."""
    changed = oo.Dataset.from_arrays(MARKET.dates, ["x", "y", "z"], CHANGES[how](MARKET.close), name="new")
    one, two = (changed, MARKET) if how == "all three, inverted" else (MARKET, changed)
    workspace = Workspace(tmp_path / "out", Ledger(tmp_path / "ledger"))
    first = research(lambda: one, RandomProposer(), CONFIG, workspace)
    later = research(lambda: two, RandomProposer(), CONFIG.with_(seed=1), workspace)
    assert first.holdout_reuse == 0
    assert later.prior_trials.n_trials == first.n_session
    assert later.prior_trials.holdout_spent == 1
    assert later.shortlist
    assert all(listed.verdict is None for listed in later.shortlist)
    assert "an unopened holdout is required" in later.holdout_note


def write_csv(path: Path, close: Close) -> str:
    """Write closes as a user's file."""
    rows = [f"{date},{','.join(map(repr, row))}" for date, row in zip(MARKET.dates, close.tolist(), strict=True)]
    path.write_text("\n".join(["date,a,b,c", *rows]) + "\n")
    return str(path)


def test_a_spent_holdout_stays_closed_at_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))
    gates = tmp_path / "gates.json"
    names = ("min_sharpe", "min_profit_factor", "min_efficiency", "min_efficiency_if_sharpe", "max_drawdown_ratio")
    gates.write_text(json.dumps({**dict.fromkeys(names), "min_dsr": None, "min_trades": 0}))
    words = ["run", "--provider", "random", "--gates", str(gates), "--max-trials", "2", "--all-kept"]

    def session(name: str, close: Close, seed: int) -> str:
        data = write_csv(tmp_path / f"{name}.csv", close)
        done = typed("research", *words, "--data", data, "--out", name, "--seed", str(seed), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = session("original", MARKET.close, 0)
    assert "prior trials on this family of markets: 0" in shown
    assert f"holdout: {FAMILY_LIMITS}" in shown
    found = json.loads((tmp_path / "original" / "shortlist.json").read_text())
    assert found["holdout"]["reuse"] == 0
    assert found["holdout"]["family_limits"] == FAMILY_LIMITS
    candidate = json.loads((tmp_path / "original" / found["candidates"][0]).read_text())
    assert candidate["evidence"]["family_limits"] == FAMILY_LIMITS
    page = (tmp_path / "original" / "report.html").read_text(encoding="utf-8")
    assert FAMILY_LIMITS in page

    for seed, how in enumerate(list(CHANGES)[:3], 1):
        shown = session(f"changed-{seed}", CHANGES[how](MARKET.close), seed)
        assert f"prior trials on this family of markets: {2 * seed}" in shown
        assert "the holdout is spent" in shown
        assert "holdout: an unopened holdout is required" in shown
