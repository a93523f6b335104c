"""`openoutcry bench --intraday`: rows, goals, and peers that do the same work."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.benchmarks import intraday_peers as peers
from openoutcry.benchmarks import intraday_speed as bench
from openoutcry.cli import bench as command

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("LONG", 4000), ("SHORT", 3000), ("POINTS", 20), ("PEER_BARS", 500), ("LONGEST", 50_000)):
        monkeypatch.setattr(bench, name, size)
    monkeypatch.setattr(bench, "ROUNDS", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_bench_has_a_row_for_each_goal(capsys: pytest.CaptureFixture[str]) -> None:
    off = dict.fromkeys(("check", "batch", "scenarios", "score", "agents", "reading"), False)
    command.bench(**off, intraday=True, as_json=True)
    rows = json.loads(capsys.readouterr().out)
    for row in rows:
        assert row["value"] > 0.0, row
        has_goal = "not installed" not in row["peer_is"]
        assert (row["bound"] is not None) == has_goal, row
    names = [row["what"] for row in rows]
    assert len(names) == len(set(names)) == 20
    # The goal is a multiple of the time of dense orders.
    free = next(row for row in rows if "nothing accrues" in row["what"])
    assert free["bound"] == pytest.approx(free["ratio"] * free["value"] / 5.0)


def test_the_points_of_the_sweep_are_those_of_numpy() -> None:
    market = bench.market(500, 1)
    on_off = bench.weights(market, 1) * (np.arange(500) % 2 == 0)[:, None]
    sizes = np.linspace(0.1, 1.0, 5)
    runs = oo.run_sweep(market, lambda size: on_off * size, {"size": sizes}, costs=bench.TRADE_COSTS)
    # The weights of the market are 0.7 on these bars.
    navs = peers.numpy_points(market.close, 0.7 * sizes)
    for run, nav in zip(runs.runs, navs.T, strict=True):
        np.testing.assert_allclose(run.nav, nav, rtol=1e-9)
    np.testing.assert_allclose(runs.values("sharpe"), peers.numpy_sharpe(market.close, 0.7 * sizes), rtol=1e-9)


def test_sparse_weights_hold_between_orders() -> None:
    market = bench.market(100, 3)
    table = bench.weights(market, 9)
    assert np.isfinite(table[::9]).all()
    assert np.isfinite(table).sum() == 3 * 12


def test_a_peer_that_is_not_installed_has_no_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in `sys.modules` makes an import fail.
    for name in ("raptorbt", "vectorbt"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    close = bench.market(50, 1).close
    assert peers.raptorbt(close) is None
    assert peers.vectorbt(close, close) is None
    row = bench.compared("work", lambda: None, None, "a peer", 2.0)
    assert (row.bound, row.is_met, row.peer_is) == (None, True, "a peer: not installed")
