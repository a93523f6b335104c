"""`report stability` and `report timing` take every agent that `run --agent` takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidate_sessions import MARKET, RISING, TUNE, market_file, searched
from command_line import typed

import openoutcry as oo
from openoutcry.backtest.strategies.candidate_fields import DIGEST, digest_of_fields

WINDOW = (70, 160)
PROGRAM = """import json, sys
for line in sys.stdin:
    sent = json.loads(line)
    order = {"symbol": "S0", "action": "buy", "target_weight": 0.5}
    print(json.dumps({"orders": [order]}), flush=True)
"""
UNSAFE = ("--allow-code-gen", "--unsafe-no-isolation")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a market, candidates, and records of them."""
    made = tmp_path_factory.mktemp("agents")
    (path,) = searched(made / "session", TUNE)[2]
    path.rename(made / "trend.json")
    # Research of code takes seconds; the commands read only the file.
    code = json.loads((made / "trend.json").read_text())
    code |= {"strategy": "Rising", "params": {"span": 20}, "source": RISING, "isolation": "T2"}
    del code[DIGEST]
    (made / "Rising.json").write_text(json.dumps(code | {DIGEST: digest_of_fields(code)}))
    market_file(made / "trending-3.csv")
    oo.run_backtest(MARKET, str(made / "trend.json"), WINDOW, capture=True).record.save(made / "trend-run.json")
    weights = np.full((MARKET.n_bars, 2), np.nan)
    weights[70:160:5] = np.random.default_rng(2).dirichlet(np.ones(2), 18)
    run = oo.run_backtest(MARKET, weights, WINDOW, capture=True, name="weekly", lookback=65)
    run.record.save(made / "weekly.json")
    return made


def printed(folder: Path, *words: str) -> Any:
    done = typed("report", *words, "--data", "trending-3.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("agent", ["trend.json", "trend:fast=5,slow=65"])
def test_a_candidate_and_a_strategy_repeat_their_own_record(folder: Path, agent: str) -> None:
    (pair,) = printed(folder, "stability", "trend-run.json", "--agent", agent)["pairs"]
    assert pair["n_decisions"] == WINDOW[1] - WINDOW[0] - 1
    assert (pair["share_equal"], pair["share_equal_on_same"], pair["nav_difference"]) == (1.0, 1.0, 0.0)


def test_a_strategy_with_other_parameters_decides_otherwise(folder: Path) -> None:
    (pair,) = printed(folder, "stability", "trend-run.json", "--agent", "trend:fast=20,slow=65")["pairs"]
    assert 0.0 < pair["share_equal"] < 1.0


def test_a_candidate_that_is_code_needs_its_options_and_repeats_its_record(folder: Path) -> None:
    run = ["run", "--data", "trending-3.csv", "--agent", "Rising.json", "--window", "70:160", "--ledger-dir", "ledger"]
    done = typed(*run, *UNSAFE, "--record", "rising.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (pair,) = printed(folder, "stability", "rising.json", "--agent", "Rising.json", *UNSAFE)["pairs"]
    assert (pair["share_equal"], pair["nav_difference"]) == (1.0, 0.0)
    for word, record in (("stability", "rising.json"), ("timing", "weekly.json")):
        refused = typed("report", word, record, "--data", "trending-3.csv", "--agent", "Rising.json", cwd=folder)
        assert (refused.returncode, "`--allow-code-gen`" in refused.stderr) == (2, True)


@pytest.mark.parametrize("agent", ["trend.json", "trend:fast=5,slow=65"])
def test_the_phases_of_a_candidate_are_the_candidate_started_later(folder: Path, agent: str) -> None:
    found = printed(folder, "timing", "weekly.json", "--agent", agent)["runs"][0]
    assert (found["method"], len(found["phases"])) == ("the agent, started later", 5)
    later = oo.run_backtest(MARKET, "trend:fast=5,slow=65", (WINDOW[0] + 3, WINDOW[1]))
    first = 70 + 5 - WINDOW[0]
    returns = later.returns[first - 3 :]
    year = MARKET.periods_per_year or 0.0
    expected = returns.mean() / returns.std(ddof=1) * year**0.5
    assert found["phases"][3]["sharpe"] == pytest.approx(expected, rel=1e-9)


def test_a_steady_schedule_has_one_distance(folder: Path) -> None:
    done = typed("report", "timing", "weekly.json", "--data", "trending-3.csv", cwd=folder)
    assert "with orders, 5 bars apart;" in " ".join(done.stdout.split())


def test_a_program_is_asked_again_and_started_for_each_phase(folder: Path) -> None:
    (folder / "half.py").write_text(PROGRAM)
    agent = ("--agent", f"cmd:{sys.executable} half.py", "--sandbox", "none")
    (pair,) = printed(folder, "stability", "weekly.json", *agent)["pairs"]
    assert (pair["n_equal"], pair["share_equal_on_same"]) == (0, 0.0)
    assert len(printed(folder, "timing", "weekly.json", *agent)["runs"][0]["phases"]) == 5


@pytest.mark.parametrize("words", [("stability", "weekly.json", "trend-run.json"), ("timing", "weekly.json")])
def test_options_of_an_agent_need_one(folder: Path, words: tuple[str, ...]) -> None:
    done = typed("report", *words, "--data", "trending-3.csv", "--timeout", "5", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--timeout` must come with `--agent`; received it alone" in done.stderr
