"""Agents in our environment: what they decide, bar by bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from openoutcry import frames
from openoutcry.backtest import run_backtest
from openoutcry.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.leakcheck.source import Source, iso
from openoutcry.leakcheck.trace import Trace

NEWS = "headline"

# Bars that are run after a cut: the decision at the cut needs one, and garbage over many outgrows an account.
_AFTER = 2


class AgentTarget:
    """An agent run by `run_backtest` from the first bar on.

    `make` is given the frame of each run and returns a new agent.
    """

    kind = "agent"

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return the target weights of each decision."""
        dataset = dataset_of(source)
        n_bars = original.n_bars
        end = dataset.n_bars if cut is None else min(dataset.n_bars, cut + 1 + _AFTER)
        agent = self._make(source.frame())
        if not callable(agent):
            wanted = "an agent must be f(observation) -> decision, a class of them, or f(frame) -> agent"
            raise refusal("argument_invalid", f"{wanted}; received {type(agent).__name__}")
        if end < 2:
            return Trace({}, np.arange(n_bars), np.zeros(n_bars, dtype=bool), is_whole=False)
        decided = run_backtest(dataset, agent, (0, end)).decisions
        present = np.arange(n_bars) < len(decided)
        columns = {}
        for place, symbol in enumerate(dataset.symbols):
            weights = np.full(n_bars, np.nan)
            weights[: len(decided)] = decided[:, place]
            columns[f"weight[{symbol}]"] = weights
        return Trace(columns, np.arange(n_bars), present, is_whole=False)


def dataset_of(source: Source) -> Dataset:
    """Return the market of a frame, with its headlines as news of their dates.

    Raises:
        OpenOutcryError: the frame is no market.
    """
    if source.library not in ("pandas", "polars"):
        raise refusal("argument_invalid", f"an agent needs a pandas or polars frame; received {source.library}")
    frame = source.frame()
    news: tuple[tuple[str, str, str], ...] = ()
    if NEWS in source.columns:
        if source.time is None or source.name is None:
            raise refusal("missing_column", f"columns `date` and `symbol` are required beside `{NEWS}`")
        told = zip(source.columns[source.name], source.columns[source.time], source.columns[NEWS], strict=True)
        news = tuple((str(symbol), iso(date), text) for symbol, date, text in told if isinstance(text, str) and text)
        frame = frame.drop(columns=NEWS) if source.library == "pandas" else frame.drop(NEWS)
    columns, _ = frames.columns_of(frame)
    return Dataset.from_arrays(**columns, news=news, name="leakcheck")
