"""Views of optional statistics of a run, one per section of its page.

Every number arrives computed. `None` is undefined, and `reasons` has its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openoutcry.report.views.view_checks import Floats, require_share

__all__ = ["Bin", "Calibration", "Rolling", "Skill"]


@dataclass(frozen=True)
class Rolling:
    """A rolling Sharpe ratio.

    Attributes:
        n_returns: Window length, in returns.
        sharpe: Shape `(n_bars,)`, float64, annual; NaN where undefined, such as before the first full window.
        error: Standard error, same shape; NaN leaves a gap in the band.
    """

    n_returns: int
    sharpe: Floats
    error: Floats


@dataclass(frozen=True)
class Skill:
    """Skill statistics of a run.

    Attributes:
        values: Name to value; `None` is undefined. `skill_section.SKILL` has the known names and units.
        reasons: Name to why it is undefined.
        power: Statistical power of a series of this length, as a sentence; empty for none.
    """

    values: Mapping[str, float | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    power: str = ""


@dataclass(frozen=True)
class Bin:
    """One calibration bin.

    Attributes:
        low: Lower end of the interval, 0 to 1.
        high: Upper end of the interval.
        stated: Mean confidence; `None` if the bin is empty.
        came_true: Hit rate: share of orders that gained; `None` if the bin is empty.
        n_orders: Number of orders.
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
                "`stated` and `came_true` are required if and only if the bin has orders;"
                f" received {self.stated} and {self.came_true} for `n_orders` {self.n_orders}"
            )


@dataclass(frozen=True)
class Calibration:
    """Calibration of stated confidence.

    Attributes:
        bins: In ascending order.
        brier: Brier score: mean squared difference of confidence and outcome; `None` if no order states a confidence.
        n_stated: Orders with a confidence and an outcome.
        n_orders: All orders.
        brier_always_base: Brier score of always stating the hit rate; `None` if undefined.
    """

    bins: Sequence[Bin]
    brier: float | None
    n_stated: int
    n_orders: int
    brier_always_base: float | None = None

    def __post_init__(self) -> None:
        n_counted = sum(one.n_orders for one in self.bins)
        if n_counted != self.n_stated:
            raise ValueError(f"the bins must contain all orders of `n_stated`, {self.n_stated}; received {n_counted}")
        if self.n_stated > self.n_orders:
            raise ValueError(f"`n_stated` must be at most `n_orders`, {self.n_orders}; received {self.n_stated}")
