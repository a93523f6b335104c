"""The bars of a market: which dates they are, and how many there are per year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data import carried_events, exchange_sessions
from openoutcry.data.carried_events import Events
from openoutcry.data.columns import TABLES
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.untrusted.counted_nouns import counted

AXES = ("union", "intersection")
_EVENTS = ("dividends", "splits", "delistings")
# A calendar is that of the bars if at least this share of its sessions has one.
_COVERED = 0.5
_MOST_NAMES = 5


class Bars(NamedTuple):
    """Columns of a market, and what was done to its bars.

    Attributes:
        values: Arguments of `Dataset.from_arrays`, validated.
        notices: Caveats.
        described: Pairs of an option and what it did.
    """

    values: dict[str, Any]
    notices: tuple[str, ...] = ()
    described: tuple[tuple[str, str], ...] = ()


def check_codes(axis: str | None, calendar: str | None) -> None:
    """Check that the options of the bars fit each other.

    Raises:
        OpenOutcryError: `argument_invalid`: an option is no code, or the two name different exchanges.
    """
    for name, code, others in (("axis", axis, f"{', '.join(AXES)} or "), ("calendar", calendar, "")):
        if code is None or (name == "axis" and code in AXES):
            continue
        if not isinstance(code, str) or not code or code != code.upper():
            message = f"`{name}` must be {others}an exchange code such as XNYS; received {code!r}"
            raise refusal("argument_invalid", f'{message}; hint: {name}="XNYS", `--{name} XNYS`')
    if calendar is not None and axis not in (None, *AXES, calendar):
        message = f"`axis` and `calendar` must name one exchange; received {axis} and {calendar}"
        raise refusal("argument_invalid", f"{message}; hint: leave one of them out")


def on_axis(values: Mapping[str, Any], axis: str) -> Bars:
    """Return a market on the bars of an axis.

    Events of bars that are left out happen on the next bar that is kept.

    Args:
        values: Arguments of `Dataset.from_arrays`, validated.
        axis: `union`, `intersection` or the code of an exchange.

    Raises:
        ModuleNotFoundError: `exchange_calendars` is not installed.
        OpenOutcryError: fewer than 2 bars are left, or the dates have no zone.
    """
    dates = values["dates"]
    if axis == "union":
        return Bars(dict(values))
    missing: tuple[str, ...] = ()
    if axis == "intersection":
        is_kept = np.isfinite(values["close"]).all(axis=1)
    else:
        sessions = exchange_sessions.sessions(axis, dates[0], dates[-1])
        places = sessions.places(dates)
        is_kept, missing = places >= 0, _missing(sessions, places)
    kept = np.flatnonzero(is_kept)
    described = (("axis", f"{axis}: {len(kept):,} of {len(dates):,} dates"),)
    if len(kept) == len(dates):
        return Bars(dict(values), missing, described)
    if len(kept) < 2:
        raise _too_few(values, len(kept), axis)
    found, notices = _kept(values, kept, axis)
    if axis == "intersection":
        notices += _ends(values, kept)
    return Bars(found, (*notices, *missing), described)


def on_calendar(values: Mapping[str, Any], code: str) -> Bars:
    """Return a market with the bars per year of an exchange.

    Raises:
        ModuleNotFoundError: `exchange_calendars` is not installed.
        OpenOutcryError: `date_invalid`: a bar lies outside of the sessions, or most sessions have none.
    """
    dates = values["dates"]
    sessions = exchange_sessions.sessions(code, dates[0], dates[-1])
    places = sessions.places(dates)
    outside = np.flatnonzero(places < 0)
    if len(outside):
        others = f" and {counted(len(outside) - 1, 'other')}" if len(outside) > 1 else ""
        message = f"a date must lie in a session of {code}; received {dates[outside[0]]}{others}"
        hint = f'hint: axis="{code}" leaves them out, `--axis {code}`'
        raise refusal("date_invalid", f"{message}; {hint}")
    found, n_bars = np.unique(places, return_counts=True)
    n_sessions = int(found[-1] - found[0]) + 1
    if len(found) < _COVERED * n_sessions:
        message = f"a bar of most sessions of {code} is required; received bars of {len(found)} of {n_sessions}"
        raise refusal("date_invalid", f"{message}; hint: leave out `calendar`")
    per_year, per_session = exchange_sessions.sessions_per_year(code), float(np.median(n_bars))
    described = f"{code}: {per_year} sessions per year"
    described += "" if per_session == 1.0 else f", {per_session:g} bars per session"
    known = {**values, "periods_per_year": per_year * per_session}
    return Bars(known, _missing(sessions, places), (("calendar", described),))


def without_empty(values: Mapping[str, Any], closed: Sequence[bool]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a market without the symbols that lost all closes, and a notice.

    Args:
        values: Arguments of `Dataset.from_arrays`.
        closed: Whether each symbol closed before.

    Raises:
        OpenOutcryError: `dataset_too_small`: no symbol is left.
    """
    lost = np.asarray(closed) & ~np.isfinite(values["close"]).any(axis=0)
    if not lost.any():
        return dict(values), ()
    names = [name for name, is_lost in zip(values["symbols"], lost, strict=True) if is_lost]
    left = [name for name in values["symbols"] if name not in names]
    if not left:
        message = f"a symbol with a close on these bars is required; received none of {', '.join(names)}"
        raise refusal("dataset_too_small", f"{message}; hint: choose other bars")
    found = dict(values)
    for name in ("close", *TABLES, "tradable"):
        table = values.get(name)
        found[name] = None if table is None else np.ascontiguousarray(table[:, ~lost])
    for feed in ("fundamentals", "news"):
        found[feed] = [item for item in values.get(feed, ()) if item[0] in left]
    notice = f"left out: {', '.join(names)}, which never close{'s' * (len(names) == 1)} on these bars"
    return found | {"symbols": left}, (notice,)


