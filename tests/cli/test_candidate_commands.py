"""Strategies and candidates in commands other than `run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import typed
from rollout_rows import row_of

import openoutcry as oo
from openoutcry.audits.leakcheck import check
from openoutcry.audits.leakcheck.frame_columns import source_of
from openoutcry.audits.leakcheck.market_frames import from_dataset
from openoutcry.audits.leakcheck.target_lookup import guess_kind, load_target
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.backtest.strategies.observing_agent import observing_agent
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.research.candidate_agents import load_candidate
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation
from openoutcry.verifiers_env.scripted_policies import baseline, play

pytestmark = pytest.mark.once
sandboxed = pytest.mark.skipif(this_host().tier < Tier.T2, reason=str(dict(this_host().missing)))

FX = oo.data.load("ecb-fx", ["USD", "JPY"])
SUITE = {
    "suite_version": "1.0",
    "name": "small",
    "edition": "1",
    "seeds": [1, 2],
    "markets": [{"name": "ecb-fx:USD,JPY", "fingerprint": FX.fingerprint, "windows": [["2010-01-01", "2010-06-01"]]}],
}
CANDIDATE: dict[str, Any] = {
    "format": "openoutcry/candidate/v1",
    "strategy": "trend",
    "params": {"fast": 5, "slow": 65},
    "market": {"symbols": ["USD"], "last": "2010-05-01"},
    "provenance": {},
}
LAST = """
from openoutcry.backtest.strategies import Strategy

class Last(Strategy):
    '''Hold symbols that rose on the last bar.'''

    PARAM_RANGES = {}
    lookback = 2

    def weights(self, closes):
        return (closes[-1] > closes[0]) / closes.shape[1]
