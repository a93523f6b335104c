"""`openoutcry bench --scenarios`: its baselines and its rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from openoutcry.audits.leakcheck import check
from openoutcry.benchmarks import scenario_speed as bench
from openoutcry.cli import bench as command
from openoutcry.scenarios.scenario import NAMES

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")


def test_the_baseline_has_volatility_clustering_and_heavy_tails() -> None:
    moves = np.diff(np.log(bench.garch(5_001, 20, seed=3)), axis=0)
    assert moves.shape == (5_000, 20)
    # The variance is omega / (1 - alpha - beta); with heavy tails and clusters the sample is within a quarter of it.
    assert moves.var() == pytest.approx(2e-6 / 0.02, rel=0.25)
    assert (moves**4).mean() / (moves**2).mean() ** 2 > 4.0
    sizes = np.abs(moves) - np.abs(moves).mean(axis=0)
    assert ((sizes[1:] * sizes[:-1]).mean(axis=0) / sizes.var(axis=0)).mean() > 0.1


def test_the_pipeline_of_the_leak_check_is_clean_and_look_ahead_is_detected() -> None:
    close = bench.garch(300, 2)
    assert check(bench.features, close, kind="pipeline", n_cuts=6).is_clean
    leaking = check(lambda frame: np.roll(bench.features(frame), -1, axis=0), close, kind="pipeline", n_cuts=6)
    assert len(leaking.leaks) == 10


def test_the_fastest_call_of_each_function_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 2)
    monkeypatch.setattr(bench, "ROUND_SECONDS", 0.01)
    short, long = bench.best_of(lambda: sum(range(100)), lambda: sum(range(100_000)))
    assert 0.0 <= short < long


def test_every_scenario_has_a_row_and_a_goal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "ROUND_SECONDS", 1e-9)
    monkeypatch.setattr(bench, "LEAK_BARS", 300)
    command.bench(
        check=False, batch=False, scenarios=True, score=False, agents=False, reading=False, intraday=False, as_json=True
    )
    rows = json.loads(capsys.readouterr().out)
    assert [row["what"].split(",")[0] for row in rows] == [*(f"scenario {name}" for name in NAMES), "leakcheck"]
    assert all(row["value"] > 0.0 and {"here", "goal", "is_met"} <= row.keys() for row in rows)
    assert all(row["ratio"] > 0.0 and row["at_least"] for row in rows[:-1])
    assert rows[-1]["peer_is"].endswith("times")


def test_two_benchmarks_at_once_are_refused() -> None:
    done = subprocess.run([COMMAND, "bench", "--scenarios", "--batch"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "exclude each other" in done.stderr
