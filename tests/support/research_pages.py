"""Pages of comparisons and research sessions for tests, from invented records."""

from __future__ import annotations

from typing import Any

import numpy as np
from report_pages import PROVENANCE

from openoutcry.report.charts.equity_charts import Line
from openoutcry.report.comparison import comparison_page
from openoutcry.report.pages.research_page import render_research
from openoutcry.report.views.research_view import GateMark, ListedRow, ResearchView, RoundRow
from openoutcry.report.views.search_view import (
    FoldRow,
    HoldoutSpan,
    MapPoint,
    ParameterMap,
    SearchView,
    TrialPoint,
)
from openoutcry.scoring.return_tracks import Track
from openoutcry.scoring.track_comparison import Comparison, compare_tracks

OUTCOMES = ("advanced", "kept", "discarded", "rejected", "crashed")


def make_comparison(names: tuple[str, ...] = ("momentum", "buy-and-hold", "hold-cash"), n: int = 500) -> Comparison:
    days = [str(np.datetime64("2015-01-01") + day) for day in range(n)]
    tracks = []
    for place, name in enumerate(names):
        scale = 0.0 if name == "hold-cash" else 0.01
        returns = scale * np.random.default_rng(place).normal(0.05, 1.0, n)
        conditions = {"market": f"{name} market", "costs": "fee_bps 1"}
        cut = slice(None, n - 20 * place)
        tracks.append(Track(name, days[cut], returns[cut], None, "2014-12-31", 365.0, conditions, f"record {name}"))
    return compare_tracks(tracks, n_draws=200)


def make_compared_page(names: tuple[str, ...] = ("momentum", "buy-and-hold", "hold-cash")) -> str:
    return comparison_page(make_comparison(names), f"openoutcry report compare {' '.join(names)}")


def make_search(text: str = "trend", n: int = 12) -> SearchView:
    def point(i: int, role: str) -> MapPoint:
        sharpe = None if i == 4 else 0.1 * i - 0.4
        return MapPoint(i + 1, 10.0 + 7 * i, "long" if i % 2 else text, sharpe, f"window {10 + 7 * i}, {text}", role)

    roles = ["", "neighbour", "neighbour", "chosen"]
    points = [point(i, roles[i % 4] if i < 4 else "") for i in range(n)]
    alone = [MapPoint(p.number, p.x, None, p.sharpe, p.params, p.role) for p in points]
    maps = [
        ParameterMap(text, "window", "side", points, ["width"], "place 1 of the short list"),
        ParameterMap(text, "window", "width", points, [], "place 1 of the short list"),
        ParameterMap("other", text, "", alone, [], "the best of its strategy, not in the list"),
    ]
    history = [TrialPoint(i + 1, text, OUTCOMES[i % 5], None if i % 5 > 2 else 0.1 * i) for i in range(n)]
    folds = [
        FoldRow(
            ("2000-01-03", f"{2002 + i}-01-03"), (f"{2002 + i}-01-08", f"{2003 + i}-01-03"), 5, 250, [0.2 - i, None]
        )
        for i in range(4)
    ]
    held = HoldoutSpan("2006-02-01", "2006-05-01", "1 of 2 passed")
    return SearchView(maps, [f"{text}: why"], history, "Used: 12 of 20 trials.", folds, [text, f"{text} 2"], held)


def make_research(text: str = "trend", **changes: Any) -> str:
    """Return the page of an invented session; `text` is everything that an agent or a user wrote."""
    dates = [str(np.datetime64("2002-01-08") + day) for day in range(300)]
    nav = np.concatenate([[1.0], np.cumprod(1.0 + np.random.default_rng(0).normal(0.0, 0.01, 299))])
    names = ("sharpe", "profit_factor", "efficiency", "drawdown_ratio", "trades", "dsr", "dsr_alpha", "perturbation")
    gates = [GateMark(name, 0.4 + i, ">= 1.2", i > 2, "") for i, name in enumerate(names)]
    rounds = [
        RoundRow(i + 1, text, f"window {i}, side {text}", text, OUTCOMES[i % 5], [text], 0.1, 0.2, 0.4, gates, text)
        for i in range(12)
    ]
    listed = [
        ListedRow(
            text, f"window {i}", 1.2, 0.1, 0.961, 0.99, None, "passed, Sharpe ratio 0.8 over 59 bars", True, [text]
        )
        for i in range(2)
    ]
    fields: dict[str, Any] = {
        "goal": text,
        "market": text,
        "session_id": "00ff",
        "stopped": "Stopped: the trial budget is used up.",
        "n_trials": 22,
        "n_session": 12,
        "n_eff": 4,
        "pbo": 0.4,
        "spa": None,
        "tokens": 0,
        "shortlist": listed,
        "dropped": [f"{text}: it did not improve on the incumbent"],
        "rounds": rounds,
        "lines": [Line("buy-and-hold", dates, nav[::-1] / nav[-1], "benchmark"), Line(text, dates, nav, "series", 0)],
        "caption": "The short list against buy-and-hold.",
        "holdout": "The holdout was opened once.",
        "prior": text,
        "notices": [text],
        "provenance": PROVENANCE,
        "search": make_search(text),
    }
    return render_research(ResearchView(**{**fields, **changes}))
