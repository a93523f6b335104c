"""The days of an opened holdout are recognized in files that hold nothing else of the researched market."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from research_markets import noise, trending

import openoutcry as oo
from openoutcry.backtest.strategies import from_json
from openoutcry.ledger import Ledger, Market, run_of
from openoutcry.ledger.holdout_exposure import Opening
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.trial import Result

pytestmark = pytest.mark.once

HELD = 240
MARKET = trending(0, 1200, 3)
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
CONFIG = ResearchConfig(split=Split(n_folds=2, holdout_bars=HELD), budgets=Budgets(1, 40, 12), gates=LAX)
HOLDOUT = (MARKET.dates[-HELD], MARKET.dates[-1])


def searched(folder: Path, market: oo.Dataset, ledger: Path, config: ResearchConfig = CONFIG) -> Result:
    with Ledger(ledger) as opened:
        return research(lambda: market, RandomProposer(), config, Workspace(folder, opened))


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Return a session that opened its holdout, and the folder of its ledger."""
    folder = tmp_path_factory.mktemp("spent")
    found = searched(folder / "out", MARKET, folder / "ledger")
    assert found.holdout_reuse == 0
    return found, folder / "ledger"


def readings(folder: Path, market: oo.Dataset) -> list[Opening]:
    with Ledger(folder) as ledger:
        return ledger.openings(Market.of(market), (market.dates[0], market.dates[-1]))


def spliced(n_bars: int, factor: float) -> oo.Dataset:
    """Return other bars, and then the last bars of the market with leverage."""
    last = MARKET.close[-n_bars:]
    others = noise(5, 2500, 3).close
    returns = np.vstack([np.diff(each, axis=0) / each[:-1] * by for each, by in ((others, 1.0), (last, factor))])
    close = 50.0 * np.cumprod(1.0 + returns, axis=0)
    end = np.datetime64(MARKET.dates[-1])
    dates = [str(end - np.timedelta64(len(close) - 1 - bar, "D")) for bar in range(len(close))]
    return oo.Dataset.from_arrays(dates, ["x", "y", "z"], close, name="splice")


@pytest.mark.parametrize("n_bars", [HELD, 60])
def test_a_file_of_the_last_days_alone_reads_the_holdout(spent: tuple[Result, Path], n_bars: int) -> None:
    first, folder = spent
    tail = MARKET.between(MARKET.n_bars - n_bars, MARKET.n_bars)
    assert [(each.first, each.last) for each in readings(folder, tail)] == [HOLDOUT]
    with Ledger(folder) as ledger:
        assert ledger.count(Market.of(tail)).n == first.n_session
        ledger.rebuild()
        assert ledger.openings(Market.of(tail), (tail.dates[0], tail.dates[-1])), "the log has it"


@pytest.mark.parametrize(("n_bars", "factor"), [(HELD, 1.0), (150, 1.0), (200, 1.5)])
def test_a_splice_with_the_last_days_reads_the_holdout(spent: tuple[Result, Path], n_bars: int, factor: float) -> None:
    assert readings(spent[1], spliced(n_bars, factor))


def test_other_days_of_the_researched_market_and_other_markets_do_not(spent: tuple[Result, Path]) -> None:
    assert not readings(spent[1], MARKET.between(300, 700))
    assert not readings(spent[1], noise(9, 800, 3))
    assert not readings(spent[1], noise(9, HELD, 3))


def test_a_run_of_a_researched_strategy_on_the_last_days_is_not_ranked(tmp_path: Path) -> None:
    found = searched(tmp_path / "out", MARKET, tmp_path / "ledger")
    strategy = found.shortlist[0].trial.candidate.identity
    tail = MARKET.between(MARKET.n_bars - HELD, MARKET.n_bars)
    with Ledger(tmp_path / "ledger") as ledger:
        known = from_json(strategy)
        (run_id,) = ledger.add([run_of(oo.run_backtest(tail, known), known)])
        assert ledger.show(run_id).holdout_touched


def test_a_second_session_on_the_last_days_says_that_they_are_spent(spent: tuple[Result, Path], tmp_path: Path) -> None:
    tail = MARKET.between(MARKET.n_bars - HELD, MARKET.n_bars)
    config = CONFIG.with_(split=Split(n_folds=1, holdout_bars=50), seed=1)
    later = searched(tmp_path / "out", tail, spent[1], config)
    assert later.prior_trials.holdout_spent == 1
    assert "an unopened holdout is required" in later.holdout_note


def test_a_session_on_other_bars_before_the_last_days_says_that_they_are_spent(
    spent: tuple[Result, Path], tmp_path: Path
) -> None:
    later = searched(tmp_path / "out", spliced(HELD, 1.0), spent[1], CONFIG.with_(seed=1))
    assert later.prior_trials.n_trials == 0, "its research window is new"
    assert later.prior_trials.holdout_spent == 1
    assert "an unopened holdout is required" in later.holdout_note


def test_a_ledger_has_no_hash_of_a_holdout_before_its_opening(tmp_path: Path) -> None:
    strict = CONFIG.with_(gates=Thresholds(min_sharpe=50.0))
    found = searched(tmp_path / "out", MARKET, tmp_path / "ledger", strict)
    assert found.shortlist == ()
    tail = Market.of(MARKET.between(MARKET.n_bars - HELD, MARKET.n_bars))
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.count(Market.of(MARKET)).n == found.n_session
        assert ledger.count(tail).n == 0
        rows = ledger.connection().execute("SELECT anchor FROM anchors").fetchall()
        paths = ledger.connection().execute("SELECT shape FROM shapes").fetchall()
    assert rows
    assert not {each for (each,) in rows} & set(tail.hashes())
    assert not {each for (each,) in paths} & {shape for line in tail.lines for shape in line}
