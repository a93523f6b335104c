"""A board counts days by time and returns by number, and asks for the bars per year that dates do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import Array

import openoutcry as oo
from openoutcry.scoring import scorer, skill

QUICK = {"draws": {"replicates": 199}}
MONTHS = [f"{2000 + month // 12}-{1 + month % 12:02}-28" for month in range(260)]


def minutes(n_days: int, n_bars: int) -> list[str]:
    start = np.datetime64("2024-01-02T14:30:00")
    return [
        str(start + np.timedelta64(day, "D") + np.timedelta64(bar, "m"))
        for day in range(n_days)
        for bar in range(n_bars)
    ]


def noise(seed: int, n_returns: int, mean: float = 0.0) -> Array:
    return mean + 0.01 * np.random.default_rng(seed).standard_normal(n_returns)


def board_of(n_returns: int, n_windows: int = 2, **more: Any) -> scorer.Board:
    agents = {"a": noise(1, n_returns, 3e-3), "b": noise(2, n_returns, 3e-3)}
    windows = [n_returns // n_windows] * n_windows
    return oo.score(agents, windows=windows, benchmark=noise(3, n_returns), config=QUICK, **more)


def gates(board: scorer.Board) -> dict[str, tuple[float | None, bool | None]]:
    return {gate.slug: (gate.value, gate.passed) for gate in board["a"].gates if gate.slug in {"days", "returns"}}


def test_a_monthly_return_is_21_days() -> None:
    board = board_of(260, dates=MONTHS)
    assert board["a"].periods_per_year == 12.0
    assert (board["a"].n_days, board["a"].n_returns) == (260 * 21, 260)
    assert [(window["n_days"], window["n_returns"]) for window in board["a"].windows] == [(130 * 21, 130)] * 2
    assert gates(board) == {"days": (5_460.0, True), "returns": (260.0, True)}


def test_a_long_time_with_few_returns_is_insufficient() -> None:
    board = board_of(100, dates=MONTHS[:100])
    assert gates(board) == {"days": (2_100.0, True), "returns": (100.0, False)}
    assert board["a"].verdict == "insufficient"


def test_a_date_of_several_windows_is_one_day() -> None:
    board = board_of(1_170, n_windows=65, dates=minutes(3, 390))
    assert (board["a"].n_days, board["a"].n_returns) == (3, 1_170)
    assert gates(board)["days"] == (3.0, False)


@pytest.mark.parametrize("stated", [{}, {"periods_per_year": 98_280}])
def test_minute_returns_are_counted_by_their_dates(stated: dict[str, float]) -> None:
    board = board_of(780, dates=minutes(2, 390), **stated)
    assert board["a"].periods_per_year == 252 * 390
    assert (board["a"].n_days, board["a"].n_returns) == (2, 780)
    assert gates(board) == {"days": (2.0, False), "returns": (780.0, True)}
    assert board["a"].verdict == "insufficient"


@pytest.mark.parametrize(
    ("year", "n_days"), [(252, 600), (200, 600), (366, 600), (52, 2_907), (98_280, 1), (1_764, 85)]
)
def test_returns_without_dates_are_counted_by_the_stated_year(year: float, n_days: int) -> None:
    # floor(600 returns * 252 / year), in one window.
    found = board_of(600, 1, periods_per_year=year)["a"]
    assert (found.n_days, found.n_returns) == (n_days, 600)


def test_the_time_to_separate_two_agents_is_in_days() -> None:
    monthly, daily = board_of(260, dates=MONTHS), board_of(260, periods_per_year=252)
    assert daily.separation is not None
    assert monthly.separation is not None
    apart = monthly.separation["difference"] / monthly.separation["standard_error"]
    assert apart == pytest.approx(daily.separation["difference"] / daily.separation["standard_error"], rel=1e-9)
    assert monthly.separation["n_days"] == 5_460
    assert monthly.separation["n_needed"] == 21 * daily.separation["n_needed"]
    needed = monthly.separation["n_needed"]
    assert f"on 5,460 days: separating them takes about {needed:,.0f} days" in monthly.sentence


@pytest.mark.parametrize("dates", [[], minutes(1, 500)])
def test_bars_per_year_that_dates_do_not_show_must_be_stated(dates: list[str]) -> None:
    returns = {"a": noise(1, 500)}
    received = "500 dates from 2024-01-02T14:30:00 to 2024-01-02T22:49:00" if dates else "returns without dates"
    with pytest.raises(oo.OpenOutcryError, match=f"`periods_per_year` is required .* received {received}; hint:") as no:
        oo.score(returns, dates=dates)
    assert no.value.slug == "value_invalid"
    with pytest.raises(oo.OpenOutcryError, match="`periods_per_year` is required"):
        scorer.submit_returns("a", returns["a"], dates=dates)
    assert oo.score(returns, dates=dates, periods_per_year=98_280, config=QUICK)["a"].periods_per_year == 98_280.0


@pytest.mark.parametrize("function", [skill.sharpe_errors, skill.rolling_sharpe, skill.tracking, skill.decay])
def test_functions_of_skill_have_no_default_for_the_bars_per_year(function: Any) -> None:
    with pytest.raises(TypeError, match="periods_per_year"):
        function(*[noise(1, 300)] * (1 if function in {skill.sharpe_errors, skill.rolling_sharpe} else 2))


@pytest.mark.parametrize(("year", "rate"), [(252, 0.04), (12, 0.0101), (12, -0.02), (4, 0.05), (2, 0.06), (1, 0.26)])
def test_cash_with_the_rate_of_a_year_is_refused(year: float, rate: float) -> None:
    most = {1: 0.25, 2: 0.05, 4: 0.025}.get(year, 0.01)
    wanted = (
        f"`cash` must be returns of one bar, between -{most} and {most}; received {rate:g}; hint: divide annual rates"
    )
    with pytest.raises(oo.OpenOutcryError, match=wanted) as refused:
        board_of(600, periods_per_year=year, cash=np.full(600, rate))
    assert refused.value.slug == "value_invalid"


@pytest.mark.parametrize(("year", "rate"), [(1, 0.2), (2, 0.05), (4, 0.025), (252, 1.6e-4), (12, 0.01)])
def test_cash_of_one_bar_is_accepted(year: float, rate: float) -> None:
    assert board_of(600, periods_per_year=year, cash=np.full(600, rate))["a"].n_returns == 600
