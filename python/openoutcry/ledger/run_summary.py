"""The 17 numbers that a run is compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import pairwise
from math import isfinite
from typing import Any

from openoutcry.arguments import is_truth, is_whole
from openoutcry.backtest.run import Run
from openoutcry.backtest.trades import Trades, trades_of
from openoutcry.errors import refusal

_RATIOS = {"sharpe_ratio": "sharpe", "sortino_ratio": "sortino", "calmar_ratio": "calmar", "pnl_return": "return"}
_MOST_POSITIONS = 2**32 - 1


@dataclass(frozen=True)
class RunMetricsSummary:
    """What a run came to; None where a number is undefined.

    Attributes:
        id: Id of the run.
        status: `done` or `failed`.
        candle_interval: Length of a bar, such as `1d`.
        total_positions: Closed positions.
        win_rate: Share of them with a profit.
        profit_factor: Profits over losses; undefined without a loss.
        net_pnl: What was gained, in account currency: `pnl_return` times the cost model's `capital`, as are the next.
        sharpe_ratio: Sharpe ratio a year.
        sortino_ratio: Sortino ratio a year.
        calmar_ratio: Growth a year over the largest drawdown.
        max_drawdown: Largest loss from a peak, as a share of it: 0.25 is a quarter lost.
        pnl_return: What was gained as a share of the NAV at the start.
        avg_win: Mean profit of positions that won.
        avg_loss: Mean loss of positions that lost, below 0.
        max_win: Largest profit of a position.
        max_loss: Largest loss of a position, below 0.
        avg_hold_duration_secs: Mean seconds from the bar of a position's first fill to that of its last.
        undefined: Why a number is None, where that is known.
    """

    id: str
    status: str
    candle_interval: str | None = None
    total_positions: int | None = None
    win_rate: float | None = None
    profit_factor: float | None = None
    net_pnl: float | None = None
    sharpe_ratio: float | None = None
    sortino_ratio: float | None = None
    calmar_ratio: float | None = None
    max_drawdown: float | None = None
    pnl_return: float | None = None
    avg_win: float | None = None
    avg_loss: float | None = None
    max_win: float | None = None
    max_loss: float | None = None
    avg_hold_duration_secs: float | None = None
    undefined: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, run: Run, run_id: str) -> RunMetricsSummary:
        """Return the summary of a finished backtest."""
        numbers, undefined = _numbers(run, trades_of(run))
        return cls(run_id, "done", interval_of(run.dates), **numbers, undefined=undefined)

    @classmethod
    def from_json(cls, told: Any) -> RunMetricsSummary:
        """Read a summary; numbers may be texts, and unknown members are left.

        A number that is not finite is None, and `undefined` says so.

        Raises:
            OpenOutcryError: `argument_invalid`: `id` or `status` is missing, or a number is none.
        """
        if not isinstance(told, Mapping):
            raise refusal("argument_invalid", f"a summary must be an object; received {type(told).__name__}")
        texts = {name: _text(told, name) for name in ("id", "status", "candle_interval")}
        for name in ("id", "status"):
            if texts[name] is None:
                raise refusal("argument_invalid", f"a summary must have `{name}`; received one without")
        numbers: dict[str, Any] = {}
        undefined = {str(name): str(why) for name, why in dict(told.get("undefined") or {}).items()}
        for name in NUMBERS:
            value = _number(name, told.get(name))
            if value is not None and not isfinite(value):
                undefined[name] = f"a finite number is required; received {value}"
            numbers[name] = value if value is not None and isfinite(value) else None
        if (count := numbers["total_positions"]) is not None:
            if not (0 <= count <= _MOST_POSITIONS and count == int(count)):
                wanted = f"`total_positions` must be an integer from 0 to {_MOST_POSITIONS}"
                raise refusal("argument_invalid", f"{wanted}; received {count}")
            numbers["total_positions"] = int(count)
        return cls(str(texts["id"]), str(texts["status"]), texts["candle_interval"], **numbers, undefined=undefined)

    def to_json(self) -> dict[str, Any]:
        """Return the 17 members as plain values, those that are None left out."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    def summary_line(self) -> str:
        """Return the run in one line of text; what is undefined is not in it."""
        shown = [
            ("", self.status, "{}"),
            (" interval=", self.candle_interval, "{}"),
            (" positions=", self.total_positions, "{}"),
            (" win_rate=", _percent(self.win_rate), "{:.1f}%"),
            (" profit_factor=", self.profit_factor, "{:.2f}"),
            (" return=", _percent(self.pnl_return), "{:+.1f}%"),
            (" sharpe=", self.sharpe_ratio, "{:.2f}"),
            (" max_dd=", _percent(self.max_drawdown), "{:.1f}%"),
            (" sortino=", self.sortino_ratio, "{:.2f}"),
        ]
        return "".join(f"{name}{form.format(value)}" for name, value, form in shown if value is not None)


