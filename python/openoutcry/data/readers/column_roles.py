"""Roles of the columns of a market file, by the names that vendors give them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from openoutcry.data.readers.column_words import is_indicator, is_ticker, quotes_of, simple
from openoutcry.data.readers.questions import Question
from openoutcry.errors import refusal

# Names are compared in lower case without spaces, marks and leading numbers such as `4. close`.
# Names of several languages, as brokers and Excel write them. Of two names of one role, the earlier one wins.
_NAMES = {
    "date": "date datetime timestamp datum fecha data dia jour 日期 交易日期 日付 年月日 일자 날짜 дата tsevent"
    " gmttime localtime utc unix opentime timeopen observationdate windowstart tradedate tradingday quotedate pricedate"
    " datadate exchangedate snappedat timeperiod begins timeutc beginsat starttime dtyyyymmdd yyyymmdd traddt ts dt"
    " caldt dates ticks time day t",
    "clock": "time clock timeofday timebarstart tradetime bartime uhrzeit zeit hora heure ora 時刻 时间 時間 시간",
    "symbol": "symbol ticker tic tckr tckrsymb actsymbol sym pair stock tscode 股票代码 permno figi isin instrument"
    " asset secid code name コード 銘柄コード 証券コード 銘柄 銘柄名 证券代码 證券代號 종목코드 종목명",
    "open": "open openprice openingprice pxopen priceopen openprc prcod opentradeprice opnpric o eröffnung eroeffnung"
    " eröffn eroeffn erster apertura abertura ouverture ouv 开盘 开盘价 開盤 開盤價 始値 시가 открытие",
    "high": "high highprice pxhigh pricehigh askhi prchd hightradeprice hghpric h hoch tageshoch máximo máx maximo"
    " máxima maxima haut plushaut massimo 最高 最高价 最高價 高値 고가 максимум",
    "low": "low lowprice pxlow pricelow bidlo prcld lowtradeprice lwpric l tief tagestief mínimo mín minimo mínima"
    " minima bas plusbas 最低 最低价 最低價 安値 저가 минимум",
    "close": "close closeprice closingprice priceclose obsvalue pxlast prccd closetradeprice clspric c schluss"
    " schlusskurs cierre fechamento chiusura clôture cloture clot 收盘 收盘价 收盤 收盤價 終値 종가 закрытие",
    "adj_close": "adjclose adjustedclose closeadj adjclosing closeadjusted adjusted adjustmentclose 調整後終値",
    "volume": "volume vol totalvolume sharestraded pxvolume tradedvolume basevolume cshtrd ttltradgvol tottrdqty"
    " numberofshares v stücke stuecke volumen volumi 成交量 成交股數 出来高 売買高 거래량 объем объём",
    "dividend": "dividend dividends dividendamount divcash exdividend divamt cashdividend",
    "split": "split splits stocksplits splitcoefficient splitfactor splitratio",
    "delisting_return": "delistingreturn dlret",
}
_ROLE_OF = {name: role for role, names in reversed(list(_NAMES.items())) for name in names.split()}
# Names of countries that write a decimal comma.
_CONTINENTAL_NAMES = (
    "datum fecha data dia jour eröffnung eroeffnung eröffn eroeffn erster apertura abertura ouverture ouv hoch"
    " tageshoch máximo máx maximo máxima maxima haut plushaut massimo tief tagestief mínimo mín minimo mínima minima"
    " bas plusbas schluss schlusskurs cierre fechamento chiusura clôture cloture clot zuletzt kurs último ultimo"
    " dernier precio prezzo preço volumen volumi объем объём"
)
_CONTINENTAL = frozenset(_CONTINENTAL_NAMES.split())
_DATES = frozenset(_NAMES["date"].split())
# Dates of years; next to another part of a date, a year is none.
_YEARS = frozenset(("year", "yr", "years", "jahr", "année", "annee", "año", "anno", "ano"))
_DATE_PARTS = frozenset(("month", "quarter", "week", "day", "mon", "qtr", "period"))
_RANK = {name: rank for names in _NAMES.values() for rank, name in enumerate(names.split())}
# Closes by another name. A file with several of them does not say which is the close.
_CLOSES = (
    "price", "last", "settle", "latest", "closelast", "prc", "settlement", "lastprice", "settleprice", "value", "ltp",
    "zuletzt", "kurs", "último", "ultimo", "dernier", "precio", "prezzo", "preço",
)  # fmt: skip
# Columns of tables of one symbol that are neither a symbol nor a price of one.
_OTHER_WORDS = (
    r"(change|chg|returns?|oi|openint(erest)?|marketcap|turnover|trades?|count|vwap|average|amount|spread|expiry|weight"
    r"|shares|nav|aum|prev(close)?|previousclose|mktrf|smb|hml|rf|volumen?|成交额|涨跌.*)"
)
_OTHERS, _OTHER_TICKERS = (
    re.compile(rf"{_OTHER_WORDS}\w*|(trade|aggtrade)?id|(quote)?(qty|quantity)"),
    re.compile(_OTHER_WORDS),
)
# The columns of the stock market data of Shiller: price, dividend, earnings and consumer prices.
_SHILLER = frozenset(("p", "d", "e", "cpi"))
_LONGEST_EXAMPLE = 60
# Other tickers that show that LOW or RF is a ticker too: in all, and for each such name.
_LEAST_TICKERS, _TICKERS_EACH = 3, 2
# Name of the closes of a table with a column per symbol.
ALL = "*"
# Names of an index that has none, as pandas and pyarrow write them.
_UNNAMED = frozenset(("", "index", "unnamed0", "indexlevel0"))
_LETTERS = frozenset("ohlc")
# Other names of vendors that write the four prices as letters.
_OTHER_LETTER_NAMES = frozenset(("t", "v", "n", "s", "vw", "ts", "vol", "volccy", "volccyquote", "confirm", "complete"))
_BARE = frozenset(("open", "high", "low", "close", "adj_close"))


@dataclass
class Roles:
    """The columns of a table by role.

    Attributes:
        places: Position of each role's column.
        ignored: Names of columns that are not read.
        is_wide: Whether every other column holds the closes of a symbol.
        closes: Positions of the symbols' columns of a wide table.
        question: What the names do not say about the close.
    """

    places: dict[str, int] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    is_wide: bool = False
    closes: dict[str, int] = field(default_factory=dict)
    question: Question | None = None


def roles_of(
    names: Sequence[str],
    stated: Mapping[str, str],
    date_like: Sequence[bool],
    clock_like: Sequence[bool] | None = None,
    codes: Mapping[int, bool] | None = None,
    has_number: Callable[[int], bool] = bool,
) -> Roles:
    """Return the roles of named columns, with a question if no close is clear.

    Args:
        names: Names of the header; an empty name is that of an index.
        stated: Names of columns by role, as the caller gives them.
        date_like: Whether the first value of each column has the form of a date.
        clock_like: Whether the first value of each column has the form of a time of day; None if unknown.
        codes: Whether the numbers of a column named as one of symbols can be codes; only columns of numbers.
        has_number: Whether some value of a column is a number.

    Raises:
        OpenOutcryError: `missing_column`: there is no date.
    """
    roles = Roles()
    is_wide = stated.get("close") == ALL
    stated = {role: name for role, name in stated.items() if name != ALL}
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
    if is_wide:
        _as_wide(roles, names, rest)
        return roles
    clocks = {place for place in rest if clock_like is None or clock_like[place]}
    codes = codes or {}
    _find_roles(roles, names, [place for place in rest if codes.get(place, True)], clocks)
    if "close" not in roles.places:
        # STOCK and NAME are tickers too: without a close, their numbers are prices.
        code = (
            {}
            if "symbol" in stated or roles.places.get("symbol") not in codes
            else {"symbol": roles.places.pop("symbol")}
        )
        _find_close(roles, names, rest, has_number)
        if "close" in roles.places or roles.question is not None:
            roles.places |= code
    rest = [place for place in rest if place not in roles.places.values()]
    if "close" in roles.places or roles.question is not None:
        roles.ignored = [names[place] for place in rest]
        return roles
    _as_wide(roles, names, rest)
    return roles


def names_symbols(name: str) -> bool:
    """Return whether a column name is that of a column of symbols."""
    return _ROLE_OF.get(simple(name)) == "symbol"


def is_clock_name(name: str) -> bool:
    """Return whether a column name is that of a time of day."""
    key = simple(name)
    return key == "time" or _ROLE_OF.get(key) == "clock"


def is_name_of_language(name: str) -> bool:
    """Return whether a text names a column in a script other than Latin."""
    key = simple(name)
    return key in _ROLE_OF and min(key) > "\u02ff"


def role_of(name: str) -> str | None:
    """Return the role of a column of a bar by its name."""
    role = _ROLE_OF.get(simple(name))
    return None if role in ("date", "clock", "symbol") else role


def listed(names: Sequence[str]) -> str:
    """Return names on one line, control characters escaped; the first dozen of many."""
    return ",".join([repr(name)[1:-1] for name in names[:12]] + (["..."] if len(names) > 12 else []))


def is_price_name(name: str) -> bool:
    """Return whether a name is that of a column of a bar, not of a symbol."""
    key = simple(name)
    prices = ("open", "high", "low", "close", "adj_close", "volume", "symbol")
    return key in _CLOSES or _is_other(name) or (len(key) > 1 and _ROLE_OF.get(key) in prices)


def are_continental(names: Sequence[str]) -> bool:
    """Return whether a name is of a language that writes a decimal comma."""
    return any(simple(name) in _CONTINENTAL for name in names)


def is_bare_price(name: str) -> bool:
    """Return whether a name is that of a price of a bar without a symbol."""
    key = simple(name)
    return len(key) > 1 and _ROLE_OF.get(key) in _BARE


def can_be_years(name: str) -> bool:
    """Return whether numbers of four digits below a name can be years."""
    key = simple(name)
    return key in _YEARS or key in ("date", "dates", "datum", "fecha", "data", *_UNNAMED)


def is_date_name(name: str) -> bool:
    """Return whether a name is that of a date or of an index without a name."""
    key = simple(name)
    return key in _DATES or key in _UNNAMED


def _find_date(roles: Roles, names: Sequence[str], date_like: Sequence[bool]) -> None:
    if "date" in roles.places:
        return
    keys = [simple(name) for name in names]
    named = sorted((place for place, key in enumerate(keys) if key in _DATES), key=lambda place: _RANK[keys[place]])
    fitting = [place for place in named if date_like[place]]
    unnamed = [place for place, key in enumerate(keys) if key in _UNNAMED and date_like[place]]
    # An epoch and a readable date are the same time, and the epoch has a zone. An unreadable date is refused later.
    epochs = [place for place in fitting if keys[place] == "unix"]
    years = [place for place, key in enumerate(keys) if key in _YEARS and date_like[place]]
    years = years if _DATE_PARTS.isdisjoint(keys) else []
    chosen = (
        epochs
        or fitting
        or unnamed
        or years
        or [place for place in named if keys[place] == "datum" or "date" in keys[place]]
    )
    if not chosen:
        message = f"a column of dates such as `date` is required; received {listed(names)}"
        raise refusal("missing_column", f'{message}; hint: columns={{"date": NAME}}, `--column date=NAME`')
    roles.places["date"] = chosen[0]


def _find_roles(roles: Roles, names: Sequence[str], rest: Sequence[int], clocks: Collection[int]) -> None:
    keys = {place: simple(names[place]) for place in rest}
    # A single letter is a ticker, unless the table has the four prices of a bar and nothing that is no column of one.
    known = _LETTERS | _OTHER_LETTER_NAMES | set(_ROLE_OF)
    letters_are_roles = set(keys.values()) >= _LETTERS and set(keys.values()) <= known
    for place in sorted(rest, key=lambda place: _RANK.get(keys[place], 0)):
        key = keys[place]
        role = _ROLE_OF.get(key) if len(key) > 1 or letters_are_roles else None
        if role == "date":
            role = "clock" if key == "time" else None
        # TIME is a ticker too.
        role = None if role == "clock" and place not in clocks else role
        if role is not None and role not in roles.places:
            roles.places[role] = place
    if "volume" not in roles.places:
        _find_volume(roles, names, rest)


def _find_volume(roles: Roles, names: Sequence[str], rest: Sequence[int]) -> None:
    """Find a volume that states its unit, such as `Volume BTC`; one in money is none."""
    found = [place for place in rest if re.fullmatch(r"(volume|vol)[ _(].+", names[place].strip().lower())]
    other = re.compile(r"ma|avg|average|chg|change|%|volat|usd|eur|quote|currency|money")
    found = [place for place in found if other.search(names[place].lower()[3:]) is None]
    if found and re.search(r"\(.*(000|k|m|thousand|million).*\)", names[found[0]].lower()):
        message = f"a volume must be in units; received a column {names[found[0]]!r}"
        raise refusal("unknown_column", f"{message}; hint: multiply it, and call it `volume`")
    if found:
        roles.places["volume"] = found[0]


def _is_other(name: str) -> bool:
    """Return whether a name is that of a column that is neither a symbol nor a price."""
    # CHGG and NAVI are tickers.
    return "%" in name or (_OTHER_TICKERS if is_ticker(name) else _OTHERS).fullmatch(simple(name)) is not None


def _find_close(roles: Roles, names: Sequence[str], rest: Sequence[int], has_number: Callable[[int], bool]) -> None:
    """Find a close that has another name, in a table of one kind of prices."""
    quotes = quotes_of([names[place] for place in rest])
    candidates = [place for place in rest if simple(names[place]) in _CLOSES]
    if not candidates and [simple(names[place]) for place in rest] == ["nav"]:
        candidates = list(rest)
    others = [role for role in ("open", "high", "low", "volume", "symbol", "adj_close") if role in roles.places]
    known = {*roles.places.values(), *candidates, *(place for place in rest if names[place] in quotes)}
    unknown = [place for place in rest if place not in known and not _is_other(names[place])]
    assets = [place for place in unknown if not is_indicator(names[place])]
    if not rest or _are_tickers(roles, names, rest, unknown):
        return
    if not others and not candidates and len(unknown) == len(rest):
        is_shiller = {simple(names[place]) for place in rest} >= _SHILLER
        if is_shiller or (len(assets) == 1 and len(unknown) - len(assets) > 1):
            roles.question = _close_question(names, assets[:1])
        return
    # Of many columns of numbers, the one with the name of a close may be an asset too.
    rivals = [place for place in assets if not names_symbols(names[place])]
    if len(candidates) == 1 and (others or not any(map(has_number, rivals))):
        roles.places["close"] = candidates[0]
    elif not candidates and "adj_close" in roles.places:
        roles.places["close"] = roles.places.pop("adj_close")
    elif quotes and not candidates:
        roles.question = _quote_question(names, quotes)
    else:
        roles.question = _close_question(names, candidates or (assets if len(assets) == 1 else []))


def _are_tickers(roles: Roles, names: Sequence[str], rest: Sequence[int], unknown: Sequence[int]) -> bool:
    """Return whether names of columns, such as LOW and RF, are tickers among others."""
    words = [place for place in rest if place not in unknown]
    n_tickers = sum(is_ticker(names[place]) for place in unknown)
    is_wide = n_tickers >= max(_LEAST_TICKERS, _TICKERS_EACH * len(words), len(unknown) / 2)
    return is_wide and bool(words) and "symbol" not in roles.places and all(is_ticker(names[place]) for place in words)


def _example(name: str) -> str:
    """Return a name to type; `NAME` for one that is too long or cannot be printed."""
    return name if len(name) <= _LONGEST_EXAMPLE and name.isprintable() else "NAME"


def _close_question(names: Sequence[str], candidates: Sequence[int]) -> Question:
    candidate = " or ".join(_example(names[place]) for place in candidates) or "no candidate"
    example = _example(names[candidates[0]] if candidates else "NAME")
    required, received = "it must be clear which column is the `close`", f"{listed(names)}: {candidate}"
    keyword, option = f'columns={{"close": "{example}"}}', f"--column close={example}"
    return Question("missing_column", required, received, keyword, option, f', or "{ALL}" if every column is a symbol')


def _quote_question(names: Sequence[str], quotes: Sequence[str]) -> Question:
    middle = [name for name in names if simple(name) in ("mid", "midprice", "midpoint")]
    example = _example((middle or list(quotes))[0])
    required = "it must be clear which column is the `close`"
    received = f"{listed(names)}: {' and '.join(map(_example, quotes[:2]))} are quotes, not prices of trades"
    keyword, option = f'columns={{"close": "{example}"}}', f"--column close={example}"
    rest = "" if middle else " for one side, or add a column `close` with the middle of bid and ask"
    return Question("missing_column", required, received, keyword, option, rest)


def _as_wide(roles: Roles, names: Sequence[str], rest: Sequence[int]) -> None:
    roles.places = {role: place for role, place in roles.places.items() if role in ("date", "clock")}
    roles.is_wide = True
    for place in (place for place in range(len(names)) if place not in roles.places.values()):
        # An unnamed column is an index of row numbers.
        if simple(names[place]) in _UNNAMED:
            roles.ignored.append(names[place])
        elif names[place].strip() in roles.closes:
            raise refusal("duplicate_symbol", f"columns must be unique; received {names[place]!r} twice")
        else:
            roles.closes[names[place].strip()] = place
    if not roles.closes:
        raise refusal("missing_column", f"a column of prices is required; received {', '.join(map(repr, names))}")
