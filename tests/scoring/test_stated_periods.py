"""A stated number of bars per year that contradicts the dates of returns is a caveat of the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.report.score_report import write_score_report
from openoutcry.scoring import skill
from openoutcry.scoring.scorer import submit_returns
from openoutcry.scoring.verdict import Board

QUICK = {"draws": {"replicates": 99}}
MONTHS = pd.date_range("2005-01-31", periods=240, freq="ME")
RETURNS = pd.Series(np.random.default_rng(3).normal(0.008, 0.04, 240), MONTHS)
CAVEAT = "`periods_per_year` 252 was stated; the dates imply 12"


def score(periods_per_year: float | None, **more: Any) -> Board:
    return oo.score({"a": RETURNS}, windows=[120, 120], periods_per_year=periods_per_year, config=QUICK, **more)


@pytest.mark.parametrize(("stated", "caveats"), [(252, (CAVEAT,)), (12, ()), (17.9, ()), (None, ())])
def test_a_board_has_the_caveat_of_its_returns(stated: float | None, caveats: tuple[str, ...]) -> None:
    assert score(stated).caveats == caveats
    assert score(18.1).caveats == ("`periods_per_year` 18.1 was stated; the dates imply 12",)


def test_returns_without_dates_have_no_caveat() -> None:
    bare = RETURNS.to_numpy()
    assert oo.score(bare, periods_per_year=252, config=QUICK).caveats == ()
    assert (
        skill.sharpe_errors(bare, 252).caveats == skill.sharpe_errors(RETURNS.reset_index(drop=True), 252).caveats == ()
    )


def test_a_board_has_the_caveat_of_its_market() -> None:
    days, steps = [f"{day:%Y-%m-%d}" for day in MONTHS], np.random.default_rng(0).normal(0, 0.02, (240, 1))
    market = oo.Dataset.from_arrays(days, ["A"], 100 * np.exp(steps.cumsum(0)), periods_per_year=252, name="months")
    record = oo.run_backtest(market, "momentum", capture=True).record
    board = oo.score(oo.RunRecord.join("momentum", [record]), dataset=market, config=QUICK)
    assert board.caveats == (f"months: {CAVEAT}",)


def test_a_submission_of_returns_warns() -> None:
    with pytest.warns(UserWarning, match=f"^a: {CAVEAT}$"):
        submit_returns("a", RETURNS, periods_per_year=252)
    submit_returns("a", RETURNS, periods_per_year=12)


@pytest.mark.parametrize(
    "call",
    [
        lambda year: skill.sharpe_errors(RETURNS, year),
        lambda year: skill.rolling_sharpe(RETURNS, 24, year),
        lambda year: skill.tracking(RETURNS, RETURNS[::-1].set_axis(MONTHS), year),
        lambda year: skill.decay(RETURNS[:120], RETURNS[120:], year),
    ],
    ids=["sharpe_errors", "rolling_sharpe", "tracking", "decay"],
)
def test_a_statistic_of_dated_returns_has_the_caveat(call: Any) -> None:
    assert (call(252).caveats, call(12).caveats) == ((CAVEAT,), ())


def test_the_command_and_the_page_show_the_caveat(tmp_path: Path) -> None:
    path = tmp_path / "returns.csv"
    RETURNS.rename_axis("date").rename("a").to_csv(path)
    words = ["score", str(path), "--windows", "2", "--periods-per-year"]
    shown = CliRunner().invoke(app, [*words, "252"])
    assert (shown.exit_code, CAVEAT in shown.output) == (0, True), shown.output
    assert json.loads(CliRunner().invoke(app, [*words, "252", "--json"]).stdout)["caveats"] == [CAVEAT]
    assert json.loads(CliRunner().invoke(app, [*words, "12", "--json"]).stdout)["caveats"] == []
    page = Path(write_score_report(score(252), tmp_path / "board.html"))
    assert "was stated; the dates imply 12" in page.read_text(encoding="utf-8")


def test_undated_returns_without_bars_per_year_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "returns.csv"
    path.write_text("\n".join(["a", *map(str, RETURNS.tolist()), ""]), encoding="utf-8")
    done = CliRunner().invoke(app, ["score", str(path)])
    assert done.exit_code != 0
    assert "received returns without dates; hint: periods_per_year=252 for daily returns" in str(done.exception)
    assert "`--periods-per-year 252`" in str(done.exception)
    assert CliRunner().invoke(app, ["score", str(path), "--periods-per-year", "12"]).exit_code == 0
