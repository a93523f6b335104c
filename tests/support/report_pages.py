"""Pages of the report for its tests: invented runs, boards, and a reader of HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np

from openoutcry.report.pages.score_page import render_scores
from openoutcry.report.render import render_board, render_run
from openoutcry.report.views.run_view import BoardRow, BoardSection, BoardWindow, Provenance, RunView
from openoutcry.report.views.score_view import FieldTest, Floor, ScoreGate, ScoreRow, ScoreSide, ScoreView, ScoreWindow

SYMBOLS = ("USD", "JPY", "GBP", "CHF", "SEK", "NOK", "AUD", "CAD", "NZD")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
VOID = {"meta", "input", "br", "img", "link", "wbr", "hr"}
PROVENANCE = Provenance([("openoutcry", "0.1.0"), ("dataset fingerprint", "sha256:00ff"), ("command", "a & b")])


def make_run(name: str, n_bars: int, seed: int, /, **changes: Any) -> RunView:
    rng = np.random.default_rng(seed)
    days = np.datetime64("1999-01-04") + np.arange(n_bars * 7 // 5 + 2)
    dates = [str(day) for day in days[np.is_busday(days)][:n_bars]]
    nav = np.concatenate([[1.0], np.cumprod(1.0 + rng.normal(1e-4, 0.004, n_bars - 1))])
    delayed = np.concatenate([[1.0], np.cumprod(1.0 + rng.normal(0.0, 0.004, n_bars - 1))])
    weights = rng.dirichlet(np.ones(len(SYMBOLS)), n_bars)
    metrics = {"return": nav[-1] - 1.0, "vol": 0.064, "sharpe": 0.07, "sharpe_se": 0.19, "max_drawdown": -0.2}
    fields: dict[str, Any] = {
        "name": name,
        "dataset": "ecb-fx (major)",
        "window": f"{dates[0]} .. {dates[-1]}",
        "periods_per_year": 256.0,
        "dates": dates,
        "nav": nav,
        "delayed_nav": delayed,
        "symbols": SYMBOLS,
        "weights": weights,
        "costs": {"fee": rng.random(n_bars - 1) * 1e-5, "slippage": rng.random(n_bars - 1) * 2e-5},
        "metrics": {**metrics, "turnover": 3.0, "cost": 0.0021, "delayed_sharpe": 0.05, "sortino": None},
        "reasons": {"sortino": "no return is negative"},
    }
    return RunView(**{**fields, **changes})


def make_row(agent: str, sharpe: float | None, error: float | None = 0.1) -> BoardRow:
    return BoardRow(agent, {"sharpe": sharpe, "sharpe_se": error}, {"sharpe": "returns do not vary"})


def make_board(n_agents: int = 3, n_bars: int = 400, **changes: Any) -> str:
    runs = [make_run(f"agent-{i}", n_bars, i, **changes) for i in range(n_agents)]
    half = n_bars // 2
    rows = [
        BoardRow(r.name, r.metrics, r.reasons, [BoardWindow("first", r.nav[:half]), BoardWindow("second", None)])
        for r in runs
    ]
    section = BoardSection("ECB rates", rows, runs, make_run("buy-and-hold", n_bars, 99), ["No carry."], "all bars")
    return render_board("Baselines", [section], ["Few windows."], PROVENANCE)


def make_page(**changes: Any) -> str:
    return render_run(
        make_run("momentum", 700, 1, **changes), make_run("buy-and-hold", 700, 2), ["No carry."], PROVENANCE
    )


def make_gates(n_failed: int, n_unknown: int) -> list[ScoreGate]:
    gates = [ScoreGate("days", True, 2480.0, 250.0), ScoreGate("volatility", True, 0.08, 0.01)]
    failed = [("dsr", 0.12, 0.95), ("romano_wolf", 0.61, 0.05), ("window_wins", 4.0, 9.0)][:n_failed]
    unknown = [("process", 0.01), ("exposure", 2.0)][:n_unknown]
    gates += [ScoreGate(slug, False, value, bound, "it may be luck") for slug, value, bound in failed]
    return gates + [ScoreGate(slug, None, None, bound, "no decisions", "no trace") for slug, bound in unknown]


def make_score(name: str, rank: int | None, n_windows: int = 4, /, **changes: Any) -> ScoreRow:
    rng = np.random.default_rng(len(name) + (rank or 0))
    z = None if rank is None else 2.5 - rank
    why = {"z": "returns do not vary", "dsr": "returns do not vary"}
    numbers = {"sharpe": 0.3 - 0.1 * (rank or 1), "standard_error": 0.15, "dsr": 0.4, "sr0": 0.011, "n_trials": 6.0}
    sides = [
        ScoreSide(each, {**numbers, "min_trl": None}, {"min_trl": "not above"}) for each in ("buy-and-hold", "cash")
    ]
    windows = [
        ScoreWindow(
            market="ecb-fx" if i % 2 else "hard-1",
            first=f"{1999 + i}-01-04",
            last=f"{1999 + i}-12-30",
            n_days=248,
            n_seeds=3,
            n_passed=i % 4,
            z={"buy-and-hold": None if i == 0 else float(rng.normal()), "cash": float(rng.normal())},
            values={"return": 0.03, "vol": 0.08},
            reasons={"buy-and-hold": "returns do not vary"} if i == 0 else {},
        )
        for i in range(n_windows)
    ]
    fields: dict[str, Any] = {
        "name": name,
        "verdict": "not_eligible",
        "because": ["it may be luck", "too few windows are above the benchmark"],
        "rank": rank,
        "values": {"z": z, "dsr": None if z is None else 0.4, "romano_wolf": 0.3, "above_luck": 0.9 if z else None},
        "reasons": why if rank is None else {},
        "seed_z": [z, None if z is None else z - 0.2, z],
        "n_won": 2,
        "n_trials": 6,
        "sides": sides,
        "gates": make_gates(2, 1),
        "windows": windows,
        "pass_k": [0.25, 0.1, 0.0],
        "markets": [("ecb-fx", {"alpha": 0.01, "alpha_error": 0.02, "beta": None, "n_days": 496.0}, {"beta": "none"})],
        "metrics": {"return": 0.4, "vol": 0.08, "sortino": None},
        "diagnostics": {"delayed_sharpe": 0.1, "capacity": None},
        "isolation": "T2 + net",
        "faults": {"timeout": 2},
        "infrastructure_faults": {"agent_unreachable": 1},
        "events": {"filled": {"": 1200}, "limited": {"": 3}},
        "n_decisions": 2976,
    }
    return ScoreRow(**{**fields, **changes})


def make_view(rows: list[ScoreRow] | None = None, **changes: Any) -> ScoreView:
    ranks = {"momentum": 1, "equal-weight": 1, "carry": 3, "hold-cash": None}
    fields: dict[str, Any] = {
        "title": "Scores: default 2026.1",
        "protocol": "Suite default, edition 2026.1",
        "sentence": "momentum and equal-weight cannot be separated on 992 days: "
        "separating them takes about 5,000 days.",
        "power": "Over 992 returns, the best of 4 agents without skill has an expected annual Sharpe ratio of 0.9.",
        "rows": [make_score(name, rank) for name, rank in ranks.items()] if rows is None else rows,
        "floor": Floor(200, {0.0: -0.5, 0.05: -0.2, 0.5: 0.0, 0.95: 0.25, 1.0: 0.6}, 0.4),
        "tests": [FieldTest("buy-and-hold", {"spa_consistent": 0.4}), FieldTest("cash", {}, "too few agents")],
        "overfit_reason": "too short",
        "notices": ["Few windows."],
    }
    return ScoreView(**{**fields, **changes})


def make_scores(rows: list[ScoreRow] | None = None, **changes: Any) -> str:
    provenance = Provenance([("openoutcry", "0.1.0")], {"Records": [("momentum", "0f" * 32)]}, "openoutcry score a b")
    return render_scores(make_view(rows, **changes), provenance)


class Page(HTMLParser):
    """Reads a page, and fails on a tag that is not closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute twice in {tag}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def attributes(self, name: str) -> list[str]:
        return [str(attrs[name]) for _, attrs in self.tags if name in attrs]
