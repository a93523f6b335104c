"""Agents as leak check targets: each decision of a backtest, with its texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from openoutcry.agents import Baseline
from openoutcry.agents.day_orders import DAY_ORDER_FIELDS
from openoutcry.agents.decision_codec import decision_text
from openoutcry.audits.leakcheck.frame_columns import Column, Source, iso
from openoutcry.audits.leakcheck.target_trace import Trace
from openoutcry.backtest.run import run_backtest
from openoutcry.data import columns, dataframes
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

NEWS = "headline"

# Bars to run after a cut: the decision at the cut needs one, and many bars of garbage overflow an account.
_AFTER = 2


class AgentTarget:
    """An agent run by `run_backtest` from the first bar on.

    `make` takes the frame of a run and returns a new agent.
    """

    kind = "agent"

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return the target weights, conditions and texts of each decision."""
        dataset = dataset_of(source)
        n_bars = original.n_bars
        end = dataset.n_bars if cut is None else min(dataset.n_bars, cut + 1 + _AFTER)
        agent = self._make(source.frame())
        if not callable(agent):
            required = "an agent must be f(observation) -> decision, a class of such agents, or f(frame) -> agent"
            raise refusal("argument_invalid", f"{required}; received {type(agent).__name__}")
        if end < 2:
            return Trace({}, np.arange(n_bars), np.zeros(n_bars, dtype=bool), is_whole=False)
        texts: list[str] = []
        recorded = agent if isinstance(agent, Baseline) else _recorded(agent, texts)
        decided = run_backtest(dataset, recorded, (0, end)).decisions
        present = np.arange(n_bars) < len(decided)
        columns = {}
        for place, symbol in enumerate(dataset.symbols):
            weights = np.full(n_bars, np.nan)
            weights[: len(decided)] = decided[:, place]
            columns[f"weight[{symbol}]"] = weights
        conditions = _conditions(texts, list(dataset.symbols), n_bars)
        free_text = _free_text(texts, list(dataset.symbols), n_bars)
        return Trace(
            columns | conditions | free_text,
            np.arange(n_bars),
            present,
            is_whole=False,
            free_text=frozenset(free_text),
            optional=frozenset(conditions),
        )

    def start_bar(self, source: Source) -> None:
        """Return None: an agent decides from the first bar on."""


def _recorded(agent: Callable[[Any], Any], texts: list[str]) -> Callable[[Any], str]:
    def decide(observation: Any) -> str:
        texts.append(decision_text(agent(observation)))
        return texts[-1]

    return decide


def _conditions(texts: Sequence[str], symbols: Sequence[str], n_bars: int) -> dict[str, Column]:
    """Return the conditions of orders for each bar; NaN or None where missing."""
    columns: dict[str, Column] = {}
    for name in DAY_ORDER_FIELDS:
        for symbol in symbols:
            columns[f"{name}[{symbol}]"] = np.full(n_bars, None, object) if name == "at" else np.full(n_bars, np.nan)
    for bar, text in enumerate(texts):
        for order in json.loads(text)["orders"]:
            for name in DAY_ORDER_FIELDS:
                if name in order and f"{name}[{order['symbol']}]" in columns:
                    columns[f"{name}[{order['symbol']}]"][bar] = order[name]
    return columns


def _free_text(texts: Sequence[str], symbols: Sequence[str], n_bars: int) -> dict[str, Column]:
    """Return the confidence and texts of decisions for each bar; None where missing."""
    columns: dict[str, Column] = {"reasoning": np.full(n_bars, None, dtype=object)}
    columns |= {f"confidence[{symbol}]": np.full(n_bars, np.nan) for symbol in symbols}
    columns |= {f"rationale[{symbol}]": np.full(n_bars, None, dtype=object) for symbol in symbols}
    for bar, text in enumerate(texts):
        decision = json.loads(text)
        columns["reasoning"][bar] = decision.get("reasoning") or ""
        for order in decision["orders"]:
            symbol = order["symbol"]
            columns[f"rationale[{symbol}]"][bar] = order.get("rationale") or ""
            if order.get("confidence") is not None:
                columns[f"confidence[{symbol}]"][bar] = order["confidence"]
    return columns


def dataset_of(source: Source) -> Dataset:
    """Convert a frame to a dataset, with its headlines as news on their dates.

    Raises:
        OpenOutcryError: the frame is not a valid market.
    """
    if source.library not in ("pandas", "polars"):
        raise refusal("argument_invalid", f"an agent needs a pandas or polars frame; received {source.library}")
    frame = source.frame()
    news: tuple[tuple[str, str, str], ...] = ()
    if NEWS in source.columns:
        if source.time is None or source.name is None:
            raise refusal(
                "missing_column",
                f"columns `date` and `symbol` are required with `{NEWS}`; received a frame without them",
            )
        rows = zip(source.columns[source.name], source.columns[source.time], source.columns[NEWS], strict=True)
        news = tuple((str(symbol), iso(date), text) for symbol, date, text in rows if isinstance(text, str) and text)
        frame = frame.drop(columns=NEWS) if source.library == "pandas" else frame.drop(NEWS)
    values = columns.values_of(dataframes.core_of(frame)) | {"news": news, "periods_per_year": None}
    return Dataset.from_arrays(**values, name="leakcheck")
