"""Agents in our environment: what they decide and say, bar by bar."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from openoutcry.agents import Baseline
from openoutcry.agents.decision_codec import decision_text
from openoutcry.audits.leakcheck.frame_columns import Column, Source, iso
from openoutcry.audits.leakcheck.target_trace import Trace
from openoutcry.backtest.run import run_backtest
from openoutcry.data import dataframes
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

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
        """Return the target weights of each decision, and what it says beside them."""
        dataset = dataset_of(source)
        n_bars = original.n_bars
        end = dataset.n_bars if cut is None else min(dataset.n_bars, cut + 1 + _AFTER)
        agent = self._make(source.frame())
        if not callable(agent):
            wanted = "an agent must be f(observation) -> decision, a class of them, or f(frame) -> agent"
            raise refusal("argument_invalid", f"{wanted}; received {type(agent).__name__}")
        if end < 2:
            return Trace({}, np.arange(n_bars), np.zeros(n_bars, dtype=bool), is_whole=False)
        said: list[str] = []
        heard = agent if isinstance(agent, Baseline) else _heard(agent, said)
        decided = run_backtest(dataset, heard, (0, end)).decisions
        present = np.arange(n_bars) < len(decided)
        columns = {}
        for place, symbol in enumerate(dataset.symbols):
            weights = np.full(n_bars, np.nan)
            weights[: len(decided)] = decided[:, place]
            columns[f"weight[{symbol}]"] = weights
        words = _words(said, list(dataset.symbols), n_bars)
        return Trace(columns | words, np.arange(n_bars), present, is_whole=False, words=frozenset(words))

    def begins(self, source: Source) -> None:
        """Return nothing: it decides from the first bar on."""


def _heard(agent: Callable[[Any], Any], said: list[str]) -> Callable[[Any], str]:
    def decide(observation: Any) -> str:
        said.append(decision_text(agent(observation)))
        return said[-1]

    return decide


def _words(said: Sequence[str], symbols: Sequence[str], n_bars: int) -> dict[str, Column]:
    """Return the confidence and texts of decisions, by bar; None where there are none."""
    words: dict[str, Column] = {"reasoning": np.full(n_bars, None, dtype=object)}
    words |= {f"confidence[{symbol}]": np.full(n_bars, np.nan) for symbol in symbols}
    words |= {f"rationale[{symbol}]": np.full(n_bars, None, dtype=object) for symbol in symbols}
    for bar, text in enumerate(said):
        decision = json.loads(text)
        words["reasoning"][bar] = decision.get("reasoning") or ""
        for order in decision["orders"]:
            symbol = order["symbol"]
            words[f"rationale[{symbol}]"][bar] = order.get("rationale") or ""
            if order.get("confidence") is not None:
                words[f"confidence[{symbol}]"][bar] = order["confidence"]
    return words


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
    columns, _ = dataframes.columns_of(frame)
    return Dataset.from_arrays(**columns, news=news, name="leakcheck")
