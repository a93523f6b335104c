"""Hindsight of generated code in sessions: look-ups within the budget fail in disguise; rules do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count
from hindsight_sources import integer_table, sign_table, string_table
from research_markets import noise, trending
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.cli.research import app
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.ledger import Ledger
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.research.acceptance_gates import Gate, Thresholds
from openoutcry.research.disguise_probe import disguise_probe
from openoutcry.research.disguised_markets import disguised
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_files import write_session_files
from openoutcry.research.session_manager import Workspace, recorded_setup, replay, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result
from openoutcry.research.walkforward_validation import validate, validation_setup

pytestmark = pytest.mark.once
T2 = pytest.mark.skipif(this_host().tier < Tier.T2, reason="needs a sandbox of T2")
WHY = "prices that have risen for weeks go on to rise, since investors react late"
STRICT = Thresholds.preset("strict")
CONFIG = ResearchConfig(
    split=Split(n_folds=2, holdout_bars=40), budgets=Budgets(9, 9), gates=STRICT, allow_code=True, inner_trials=1
)
SMALL = noise(2, 400, 1)
"""A market with few enough bars for a table within the budget."""
N_SLOTS = 907

RULE = """
import numpy as np
from openoutcry.backtest.strategies import Strategy


class Rising(Strategy):
    '''Hold symbols that are above an earlier close, and sell the others.'''

    PARAM_RANGES = {"span": {"type": "int", "min": 2, "max": 60, "default": 25}}

    @property
    def lookback(self):
        return self.params["span"] + 1

    def weights(self, closes):
        return np.sign(np.log(closes[-1] / closes[0])) / closes.shape[1]