FIELDS = tuple(each.name for each in fields(RunMetricsSummary) if each.name != "undefined")
"""The 17 names, in order."""
NUMBERS = FIELDS[3:]
"""Those that are numbers."""


def _percent(value: float | None) -> float | None:
    return None if value is None else 100.0 * value


def _text(told: Mapping[str, Any], name: str) -> str | None:
    value = told.get(name)
    if value is not None and not isinstance(value, str):
        raise refusal("argument_invalid", f"`{name}` of a summary must be a text; received {value!r}")
    return value


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, float) or is_whole(value):
        return float(value)
    try:
        if isinstance(value, str) and not is_truth(value) and value.isascii() and "_" not in value:
            return float(value)
    except ValueError:
        pass
    raise refusal("argument_invalid", f"`{name}` of a summary must be a number; received {value!r}")


def _numbers(run: Run, trades: Trades) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the numbers of a run, and why some are None."""
    found: dict[str, Any] = {name: run.metrics[metric] for name, metric in _RATIOS.items()}
    undefined = {name: run.undefined[metric] for name, metric in _RATIOS.items() if metric in run.undefined}
    for name, metric in (("sharpe_ratio", "sharpe"), ("sortino_ratio", "sortino")):
        if why := run.caveats.get(metric):
            # The ratio of a track without volatility is that of the risk-free rate, which would rank first.
            found[name], undefined[name] = None, why
    drawdown = run.metrics["max_drawdown"]
    found["max_drawdown"] = None if drawdown is None else abs(drawdown)
    capital = run.cost_model.capital
    found["net_pnl"] = (float(run.nav[-1]) - 1.0) * capital
    found |= {"total_positions": trades.n_trades, "win_rate": trades.win_rate, "profit_factor": trades.profit_factor}
    names = {"avg_win": "average_win", "avg_loss": "average_loss", "max_win": "max_win", "max_loss": "max_loss"}
    for name, metric in names.items():
        amount = getattr(trades, metric)
        found[name] = None if amount is None else amount * capital
    found["avg_hold_duration_secs"] = _held(run, trades)
    for name, metric in (names | {"win_rate": "win_rate", "profit_factor": "profit_factor"}).items():
        if metric in trades.undefined:
            undefined[name] = trades.undefined[metric]
    if trades.average_duration is None:
        undefined["avg_hold_duration_secs"] = trades.undefined["average_duration"]
    for name in [name for name, value in found.items() if value is not None and not isfinite(value)]:
        undefined[name] = f"a finite number is required; received {found[name]}"
        found[name] = None
    return found, undefined


def _held(run: Run, trades: Trades) -> float | None:
    if not trades.trades:
        return None
    start, _ = run.window.resolve(run.dataset, run.lookback)
    bars = {bar for trade in trades.trades for bar in (trade.opened, trade.closed)}
    at = {bar: moment(run.dates[bar - start]).timestamp() for bar in bars}
    return sum(at[trade.closed] - at[trade.opened] for trade in trades.trades) / len(trades.trades)


def moment(date: str) -> datetime:
    """Return a date of a market, as a moment in UTC."""
    text = date.removesuffix("Z")
    return datetime.fromisoformat(f"{text if 'T' in text else f'{text}T00:00:00'}+00:00")


_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def interval_of(dates: Sequence[str]) -> str:
    """Return the length of a bar, the smallest distance of two dates: `1d`, `15m`."""
    moments = [moment(date).timestamp() for date in dates[:1000]]
    least = min((int(after - before) for before, after in pairwise(moments)), default=86_400)
    name, seconds = next((unit for unit in _UNITS if least % unit[1] == 0), ("s", 1))
    return f"{least // seconds}{name}"
