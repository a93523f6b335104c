"""What a run's page may be given beyond the run.

Each record draws one section where it is given. Every number arrives computed; one that is `None` is undefined, and
its reason comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openoutcry.report.views.view_checks import Floats, require_share

__all__ = ["Bin", "Calibration", "Rolling", "Skill"]


@dataclass(frozen=True)
class Rolling:
    """A Sharpe ratio over the last bars, at each bar.

    Attributes:
        n_returns: How many returns each estimate covers.
        sharpe: Shape `(n_bars,)`, float64, annual; NaN where undefined, such as before the first full stretch.
        error: Its standard error, of the same shape; NaN leaves the band open there.
    """

    n_returns: int
    sharpe: Floats
    error: Floats


@dataclass(frozen=True)
class Skill:
    """Whether the result could be luck.

    Attributes:
        values: Name to value; `None` is undefined. Names and units the report knows are in `skill.py`.
        reasons: Name to why it is undefined.
        power: What a track of this length can show, in one sentence; empty for none.
    """

    values: Mapping[str, float | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    power: str = ""


@dataclass(frozen=True)
class Bin:
    """The orders whose stated confidence lies in one interval.

    Attributes:
        low: Lower end of the interval, 0 to 1.
        high: Its upper end.
        stated: Mean confidence of its orders; `None` if there are none.
        came_true: Share of them that gained; `None` if there are none.
        n_orders: Their count.
        interval: 95% interval of `came_true`; `None` for none.
    """

    low: float
    high: float
    stated: float | None
    came_true: float | None
    n_orders: int
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        named = {"low": self.low, "high": self.high, "stated": self.stated, "came_true": self.came_true}
        for name, value in named.items():
            require_share(name, value)
        for end in self.interval or ():
            require_share("interval", end)
        if (self.stated is None or self.came_true is None) != (self.n_orders == 0):
            raise ValueError(
                "`stated` and `came_true` are required where there are orders, and only there;"
                f" received {self.stated} and {self.came_true} for {self.n_orders} orders"
            )


@dataclass(frozen=True)
class Calibration:
    """Stated confidence against what came of it.

    Attributes:
        bins: In rising order.
        brier: Mean squared distance of confidence and outcome; `None` if no order stated a confidence.
        n_stated: Orders that stated a confidence and have an outcome.
        n_orders: All orders.
        brier_always_base: Brier score of one who always states the share that came true; `None` if undefined.
    """

    bins: Sequence[Bin]
    brier: float | None
    n_stated: int
    n_orders: int
    brier_always_base: float | None = None

    def __post_init__(self) -> None:
        counted = sum(each.n_orders for each in self.bins)
        if counted != self.n_stated:
            raise ValueError(f"the bins must hold the {self.n_stated} orders of `n_stated`; received {counted}")
        if self.n_stated > self.n_orders:
            raise ValueError(f"`n_stated` must be at most the {self.n_orders} orders; received {self.n_stated}")
