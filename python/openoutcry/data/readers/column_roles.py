"""Roles of the columns of a market file, by the names that vendors give them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openoutcry.errors import refusal

# Names are compared in lower case without spaces, marks and leading numbers such as `4. close`.
_NAMES = {
    "date": "date datetime timestamp time day datum tsevent gmttime utc unix opentime observationdate windowstart"
    " tradedate tradingday quotedate pricedate datadate begins timeutc localtime beginsat starttime t ts dt caldt",
    "clock": "time clock timeofday",
    "symbol": "symbol ticker tic name permno instrument asset sym secid isin figi tckr pair stock act_symbol actsymbol",
    "open": "open o openprice pxopen openbid first",
    "high": "high h highprice pxhigh max highbid",
    "low": "low l lowprice pxlow min lowbid",
    "close": "close c closeprice closingprice pxlast closebid",
    "adj_close": "adjclose adjustedclose adjusted closeadj adjclosing closeadjusted",
    "volume": "volume vol v totalvolume sharestraded pxvolume tradedvolume volumeunits basevolume",
    "dividend": "dividend dividends dividendamount divcash exdividend divamt cashdividend",
    "split": "split splits stocksplits splitcoefficient splitfactor splitratio",
    "delisting_return": "delistingreturn dlret",
}
_ROLE_OF = {name: role for role, names in _NAMES.items() for name in names.split()}
# Closes by another name. A file with several of them does not say which is the close.
_CLOSES = ("price", "last", "settle", "latest", "closelast", "prc", "settlement", "lastprice", "settleprice", "value")
# Names of an index that has none, as pandas and pyarrow write them.
_UNNAMED = frozenset(("", "index", "unnamed0", "indexlevel0"))
_LETTERS = frozenset("ohlc")
_INDICATORS = re.compile(
    r"(rsi|sma|ema|macd|mavg|up|dn|boll\w*|atr|adx|cci|cpi\w*|unrate|t10y\w*|gdp\w*|ret(urn)?s?|signal|factor|score|vol(atility)?)\d*"
)
_PREFIXED = re.compile(r"(?P<symbol>.+)[._ ](?P<field>Open|High|Low|Close|Volume|Adjusted|Adj Close)", re.IGNORECASE)


@dataclass
class Roles:
    """The columns of a table by role.

    Attributes:
        places: Position of each role's column.
        ignored: Names of columns that are not read.
        is_wide: Whether every other column holds the closes of a symbol.
        closes: Positions of the symbols' columns of a wide table.
    """

    places: dict[str, int] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    is_wide: bool = False
    closes: dict[str, int] = field(default_factory=dict)


def simple(name: str) -> str:
    """Return a column name in lower case, without marks, spaces and a leading number."""
    name = re.sub(r"^\d+[.)]\s*", "", name.strip().strip("<>\"'").strip())
    return re.sub(r"[\s_\-./*#:()\[\]]+", "", name.lower())


def roles_of(names: Sequence[str], stated: Mapping[str, str], date_like: Sequence[bool]) -> Roles:
    """Return the roles of named columns.

    Args:
        names: Names of the header; an empty name is that of an index.
        stated: Names of columns by role, as the caller gives them.
        date_like: Whether the first value of each column has the form of a date.

    Raises:
        OpenOutcryError: `missing_column`: there is no date, or it is not clear which column is the close.
    """
    roles = Roles()
    counts = Counter(key for name in names if len(key := simple(name)) > 1 and key in _ROLE_OF)
    twice = next((key for key, count in counts.items() if count > 1), None)
    if twice is not None and not stated:
        raise refusal("unknown_column", f"columns must be unique; received `{twice}` twice in {listed(names)}")
    for role, name in stated.items():
        if name not in names:
            message = f"`columns` must name columns of the file; received {name!r} for `{role}`"
            raise refusal("missing_column", f"{message} among {', '.join(map(repr, names))}")
        roles.places[role] = list(names).index(name)
    _find_date(roles, names, date_like)
    rest = [place for place in range(len(names)) if place not in roles.places.values()]
    _find_roles(roles, names, rest)
    if "close" not in roles.places:
        _find_close(roles, names, rest)
    rest = [place for place in rest if place not in roles.places.values()]
    if "close" in roles.places:
        roles.ignored = [names[place] for place in rest]
        return roles
    _as_wide(roles, names, rest)
    return roles


def listed(names: Sequence[str]) -> str:
    """Return names on one line, control characters escaped; the first dozen of many."""
    return ",".join([repr(name)[1:-1] for name in names[:12]] + (["..."] if len(names) > 12 else []))


def is_price_name(name: str) -> bool:
    """Return whether a name is that of a column of a bar, not of a symbol."""
    key = simple(name)
    return key in _CLOSES or (
        len(key) > 1 and _ROLE_OF.get(key) in ("open", "high", "low", "close", "adj_close", "volume")
    )


def looks_like_indicator(name: str) -> bool:
    """Return whether a name is that of an indicator or a macro series."""
    return _INDICATORS.fullmatch(simple(name)) is not None


def prefixed_fields(names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the columns of names such as `QXA.Close`, by symbol and field.

    A symbol counts only with a close.
    """
    found: dict[str, dict[str, int]] = {}
    for place, name in enumerate(names):
        match = _PREFIXED.fullmatch(name.strip())
        if match is not None and match["symbol"].lower() not in ("adj", "adjusted"):
            role = _ROLE_OF[simple(match["field"])]
            found.setdefault(match["symbol"], {})[role] = place
    return {symbol: fields for symbol, fields in found.items() if "close" in fields}


