"""Summaries of research trials: the 17 fields of a run by hand, with the same units and reasons."""

from __future__ import annotations

import base64
import csv
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from ledger_runs import id_of, ledger_at, ledger_run
from research_markets import noise, trending

import openoutcry as oo
from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.strategies.library import LIBRARY
from openoutcry.ledger import Ledger, LedgerRun, RunMetricsSummary, run_of
from openoutcry.ledger.run_summary import AMOUNTS, FIELDS, NOT_RECORDED, SHARE_OF_NAV
from openoutcry.research import walkforward_validation
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.ledger_trials import TrialMetadata, entry_of
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.session_config import ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.walkforward_folds import closed_out
from openoutcry.research.walkforward_validation import ValidationSetup, table_of, validate, validation_setup

RULES = oo.CostModel(capital=250_000.0), oo.Limits()
METADATA = TrialMetadata("s", "0" * 64, {"strategy": "s"})


def setup_of(market: oo.Dataset, n_folds: int) -> ValidationSetup:
    return validation_setup(market, market.n_bars, Split(n_folds=n_folds, holdout_bars=0), RULES)


def trial_of(setup: ValidationSetup, strategy: Strategy) -> LedgerRun:
    return entry_of(METADATA, setup, validate(setup, strategy, {}))


def last(market: oo.Dataset, n: int) -> oo.Dataset:
    return market.between(market.n_bars - n, market.n_bars)


def quiet() -> oo.Dataset:
    """Return a market on which a trend strategy never trades."""
    dates = [str(date) for date in np.datetime64("2000-01-03") + np.arange(600)]
    return oo.Dataset.from_arrays(dates, ["A"], np.full((600, 1), 7.0), periods_per_year=252.0)


MARKETS = {
    "currencies": (lambda: last(oo.data.load("ecb-fx", ["USD", "JPY"]), 1500), "trend"),
    "bonds over a moving rate": (lambda: last(oo.data.load("us-treasury"), 1500), "momentum"),
    "noise": (lambda: noise(3, 700, 2), "mean-reversion"),
    "no trade": (quiet, "trend"),
}


@pytest.mark.parametrize("name", MARKETS)
def test_a_trial_with_one_fold_has_the_summary_of_the_same_run_by_hand(tmp_path: Path, name: str) -> None:
    load, strategy = MARKETS[name]
    setup = setup_of(load(), 1)
    made = LIBRARY[strategy]()
    (fold,) = setup.folds
    run = oo.run_backtest(setup.dataset, closed_out(table_of(setup, made), fold.test), fold.test, *RULES)
    with ledger_at(tmp_path) as ledger:
        entry, by_hand = trial_of(setup, made), run_of(run, strategy)
        ledger.add([entry, by_hand])
        shown = [ledger.show(each.run_id).metrics for each in (entry, by_hand)]
        (one, two), _ = ledger.compare([entry.run_id, by_hand.run_id])
    for trial, alone in ((one, two), shown, (entry.metrics, by_hand.metrics)):
        for field in FIELDS[1:]:
            assert getattr(trial, field) == getattr(alone, field), field
        assert trial.undefined == alone.undefined
        assert set(trial.undefined) == {field for field in FIELDS if getattr(trial, field) is None}
        assert NOT_RECORDED not in trial.undefined.values()
    assert (one.total_positions == 0) == (name == "no trade")


def test_a_trial_with_four_folds_adds_up_their_amounts_and_positions() -> None:
    setup, made = setup_of(noise(3, 1600, 2), 4), LIBRARY["mean-reversion"]()
    entry = trial_of(setup, made)
    table = table_of(setup, made)
    parts = [RunMetricsSummary.of(walkforward_validation.tested_run(setup, table, fold), "id") for fold in setup.folds]
    found = entry.metrics
    assert len(parts) == 4
    assert found.net_pnl == pytest.approx(sum(part.net_pnl for part in parts))
    n = [part.total_positions for part in parts]
    assert found.total_positions == sum(n)
    assert found.avg_hold_duration_secs == pytest.approx(
        np.average([part.avg_hold_duration_secs for part in parts], weights=n)
    )
    assert found.avg_hold_duration_secs > 86_400
    assert (found.max_win, found.max_loss) == (
        max(part.max_win for part in parts),
        min(part.max_loss for part in parts),
    )
    wins = [part.win_rate * part.total_positions for part in parts]
    assert found.win_rate == pytest.approx(sum(wins) / sum(n))
    gains = sum(part.avg_win * n_wins for part, n_wins in zip(parts, wins, strict=True))
    losses = sum(part.avg_loss * (part.total_positions - n_wins) for part, n_wins in zip(parts, wins, strict=True))
    assert found.profit_factor == pytest.approx(-gains / losses)
    assert found.pnl_return == pytest.approx(np.prod([1 + part.pnl_return for part in parts]) - 1)
    oos = validate(setup, made, {}).oos
    assert (found.sharpe_ratio, found.pnl_return) == (oos.sharpe, pytest.approx(oos.return_))
    assert found.max_drawdown == pytest.approx(oos.max_drawdown)
    assert found.undefined == {}