def _too_few(values: Mapping[str, Any], n_kept: int, axis: str) -> OpenOutcryError:
    """Return the refusal of an axis with fewer than 2 dates."""
    what, hint = f"a session of {axis}", "leave out `axis`, or import fewer symbols or other dates"
    if axis == "intersection":
        counts = np.isfinite(values["close"]).sum(axis=0)
        fewest = int(np.argmin(counts))
        what = "a close of every symbol"
        hint += f", such as without {values['symbols'][fewest]}, which has {counts[fewest]:,}"
    message = f"at least 2 dates with {what} are required; received {n_kept} of {len(values['dates'])}"
    return refusal("dataset_too_small", f"{message}; hint: {hint}")


def _ends(values: Mapping[str, Any], kept: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return notices of what bounds an intersection, and of lost settlements."""
    has, dates, symbols = np.isfinite(values["close"]), values["dates"], values["symbols"]
    firsts, lasts = has.argmax(axis=0), len(dates) - 1 - has[::-1].argmax(axis=0)
    latest, earliest = int(firsts.argmax()), int(lasts.argmin())
    said = []
    if firsts[latest] > firsts.min():
        said.append(f"start with the first close of {symbols[latest]} on {dates[firsts[latest]]}")
    if lasts[earliest] < lasts.max():
        said.append(f"end with the last close of {symbols[earliest]} on {dates[lasts[earliest]]}")
    notices = [f"axis intersection: the bars {' and '.join(said)}"] if said else []
    if values.get("delistings") is not None:
        settled = np.isfinite(values["delistings"])[int(kept[-1]) + 1 :].any(axis=0)
        lost = [symbol for symbol, is_lost in zip(symbols, settled, strict=True) if is_lost]
        if lost:
            names = ", ".join(lost[:_MOST_NAMES]) + (
                f" and {counted(len(lost) - _MOST_NAMES, 'other')}" * (len(lost) > _MOST_NAMES)
            )
            notices.append(f"axis intersection: returns do not include the settlement of {names} after the last date")
    return tuple(notices)


def _kept(values: Mapping[str, Any], kept: npt.NDArray[np.int64], axis: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the bars that are kept, and notices of what was left out and carried."""
    close, n_bars = values["close"], len(values["dates"])
    events = Events.of(close, *(values.get(name) for name in _EVENTS))
    group_of = np.searchsorted(kept, np.arange(n_bars))
    found = dict(values) | {"dates": [values["dates"][bar] for bar in kept]}
    for name in ("close", *TABLES, "tradable"):
        table = values.get(name)
        found[name] = None if table is None else np.ascontiguousarray(table[kept])
    dividends, splits = carried_events.carried(events, group_of, len(kept))
    carried = {"dividends": dividends, "splits": splits}
    carried["delistings"] = carried_events.settlements(close, events, group_of, found["close"])
    found |= {name: table for name, table in carried.items() if values.get(name) is not None}
    if values.get("risk_free") is not None:
        found["risk_free"] = carried_events.compounded(values["risk_free"], group_of, len(kept))
    is_left = ~np.isin(np.arange(n_bars), kept)
    happened = (events.dividends != 0.0) | (events.splits != 1.0) | np.isfinite(events.delistings)
    is_after = np.arange(n_bars) > kept[-1]
    n_carried, n_lost = int(happened[is_left & ~is_after].sum()), int(happened[is_after].sum())
    notice = f"axis {axis}: {is_left.sum():,} of {n_bars:,} dates are left out, with "
    notice += counted(int(np.isfinite(close[is_left]).sum()), "close")
    if n_carried:
        notice += f"; {counted(n_carried, 'event')} (dividends, splits, settlements) on them moved to the next date"
    if n_lost:
        notice += f"; {counted(n_lost, 'event')} after the last date dropped"
    found, others = without_empty(found, np.isfinite(close).any(axis=0))
    return found, (notice, *others)


def _missing(sessions: exchange_sessions.Sessions, places: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return a notice of the sessions without a bar between the first and last."""
    found = np.unique(places[places >= 0])
    if not len(found):
        return ()
    missing = np.setdiff1d(np.arange(found[0], found[-1] + 1), found)
    if not len(missing):
        return ()
    shown = ", ".join(str(sessions.days[place]) for place in missing[:3]) + (", ..." if len(missing) > 3 else "")
    return (f"{len(missing):,} session{'s' * (len(missing) != 1)} of {sessions.code} without a bar: {shown}",)
