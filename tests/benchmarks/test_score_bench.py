"""`openoutcry bench --score`: every test runs, and a missing `arch` is reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from openoutcry.benchmarks import scoring_speed as bench
from openoutcry.cli import bench as command

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")


def test_every_agent_is_tested_and_half_of_the_variance_is_common() -> None:
    returns = bench.noise_returns(500, 12)
    deflated, tests = bench.run_tests(returns, n_draws=50)
    assert [each.n_trials for each in deflated] == [12] * 12
    assert len(tests.alone) == len(tests.romano_wolf) == 12
    assert np.corrcoef(returns.T)[np.triu_indices(12, 1)].mean() == pytest.approx(0.5, abs=0.1)
    assert returns.std() == pytest.approx(0.01, rel=0.05)


def test_without_arch_the_benchmark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in `sys.modules` makes an import fail.
    monkeypatch.setitem(sys.modules, "arch.bootstrap", None)
    monkeypatch.setitem(sys.modules, "arch", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs `pip install openoutcry\[oracle\]`"):
        bench.measure()


@pytest.mark.once
def test_the_goal_is_a_tenth_of_the_time_of_arch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("arch")
    for name, size in (("N_DAYS", 300), ("N_AGENTS", 5), ("N_DRAWS", 20), ("ROUNDS", 1)):
        monkeypatch.setattr(bench, name, size)
    command.bench(
        check=False, batch=False, scenarios=False, score=True, agents=False, reading=False, intraday=False, as_json=True
    )
    (row,) = json.loads(capsys.readouterr().out)
    assert row["what"] == "DSR, bootstrap, SPA, Romano-Wolf, 5 x 300 days, 20 draws"
    assert row["bound"] == pytest.approx(row["value"] * row["ratio"] / bench.GOAL)
    assert row["is_met"] == (row["ratio"] > bench.GOAL)


def test_the_score_benchmark_excludes_the_others() -> None:
    done = subprocess.run([COMMAND, "bench", "--scenarios", "--score"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "exclude each other; received `--scenarios` and `--score`" in done.stderr
