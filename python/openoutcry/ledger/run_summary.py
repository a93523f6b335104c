"""Summary of a run in 17 fields, for comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from math import isfinite
from typing import Any

from openoutcry.arguments import is_bool, is_integer
from openoutcry.backtest.run import Run
from openoutcry.backtest.trades import Trades, trades_of
from openoutcry.errors import refusal
from openoutcry.ledger.summary_numbers import numbers_of, timestamp_of

_MAX_POSITIONS = 2**32 - 1
AMOUNTS = ("net_pnl", "avg_win", "avg_loss", "max_win", "max_loss")
"""Names of the amounts in account currency."""
FAILED = "a finished run is required; received a failed one"
NOT_RECORDED = "a recorded value is required; received none, from an earlier version or another program"
SHARE_OF_NAV = "an amount is required; received a share of NAV, from an earlier version"


@dataclass(frozen=True)
class RunMetricsSummary:
    """Results of a run; `undefined` has the reason of each that is None.

    Amounts are in account currency: a fraction of NAV times the `capital` of the cost model. The tests of a
    walk-forward trial are one run: their returns in sequence, and all their positions. Each test starts with the
    capital; `net_pnl` is the sum of their profits, whereas `pnl_return` compounds.

    Attributes:
        id: ID of the run.
        status: `done` or `failed`.
        candle_interval: Bar length, such as `1d`.
        total_positions: Number of closed positions.
        win_rate: Share of closed positions with a profit.
        profit_factor: Total profit over total loss; undefined without a loss.
        net_pnl: Net profit, an amount.
        sharpe_ratio: Annual Sharpe ratio.
        sortino_ratio: Annual Sortino ratio.
        calmar_ratio: Annual growth over the maximum drawdown.
        max_drawdown: Maximum drawdown as a positive fraction of the peak: 0.25 is a loss of a quarter.
        pnl_return: Net profit as a fraction of the initial NAV.
        avg_win: Mean profit of winning positions, an amount.
        avg_loss: Mean loss of losing positions, a negative amount.
        max_win: Largest profit of a position, an amount.
        max_loss: Largest loss of a position, a negative amount.
        avg_hold_duration_secs: Mean seconds from the bar of a position's first fill to that of its last.
        undefined: Reason of each field that is None.
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

    def __post_init__(self) -> None:
        default = FAILED if self.status == "failed" else NOT_RECORDED
        missing = {name: default for name in FIELDS if getattr(self, name) is None}
        object.__setattr__(self, "undefined", missing | dict(self.undefined))

    @classmethod
    def of(cls, run: Run, run_id: str) -> RunMetricsSummary:
        """Return the summary of a finished backtest."""
        return cls.of_tests([run], [trades_of(run)], run_id)

    @classmethod
    def of_tests(cls, runs: Sequence[Run], traded: Sequence[Trades], run_id: str = "") -> RunMetricsSummary:
        """Return the summary of consecutive runs, such as the tests of a trial.

        They must have one cost model.

        Args:
            runs: The runs, in chronological order.
            traded: The trades of each run.
            run_id: ID of the summary.
        """
        numbers, undefined = numbers_of(runs, traded)
        return cls(run_id, "done", interval_of(runs[0].dates), **numbers, undefined=undefined)

    @classmethod
    def from_json(cls, content: Any) -> RunMetricsSummary:
        """Read a summary; numbers may be texts, and unknown members are ignored.

        A number that is not finite becomes None, with a reason in `undefined`.

        Raises:
            OpenOutcryError: `argument_invalid`: `id` or `status` is missing, or a metric is not a number.
        """
        if not isinstance(content, Mapping):
            raise refusal("argument_invalid", f"a summary must be an object; received {type(content).__name__}")
        texts = {name: _text(content, name) for name in ("id", "status", "candle_interval")}
        for name in ("id", "status"):
            if texts[name] is None:
                raise refusal("argument_invalid", f"a summary must have `{name}`; received one without")
        numbers: dict[str, Any] = {}
        undefined = {str(name): str(why) for name, why in dict(content.get("undefined") or {}).items()}
        for name in NUMBERS:
            value = _number(name, content.get(name))
            if value is not None and not isfinite(value):
                undefined[name] = f"a finite number is required; received {value}"
            numbers[name] = value if value is not None and isfinite(value) else None
        if (count := numbers["total_positions"]) is not None:
            if not (0 <= count <= _MAX_POSITIONS and count == int(count)):
                required = f"`total_positions` must be an integer from 0 to {_MAX_POSITIONS}"
                raise refusal("argument_invalid", f"{required}; received {count}")
            numbers["total_positions"] = int(count)
        return cls(str(texts["id"]), str(texts["status"]), texts["candle_interval"], **numbers, undefined=undefined)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are not None as JSON types."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    def without_amounts(self) -> RunMetricsSummary:
        """Return a copy without amounts, which were shares of NAV."""
        reasons = self.stated() | dict.fromkeys(AMOUNTS, SHARE_OF_NAV)
        return replace(self, net_pnl=None, avg_win=None, avg_loss=None, max_win=None, max_loss=None, undefined=reasons)

    def stated(self) -> dict[str, str]:
        """Return the reasons that are specific to this run."""
        return {name: why for name, why in self.undefined.items() if why not in (FAILED, NOT_RECORDED)}

    def to_row(self) -> dict[str, Any]:
        """Return all 17 fields as JSON types, and the reasons in `undefined`."""
        return {name: getattr(self, name) for name in FIELDS} | {"undefined": dict(self.undefined)}

    def summary_line(self) -> str:
        """Format the summary on one line, without undefined metrics."""
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
"""Names of the 17 fields, in order."""
NUMBERS = FIELDS[3:]
"""Names of the numeric fields."""


def _percent(value: float | None) -> float | None:
    return None if value is None else 100.0 * value


def _text(content: Mapping[str, Any], name: str) -> str | None:
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise refusal("argument_invalid", f"`{name}` of a summary must be a text; received {value!r}")
    return value


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, float) or is_integer(value):
        return float(value)
    try:
        if isinstance(value, str) and not is_bool(value) and value.isascii() and "_" not in value:
            return float(value)
    except ValueError:
        pass
    raise refusal("argument_invalid", f"`{name}` of a summary must be a number; received {value!r}")


_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def interval_of(dates: Sequence[str]) -> str:
    """Return the bar length, the smallest distance between two dates: `1d`, `15m`."""
    timestamps = [timestamp_of(date).timestamp() for date in dates[:1000]]
    least = min((int(after - before) for before, after in pairwise(timestamps)), default=86_400)
    name, seconds = next((unit for unit in _UNITS if least % unit[1] == 0), ("s", 1))
    return f"{least // seconds}{name}"
