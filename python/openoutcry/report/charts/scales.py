"""Value and date axes: integer drawing units and round ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from openoutcry.report.charts.downsampling import Times, seconds
from openoutcry.report.text_format import number, percent
from openoutcry.report.views.run_view import Floats

__all__ = ["HEIGHT", "DateScale", "Tick", "ValueScale", "date_scale", "scale_of_dates", "value_scale"]

HEIGHT = 1200
"""Drawing units of every value axis. Paths use integer units, stretched to the size of the page."""

_DAY = 86_400
_LEAST_DECIMAL = 1e-6
_LEAST_LOG = 1e-290
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Tick:
    """A mark of an axis: `position` from 0 to 1, left to right or top to bottom."""

    position: float
    label: str


@dataclass(frozen=True)
class ValueScale:
    """A vertical axis from `low` (bottom) to `high` (top), logarithmic if `log`."""

    low: float
    high: float
    log: bool

    def fraction(self, values: Floats) -> Floats:
        """Return positions from 0 (top) to 1 (bottom)."""
        if self.log:
            return np.log(self.high / values) / math.log(self.high / self.low)
        return (self.high - values) / (self.high - self.low)

    def units(self, values: Floats) -> list[int]:
        """Return integer drawing units from the top."""
        units: list[int] = np.rint(self.fraction(values) * HEIGHT).astype(np.int64).tolist()
        return units

    def position(self, value: float) -> float:
        """Return the position of one value."""
        return float(self.fraction(np.array([value]))[0])

    def ticks(self, target: int = 5) -> list[float]:
        """Return round values inside the axis."""
        if self.log and self.high / self.low >= 3.0:
            return _log_ticks(self.low, self.high, target)
        step = _nice_step(self.high - self.low, target)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(k * step, 12) for k in range(first, last + 1)]

    def show_number(self, value: float) -> str:
        """Return `value` with as many digits as the ticks need."""
        if self.log and value < _LEAST_DECIMAL:
            return f"{value:.0e}"
        return number(value, self._digits(1.0))

    def show_percent(self, value: float) -> str:
        """Return `value` as a percentage with as many digits as the ticks need."""
        return percent(value, self._digits(100.0))

    def _digits(self, factor: float) -> int:
        ticks = [tick * factor for tick in self.ticks()]
        exact = (d for d in range(7) if all(abs(round(t, d) - t) < 1e-9 * max(1.0, abs(t)) for t in ticks))
        return next(exact, 6)


@dataclass(frozen=True)
class DateScale:
    """A horizontal axis in `width` drawing units."""

    start: int
    end: int
    width: int

    def units(self, times: Times) -> list[int]:
        """Return integer drawing units from the left."""
        units: list[int] = np.rint((times - self.start) * (self.width / (self.end - self.start))).astype(int).tolist()
        return units

    def position(self, time: int) -> float:
        """Return the position of one time, 0 to 1."""
        return (time - self.start) / (self.end - self.start)

    def ticks(self, target: int = 7) -> list[Tick]:
        """Return round dates inside the axis."""
        days = (self.end - self.start) / _DAY
        start, end = (datetime.fromtimestamp(t, timezone.utc) for t in (self.start, self.end))
        marks = _month_marks(start, end, days, target) if days > 62 else self._day_marks(target)
        return [Tick(self.position(time), label) for time, label in marks if self.start <= time <= self.end]

    def _day_marks(self, target: int) -> list[tuple[int, str]]:
        span = self.end - self.start
        daily = self.width * _DAY == span
        steps = (s for s in (60, 300, 900, 3600, 10_800, 21_600, _DAY, 2 * _DAY, 7 * _DAY) if s >= _DAY or not daily)
        step = next((s for s in steps if s >= span / target), 14 * _DAY)
        marks = []
        for time in range(-(-self.start // step) * step, self.end + 1, step):
            moment = datetime.fromtimestamp(time, timezone.utc)
            day = f"{moment.day} {_MONTHS[moment.month - 1]}"
            marks.append((time, day if step >= _DAY or time % _DAY == 0 else f"{moment:%H:%M}"))
        return marks


def value_scale(series: Sequence[Floats], scale: str = "linear", include: Sequence[float] = ()) -> ValueScale:
    """Fit an axis around `series` and the values of `include`, with a margin.

    Args:
        series: Values to draw.
        scale: `linear`, `log`, or `auto`: log if all values are above 1e-290 and the largest is 3 times the smallest.
        include: Values that must be on the axis.
    """
    low = min(*(float(s.min()) for s in series), *include, math.inf)
    high = max(*(float(s.max()) for s in series), *include, -math.inf)
    log = scale == "log" or (scale == "auto" and low > _LEAST_LOG and high / low >= 3.0)
    if log:
        if low <= 0.0:
            raise ValueError(f"a log scale must have positive values; received {low}")
        air = max((high / low) ** 0.04, 1.001)
        return ValueScale(low / air, high * air, True)
    air = (high - low) * 0.05 or max(abs(high) * 0.05, 1e-6)
    if low == high == 0.0:
        return ValueScale(-air, air, False)
    return ValueScale(low if low == 0.0 else low - air, high if high == 0.0 else high + air, False)


def date_scale(times: Sequence[Times]) -> DateScale:
    """Fit an axis around all `times`; its unit is a day if all times are dates."""
    daily = all(bool((t % _DAY == 0).all()) for t in times)
    return _scale([int(time) for t in times for time in (t[0], t[-1])], daily)


def scale_of_dates(dates: Sequence[Sequence[str]]) -> DateScale:
    """Fit an axis around series of ascending ISO 8601 dates.

    Only the first and the last date of a series are converted.
    """
    daily = all(len(each[0]) == len("2026-01-02") or all("T00:00:00" in date for date in each) for each in dates)
    return _scale([int(time) for each in dates for time in seconds([each[0], each[-1]])], daily)


def _scale(ends: Sequence[int], daily: bool) -> DateScale:
    start, end = min(ends), max(ends)
    return DateScale(start, max(end, start + 1), max((end - start) // _DAY, 1) if daily else 5000)


def _nice_step(span: float, target: int) -> float:
    power = 10.0 ** math.floor(math.log10(span / target))
    steps = [m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0)]
    return min(steps, key=lambda step: abs(span / step - target))


def _log_ticks(low: float, high: float, target: int) -> list[float]:
    least, most = math.floor(math.log10(low)), math.ceil(math.log10(high))
    # An axis of many decades has a tick at some of them, which include 1.
    step = -(-(most - least) // target) if most - least > 3 * target else 1
    powers = range(least - least % step, most + 1, step)
    choices: list[list[float]] = []
    for digits in ((1.0,),) if step > 1 else ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)):
        ticks = [round(d * 10.0**p, 12 - p) for p in powers for d in digits]
        choices.append([t for t in ticks if low <= t <= high])
    return min(choices, key=lambda ticks: abs(len(ticks) - target))


def _month_marks(start: datetime, end: datetime, days: float, target: int) -> list[tuple[int, str]]:
    rough = days / 30.44 / target
    step = next((m for m in (1, 2, 3, 6, 12, 24, 60, 120, 240, 600) if m >= rough), 1200)
    marks: list[tuple[int, str]] = []
    first = (start.year * 12) // step * step
    for month in range(first, end.year * 12 + end.month, step):
        year, index = divmod(month, 12)
        if not 1 <= year <= 9999:
            continue
        moment = datetime(year, index + 1, 1, tzinfo=timezone.utc)
        if moment < start:
            continue
        label = str(year) if step >= 12 or index == 0 else _MONTHS[index]
        # The first label includes the year if it starts inside one.
        label = label if marks or label == str(year) else f"{label} {year}"
        marks.append((int(moment.timestamp()), label))
    return marks