def test_a_trial_in_cash_over_a_moving_rate_has_no_ratio() -> None:
    setup = setup_of(last(oo.data.load("us-treasury"), 1200), 4)

    class Cash(Strategy):
        """Hold cash."""

        PARAM_RANGES: ClassVar[dict[str, Any]] = {}
        lookback = 1

        def weights(self, closes: Any) -> Any:
            return np.zeros(closes.shape[1])

    found = trial_of(setup, Cash()).metrics
    assert found.sharpe_ratio is None
    assert "the risk-free rate" in found.undefined["sharpe_ratio"]
    assert "the risk-free rate" in found.undefined["sortino_ratio"]
    assert (found.total_positions, found.avg_win) == (0, None)
    assert set(found.undefined) == {field for field in FIELDS if getattr(found, field) is None}


def test_every_run_of_a_session_has_17_fields_or_reasons(tmp_path: Path) -> None:
    """Trials, failed trials and the holdout."""
    lax = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
    why = "prices that have risen for weeks go on to rise, since investors react late"
    proposals = [
        {"kind": "tune", "strategy": "trend", "params": {"slow": slow}, "rationale": why} for slow in (70, 100)
    ]
    with Ledger(tmp_path / "ledger") as ledger:
        result = research(
            lambda: trending(1),
            FixedProposer(proposals),
            ResearchConfig(gates=lax),
            Workspace(tmp_path / "out", ledger),
        )
        assert result.seal is not None
        found = ledger.list()
        assert {each.kind for each in found} == {"trial", "holdout"}
        for each in found:
            summary, shown = each.summary, ledger.show(each.summary.id).metrics
            assert (shown, shown.undefined) == (summary, summary.undefined)
            assert NOT_RECORDED not in summary.undefined.values()
            assert abs(summary.net_pnl) > 100.0, "an amount, not a share of NAV"
            assert summary.avg_hold_duration_secs >= 86_400


def test_the_next_session_reads_which_gates_a_trial_failed(tmp_path: Path) -> None:
    why = "prices that have risen for weeks go on to rise, since investors react late"
    proposals = [
        {"kind": "tune", "strategy": "trend", "params": {"slow": slow}, "rationale": why} for slow in (70, 100)
    ]
    with Ledger(tmp_path / "ledger") as ledger:
        config = ResearchConfig(split=Split(holdout_bars=0))
        result = research(lambda: noise(7), FixedProposer(proposals), config, Workspace(tmp_path / "out", ledger))
        worst = min(result.trials, key=lambda trial: trial.oos.sharpe)
        text = ledger.prior_results() or ""
    line = next(line for line in text.splitlines() if line.startswith("2. ") and worst.reasons[0] in line)
    # The parameter in which the trials differ is named first.
    assert f'"trend(slow={worst.candidate.proposal.params["slow"]}, ' in line


OLD_ENGINE = "openoutcry 0.1.0, contract 1"


def test_lines_of_an_earlier_version_state_what_they_lack(tmp_path: Path) -> None:
    """They recorded the amounts of trials as shares of NAV, and no net profit."""
    amounts = {"avg_win": 0.000229, "avg_loss": -0.0002, "max_win": 0.01, "max_loss": -0.01}
    old = ledger_run(1, 0.5, engine_version=OLD_ENGINE, metrics=amounts)
    new = ledger_run(2, 0.5, engine_version=OLD_ENGINE, metrics=amounts | {"net_pnl": 7.0})
    by_hand = ledger_run(3, 0.5, kind="run", engine_version="0.1.0", metrics={"avg_win": 1519.67})
    with ledger_at(tmp_path) as ledger:
        ledger.add([old, new, by_hand])
        for rebuilt in (False, True):
            if rebuilt:
                ledger.rebuild()
            for found in (
                ledger.compare(list(map(id_of, (1, 2, 3))))[0],
                [ledger.show(id_of(n)).metrics for n in (1, 2, 3)],
            ):
                assert [each.avg_win for each in found] == [None, 0.000229, 1519.67]
                assert {found[0].undefined[name] for name in AMOUNTS} == {SHARE_OF_NAV}
                assert found[0].undefined["avg_hold_duration_secs"] == NOT_RECORDED
                assert found[1].undefined["win_rate"] == found[2].undefined["net_pnl"] == NOT_RECORDED
        ledger.export(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        assert [row["avg_win"] for row in csv.DictReader(file)] == ["", "0.000229", "1519.67"]


def test_default_reasons_are_not_written_to_the_log() -> None:
    content = ledger_run(1, None, status="failed").to_json()
    assert "undefined" not in content
    assert LedgerRun.from_json(content, ledger_run(1).market).metrics.undefined["net_pnl"].endswith("a failed one")
    assert base64.b64decode(replace(ledger_run(2), returns=np.zeros(1)).to_json()["returns"]) == bytes(8)