def _find_date(roles: Roles, names: Sequence[str], date_like: Sequence[bool]) -> None:
    if "date" in roles.places:
        return
    named = [place for place, name in enumerate(names) if _ROLE_OF.get(simple(name)) in ("date", "clock")]
    fitting = [place for place in named if date_like[place]]
    # An epoch beside a readable date is the same time; the readable one has no unit to guess.
    fitting.sort(key=lambda place: (simple(names[place]) != "unix", simple(names[place]) in ("time", "t")))
    unnamed = [place for place, name in enumerate(names) if simple(name) in _UNNAMED and date_like[place]]
    chosen = fitting[:1] or unnamed[:1]
    if "unix" in [simple(names[place]) for place in named] and chosen:
        chosen = [next(place for place in named if simple(names[place]) == "unix")]
    if not chosen:
        message = f"a column of dates such as `date` is required; received {listed(names)}"
        raise refusal("missing_column", f'{message}; hint: columns={{"date": NAME}}, `--column date=NAME`')
    roles.places["date"] = chosen[0]


def _find_roles(roles: Roles, names: Sequence[str], rest: Sequence[int]) -> None:
    # A single letter is a ticker, unless the table has the four prices of a bar.
    letters_are_roles = {simple(name) for name in names} >= _LETTERS
    for place in rest:
        key = simple(names[place])
        role = _ROLE_OF.get(key) if len(key) > 1 or letters_are_roles else None
        if role == "date":
            role = "clock" if key == "time" else None
        # `Volume BTC` comes before `Volume USD`: units before money.
        if role is None and key.startswith(("volume", "vol")) and "volume" not in roles.places and "%" not in key:
            role = "volume"
        if role is None or role in roles.places:
            continue
        roles.places[role] = place


def _find_close(roles: Roles, names: Sequence[str], rest: Sequence[int]) -> None:
    """Find a close that has another name, in a table of one kind of prices."""
    candidates = [place for place in rest if simple(names[place]) in _CLOSES]
    others = [role for role in ("open", "high", "low", "volume", "symbol", "adj_close") if role in roles.places]
    if not rest or (not others and len(candidates) != len(rest)):
        return
    if len(candidates) == 1:
        roles.places["close"] = candidates[0]
        return
    if not candidates and "adj_close" in roles.places:
        roles.places["close"] = roles.places.pop("adj_close")
        return
    if len(others) < 2 and not candidates and len(rest) > len(others) + 2:
        # A ticker such as LOW beside other tickers.
        return
    candidate = " or ".join(names[place] for place in candidates) or "no candidate"
    asked = names[candidates[0]] if candidates else "NAME"
    message = f"it must be clear which column is the close; received {listed(names)}: {candidate}"
    raise refusal("missing_column", f'{message}; hint: columns={{"close": "{asked}"}}, `--column close={asked}`')


def _as_wide(roles: Roles, names: Sequence[str], rest: Sequence[int]) -> None:
    roles.places = {role: place for role, place in roles.places.items() if role in ("date", "clock")}
    roles.is_wide = True
    for place in (place for place in range(len(names)) if place not in roles.places.values()):
        # An unnamed column is an index of row numbers.
        if simple(names[place]) in _UNNAMED - {"index"}:
            roles.ignored.append(names[place])
        elif names[place].strip() in roles.closes:
            raise refusal("duplicate_symbol", f"columns must be unique; received {names[place]!r} twice")
        else:
            roles.closes[names[place].strip()] = place
    if not roles.closes:
        raise refusal("missing_column", f"a column of prices is required; received {', '.join(map(repr, names))}")