"""


def run(folder: Path, market: oo.Dataset, source: str, **changes: Any) -> Result:
    proposals = [{"kind": "code", "source": source, "rationale": WHY}]
    workspace = Workspace(folder / "out", Ledger(folder / "ledger"))
    return research(lambda: market, FixedProposer(proposals), replace(CONFIG, **changes), workspace)


def gates(result: Result) -> dict[str, Gate]:
    (trial,) = result.trials
    return {gate.name: gate for gate in trial.gates}


@T2
def test_the_attack_of_the_judge_is_rejected_before_any_trial(tmp_path: Path) -> None:
    """8 kB of constants: short-listed with a Sharpe ratio of 38 out of sample, 38 in the holdout, before."""
    market = noise(1, 600, 4)
    result = run(tmp_path, market, string_table(market))
    (card,) = result.history
    assert card.outcome == "rejected"
    assert card.reasons[0].startswith("hygiene: ")
    assert "can hold the future" in card.reasons[0]
    assert (result.n_session, result.shortlist, result.holdout_reuse) == (0, (), None)


@T2
def test_a_table_within_the_budget_fails_in_disguise_and_is_implausible(tmp_path: Path) -> None:
    """The bits of one integer, indexed by the price, are the signs of one symbol: it fits into the budget."""
    thresholds = replace(STRICT, min_trades=50, max_drawdown_ratio=None)
    result = run(tmp_path, SMALL, integer_table(SMALL, N_SLOTS), gates=thresholds)
    found = gates(result)
    assert {name for name, gate in found.items() if not gate.passed} == {"constants", "disguise", "plausibility"}
    assert (found["disguise"].value or 0.0) > 0.7
    assert "depend on price levels" in found["disguise"].reason
    (trial,) = result.trials
    assert "is above 4 and calls for a second look: hindsight in its code" in trial.cautions[0]
    assert result.shortlist == ()


@T2
def test_a_table_indexed_by_the_signs_of_returns_fails_with_noise(tmp_path: Path) -> None:
    """Other price levels do not change signs; noise changes some of those that are hashed."""
    result = run(
        tmp_path,
        SMALL,
        sign_table(SMALL, N_SLOTS),
        gates=replace(STRICT, min_trades=50, max_drawdown_ratio=None, max_sharpe=None),
    )
    found = gates(result)["disguise"]
    assert found.passed is False
    assert found.reason.startswith("0.00 with other price levels")
    assert "depend on differences of prices within a fifth of the volatility" in found.reason


@T2
def test_a_rule_about_returns_keeps_its_ratio_in_disguise_and_is_listed_with_its_limits(tmp_path: Path) -> None:
    market = trending(0, 600, 3)
    loose = replace(STRICT, min_sharpe=0.5, min_trades=20, min_profit_factor=None, min_efficiency=None)
    result = run(tmp_path, market, RULE, gates=replace(loose, max_drawdown_ratio=None, max_sharpe=None))
    found = gates(result)
    assert (found["disguise"].value if found["disguise"].value is not None else 9.0) < 0.05
    (listed,) = result.shortlist
    workspace = Workspace(tmp_path / "out")
    write_session_files(result, recorded_setup(lambda: market, session_of(workspace.journal)), workspace.folder)
    (path,) = (workspace.folder / "candidates").iterdir()
    candidate = json.loads(path.read_text())
    assert candidate["cautions"] == list(listed.cautions)
    caution = next(text for text in listed.cautions if "which could store a Sharpe ratio of up to" in text)
    assert f"its ratio of {listed.oos.sharpe:.2f} is not clearly above that" in caution
    for name in ("shortlist.json", "report.html"):
        assert caution in (workspace.folder / name).read_text()
    assert candidate["evidence"]["information"]["literal_bits"] < 100
    assert any("could store a Sharpe ratio of" in text for text in candidate["cannot_see"])
    summary = json.loads((workspace.folder / "shortlist.json").read_text())
    assert any("what a language model remembers" in text for text in summary["cannot_see"])
    again = replay(lambda: market, Workspace(tmp_path / "out"))
    assert again.trials[0].gates == result.trials[0].gates


@pytest.mark.parametrize("name", ["trend", "momentum", "mean-reversion", "risk-parity"][: count(4, 2)])
def test_honest_strategies_lose_little_in_disguise(name: str) -> None:
    market = trending(1, 1500, 4)
    setup = validation_setup(market, market.n_bars, Split(n_folds=3, holdout_bars=0), (CostModel(), Limits()))
    kind = LIBRARY[name]
    validation = validate(setup, kind(), kind.defaults())
    found = disguise_probe(setup, validation, lambda params: kind(**params), 0)
    assert found.levels < 1e-9
    assert found.noise * (validation.oos.sharpe or 0.0) < 0.15


def test_a_disguise_hides_levels_and_digits_and_keeps_the_moves() -> None:
    market = oo.data.load("ecb-fx").head(400)
    levels = disguised(market, np.random.default_rng(1), 0.0)
    ratio = levels.close / market.close
    assert np.ptp(ratio / ratio[0], axis=0).max() < 1e-12
    assert 1.5 < np.exp(np.abs(np.log(ratio[0]))).max() <= 16.0
    noisy = disguised(market, np.random.default_rng(1))
    assert not np.any(noisy.close == levels.close)
    moves = [np.diff(np.log(each.close), axis=0).ravel() for each in (market, noisy)]
    assert 0.93 < np.corrcoef(*moves)[0, 1] < 0.99
    same = disguised(market, np.random.default_rng(1))
    assert np.array_equal(noisy.close, same.close), "a seed decides the disguise"


@T2
def test_the_command_flags_an_implausible_ratio_and_can_accept_it(tmp_path: Path) -> None:
    rows = zip(SMALL.dates, SMALL.close[:, 0].tolist(), strict=True)
    path = tmp_path / "market.csv"
    path.write_text("date,A\n" + "\n".join(f"{date},{price!r}" for date, price in rows) + "\n")
    proposals = tmp_path / "proposals.json"
    proposals.write_text(json.dumps([{"kind": "code", "source": integer_table(SMALL, N_SLOTS), "rationale": WHY}]))
    thresholds = tmp_path / "gates.json"
    off = {"min_trades": 50, "max_drawdown_ratio": None, "max_disguise_loss": None, "max_constants_loss": None}
    thresholds.write_text(json.dumps({"preset": "strict", **off}))
    words = ["run", "--data", str(path), "--provider", f"fixed:{proposals}", "--gates", str(thresholds), "--no-ledger"]
    words += ["--allow-code-gen", "--folds", "2", "--holdout-bars", "40"]
    shown = []
    for more in ([], ["--accept-implausible"]):
        done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / f"out{len(more)}"), *more])
        assert done.exit_code == 0, done.output
        shown.append(" ".join(done.output.split()))
    assert "plausibility: the stitched out-of-sample Sharpe ratio a year must be <= 4" in shown[0]
    assert "short list: 0 of 1 trial," in shown[0]
    assert "`--accept-implausible` disables this gate" in shown[0]
    assert "short list: 1 of 1 trial " in shown[1]
    assert shown[1].count("calls for a second look") == 2, "in its round and in the list"
    assert shown[1].count("caution: its constants hold") == 1, "in the list"
    assert " 1 trials" not in shown[0] + shown[1]
