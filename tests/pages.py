"""Pages of the report for its tests: invented runs, boards, and a reader of HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np

from openoutcry.report import render_board, render_run
from openoutcry.report.view import BoardRow, BoardSection, BoardWindow, Provenance, RunView

SYMBOLS = ("USD", "JPY", "GBP", "CHF", "SEK", "NOK", "AUD", "CAD", "NZD")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
VOID = {"meta", "input", "br", "img", "link", "hr"}
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