"""


@pytest.fixture(autouse=True)
def own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(SUITE))
    return path


def candidate(folder: Path, **changes: Any) -> Path:
    path = folder / "found.json"
    path.write_text(json.dumps(CANDIDATE | changes))
    return path


def test_a_suite_runs_a_candidate_and_says_what_it_lacks(tmp_path: Path, suite: Path) -> None:
    path, record = candidate(tmp_path), tmp_path / "record.json"
    done = typed("suite", "run", suite, "--agent", path, "--record", record)
    assert done.returncode == 0, done.stderr
    assert "needs 65 closes and the suite shows 20: it holds for the first 45 decisions of each window" in done.stderr
    assert "2010-01-04 .. 2010-05-31, reads the holdout of the candidate" in done.stderr
    found = oo.RunRecord.load(record)
    assert len(found) == 2
    evaluation = Evaluation(Suite.load(str(suite)))
    assert evaluation.run("trend:fast=5,slow=65", found.agent_id).digest == found.digest
    assert evaluation.run(LIBRARY["trend"](fast=5, slow=65), found.agent_id).digest == found.digest
    # The decisions of a run with long observations, from the bar on at which the suite has shown 65 closes.
    start, end = (int(found.headers[0][f"window.{edge}"]) for edge in ("start", "end"))
    agent = observing_agent(LIBRARY["trend"](fast=5, slow=65), "trend", FX.symbols)
    short = oo.run_backtest(FX, agent, (start, end))
    long = oo.run_backtest(FX, "trend:fast=5,slow=65", (start, end))
    assert short.decisions[45:].tobytes() == long.decisions[45:].tobytes()
    assert np.isnan(short.decisions[:45]).all()


def test_the_leak_check_takes_a_strategy_and_a_candidate(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame = from_dataset(FX.between(3000, 3090), "agent", "pandas")
    for name in ("trend:fast=5,slow=65", str(candidate(tmp_path))):
        make = load_target(name)
        assert guess_kind(make, [source_of(frame)]) == "agent"
        assert check(make, frame, kind="agent", name=name, n_cuts=3).is_clean
    with pytest.raises(oo.OpenOutcryError, match="received the baseline 'momentum'; hint: `momentum:`, the strategy"):
        load_target("momentum")
    with pytest.raises(oo.OpenOutcryError, match="received code"):
        load_target(str(candidate(tmp_path, source=LAST)))


@sandboxed
def test_a_suite_runs_code_in_the_sandbox_only(tmp_path: Path, suite: Path) -> None:
    path, record = candidate(tmp_path, strategy="Last", params={}, source=LAST), tmp_path / "record.json"
    words = "suite", "run", suite, "--agent", path, "--record", record
    assert "`--allow-code-gen`" in typed(*words).stderr
    assert not record.exists()
    done = typed(*words, "--allow-code-gen")
    assert done.returncode == 0, done.stderr
    assert oo.RunRecord.load(record).headers[0]["harness.tier"] == this_host().tier.name


def test_a_strategy_conforms_to_the_contract(tmp_path: Path) -> None:
    done = typed("conformance", "trend:fast=5,slow=65", "--deterministic", "--json")
    assert done.returncode == 0, done.stdout[-2000:]
    assert json.loads(done.stdout)["conforms"]
    refused = typed("conformance", candidate(tmp_path, params={"fast": 1}))
    assert refused.returncode == 2
    assert "`fast` must be an integer from 2 to 60" in refused.stderr


def test_the_contamination_test_takes_a_strategy() -> None:
    words = "--windows", "2", "--bars", "60", "--repeats", "1", "--twins", "3", "--seed", "1", "--json"
    done = typed("contamination", "--agent", "trend:fast=5,slow=65", *words)
    assert json.loads(done.stdout)["agent"] == "trend:fast=5,slow=65,side=long", done.stderr


def test_a_scripted_policy_of_a_language_model_task_may_be_a_strategy() -> None:
    row = row_of(horizon=6, lookback=70)
    played = play(row, baseline("trend:fast=5,slow=65", row))
    same = play(row, baseline("trend:fast=5,slow=65,side=long", row))
    idle = play(row, baseline("do-nothing", row))
    returns = [each.windows[0].log_returns.tolist() for each in (played, same, idle)]
    assert returns[0] == returns[1] != returns[2]


@pytest.mark.parametrize("words", [("replay", "--data", "ecb-fx"), ("score",), ("report", "--data", "ecb-fx")])
def test_a_candidate_is_no_record_and_the_error_says_how_to_make_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = typed(words[0], candidate(tmp_path), *words[1:])
    assert done.returncode == 2
    assert f"found.json', a candidate's file of research; hint: `openoutcry run --agent {tmp_path}" in done.stderr


@pytest.mark.parametrize("params", [{"fast": 5, "slow": 65}, {"fast": 9, "slow": 70, "side": "long-short"}])
def test_a_candidate_decides_in_the_environment_as_in_a_run(tmp_path: Path, params: dict[str, Any]) -> None:
    market, strategy = FX.between(3000, 3200), load_candidate(candidate(tmp_path, params=params))
    with pytest.warns(UserWarning, match="reads the holdout of the candidate, the days after 2010-05-01"):
        run = oo.run_backtest(market, strategy)
    env = oo.OpenOutcryEnv(dataset=market, window=run.window, lookback=strategy.lookback)
    observation, info = env.reset(seed=0)
    navs, is_done = [info["nav"]], False
    while not is_done:
        closes = np.where(observation["history"] > 0.0, observation["history"], np.nan)
        observation, _, terminated, truncated, info = env.step(strategy.weights(closes))
        navs.append(info["nav"])
        is_done = terminated or truncated
    assert navs == run.nav.tolist()


FORMS = ("trend:fast=20,slow=100", "mean-reversion:, momentum:,", "candidate", "risk-parity", "--allow-code-gen")


def test_the_help_of_run_shows_every_form_of_an_agent() -> None:
    text = " ".join(typed("run", "--help").stdout.replace("│", " ").split())
    for part in (*FORMS, "--unsafe-no-isolation"):
        assert part in text
