"""The power of the holdout test, in closed form and by simulation, and where a session states it (A12)."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from research_markets import noise, trending

import openoutcry as oo
from openoutcry.cli.research import RUN_EXAMPLES
from openoutcry.cli.research_output import ProgressPrinter, holdout_lines
from openoutcry.ledger import FAMILY_LIMITS, Ledger
from openoutcry.openoutcry_py import normal_cdf
from openoutcry.records.chained_log import ChainedLog
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.holdout_power import WANTED, HoldoutPower, holdout_power, pass_probability
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.sealed_holdout import DRAWDOWN_RATIO, LEAST_PSR
from openoutcry.research.selection_luck import autocorrelation_factor
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_files import write_session_files
from openoutcry.research.session_manager import Workspace, recorded_setup, replay, research
from openoutcry.research.session_records import session_of
from openoutcry.research.session_start import power_of
from openoutcry.research.trial import Result
from openoutcry.research.trial_scores import moments_of
from openoutcry.scoring.skill import z_score

pytestmark = pytest.mark.once

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
N_PATHS = 20_000 if FULL else 1_000
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
CONFIG = ResearchConfig(budgets=Budgets(4, 40, 12), gates=LAX)
MARKET = trending(0, 1500, 3)


def drawdown(returns: np.ndarray) -> float:
    nav = np.cumprod(np.append(1.0, 1.0 + returns))
    return float((1.0 - nav / np.maximum.accumulate(nav)).max())


def simulated(n_bars: int, sharpe: float, n_oos: int) -> tuple[float, float]:
    """Return how often the test passes without and with its drawdown limit, on simulated returns."""
    draws = np.random.default_rng((n_bars, int(10 * sharpe), n_oos))
    passed = within = 0
    for _ in range(N_PATHS):
        held, before = (0.01 * draws.standard_normal(n) + 0.01 * sharpe / 252**0.5 for n in (n_bars - 1, n_oos))
        moments = moments_of(held)
        assert moments is not None
        is_good = normal_cdf(z_score(moments) / autocorrelation_factor(held)) >= LEAST_PSR and moments.sharpe > 0.0
        passed += is_good
        within += is_good and drawdown(held) <= DRAWDOWN_RATIO * drawdown(before)
    return passed / N_PATHS, within / N_PATHS


@pytest.mark.parametrize(("n_bars", "sharpe"), [(60, 0.0), (60, 1.2), (252, 1.2), (499, 1.2), (60, 3.0)])
def test_the_closed_form_matches_the_simulated_test(n_bars: int, sharpe: float) -> None:
    """Within three standard errors and one percentage point, which the correction for autocorrelation costs."""
    passed, within = simulated(n_bars, sharpe, 4 * n_bars)
    print(f"{n_bars} bars, ratio {sharpe}: passed {passed:.3f}, with the drawdown limit {within:.3f}")
    closed = pass_probability(n_bars - 1, sharpe, 252.0)
    assert passed == pytest.approx(closed, abs=0.015 + 3.0 * (closed * (1.0 - closed) / N_PATHS) ** 0.5)
    assert within <= passed, "the drawdown limit lowers the probability"


def test_sixty_bars_pass_luck_in_a_fifth_and_a_ratio_of_12_in_two_fifths() -> None:
    found = holdout_power(60, 252.0)
    assert (round(found.luck, 2), round(found.power, 2), found.advised_bars) == (0.2, 0.39, 499)
    assert found.is_short
    assert found.sentence == (
        "Over 60 bars, a true Sharpe ratio of 1.2 passes with a probability of 39%, and luck with 20%, before the"
        " drawdown limit."
    )
    assert found.notice == "The holdout is short: a probability of 80% needs 499 bars, `--holdout-bars 499`."
    assert HoldoutPower.of_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("periods", [12.0, 52.0, 252.0, 8760.0])
@pytest.mark.parametrize("sharpe", [0.5, 1.2, 3.0])
def test_the_advised_length_is_the_shortest_with_the_wanted_power(periods: float, sharpe: float) -> None:
    found = holdout_power(60, periods, sharpe=sharpe)
    assert pass_probability(found.advised_bars - 1, sharpe, periods) >= WANTED
    is_least = pass_probability(found.advised_bars - 2, sharpe, periods) < WANTED
    assert is_least or found.advised_bars == 30, "a holdout has at least 30 bars"
    assert not holdout_power(found.advised_bars, periods, sharpe=sharpe).is_short
    assert holdout_power(found.advised_bars, periods, sharpe=sharpe).notice == ""
    assert found.luck == pytest.approx(0.2, abs=0.005)


def test_a_market_that_is_too_short_for_the_advised_length_is_named() -> None:
    assert holdout_power(60, 252.0, market_bars=998).fits
    found = holdout_power(60, 252.0, market_bars=997)
    assert not found.fits
    assert found.notice == "The holdout is short: a probability of 80% needs 499 bars, more than half of this market."


def test_the_ratio_to_detect_is_that_of_the_gate() -> None:
    two = power_of(ResearchConfig(gates=Thresholds(min_sharpe=2.0)), 252.0)
    none = power_of(CONFIG, 252.0)
    assert two is not None and none is not None  # noqa: PT018
    assert (two.sharpe, none.sharpe) == (2.0, 1.2)
    assert power_of(ResearchConfig(split=Split(holdout_bars=0)), 252.0) is None
    assert none.passes(None) is None
    assert none.passes(0.0) == none.luck
    for wrong in ({"n_bars": 2}, {"n_bars": 60.5}, {"n_bars": 60, "sharpe": 0.0}, {"n_bars": 60, "sharpe": np.nan}):
        with pytest.raises(oo.OpenOutcryError):
            holdout_power(**{"periods_per_year": 252.0, **wrong})


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("power")
    workspace = Workspace(folder, Ledger(folder / "ledger"))
    result = research(lambda: MARKET, RandomProposer(), CONFIG, workspace)
    write_session_files(result, recorded_setup(lambda: MARKET, session_of(workspace.journal)), folder)
    return folder, result


def test_a_session_declares_the_power_before_its_first_trial(session: tuple[Path, Result]) -> None:
    folder, result = session
    start = session_of(Workspace(folder).journal).start
    assert start["holdout_power"] == result.holdout_power.to_json()  # type: ignore[union-attr]
    assert MARKET.periods_per_year is not None
    assert start["holdout_power"] == holdout_power(60, MARKET.periods_per_year, market_bars=1500).to_json()


def test_every_result_states_the_power(session: tuple[Path, Result], capsys: pytest.CaptureFixture[str]) -> None:
    folder, result = session
    power = result.holdout_power
    assert power is not None
    found = json.loads((folder / "shortlist.json").read_text())
    assert found["holdout"]["power"] == power.to_json()
    listed = result.shortlist[0]
    held = json.loads((folder / found["candidates"][0]).read_text())["evidence"]["holdout_power"]
    assert held["at_oos"] == power.passes(listed.oos.sharpe)
    assert 0.0 < held["at_in_sample"] < 1.0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert power.sentence in page
    assert power.notice in page
    assert f"holdout test: {power.sentence}" in holdout_lines(result)
    ProgressPrinter()("session_start", result.start)
    shown = capsys.readouterr().out
    assert power.sentence in shown
    assert power.notice in shown


def test_an_opened_holdout_is_required_for_the_lines_about_it(tmp_path: Path) -> None:
    strict = replace(CONFIG, gates=Thresholds(min_sharpe=99.0))
    result = research(lambda: noise(1), RandomProposer(), strict, Workspace(tmp_path, Ledger(tmp_path / "ledger")))
    assert holdout_lines(result) == []
    assert result.holdout_power is not None, "the power is declared before anything is known"
    without = replace(CONFIG, split=Split(holdout_bars=0))
    result = research(lambda: noise(1), RandomProposer(), without, Workspace(tmp_path / "none"))
    assert result.start["holdout_power"] is None
    assert result.holdout_power is None


def test_a_journal_of_an_earlier_version_is_replayed(session: tuple[Path, Result], tmp_path: Path) -> None:
    """A18: it declares no power."""
    workspace, older = Workspace(session[0]), Workspace(tmp_path)
    shutil.copytree(workspace.blobs, older.blobs)
    recorded = session_of(workspace.journal)
    with ChainedLog(older.journal, session=recorded.session_id) as log:
        for event in recorded.events:
            log.append(
                event["event"], {name: each for name, each in event["payload"].items() if name != "holdout_power"}
            )
    result = replay(lambda: MARKET, older)
    assert "holdout_power" not in result.start
    assert result.holdout_power is None
    assert [each.key for each in result.shortlist] == [each.key for each in session[1].shortlist]
    assert holdout_lines(result) == [f"holdout: {FAMILY_LIMITS}"]


def test_the_help_text_states_the_probabilities() -> None:
    for n_bars in (60, 252, 499):
        assert f"{pass_probability(n_bars - 1, 1.2, 252.0):.0%}".replace("%", " %") in RUN_EXAMPLES
        assert f"{n_bars}" in RUN_EXAMPLES


def test_the_table_of_the_documentation_is_computed() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "research.md").read_text(encoding="utf-8")
    for n_bars in (60, 120, 252, 499):
        shown = [f"{100.0 * pass_probability(n_bars - 1, sharpe, 252.0):.0f} %" for sharpe in (0.0, 0.5, 1.2, 2.0)]
        assert re.search(rf"\| {n_bars}(, the default)? \| {re.escape(' | '.join(shown))} \|", page), n_bars


def test_the_drawdown_limit_lowers_a_holdout_as_long_as_all_tests_by_ten_points() -> None:
    passed, within = simulated(499, 1.2, 499)
    assert 0.06 < passed - within < 0.14
