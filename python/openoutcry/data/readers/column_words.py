"""Words of column names: indicators, macro series, quotes and tickers."""

from __future__ import annotations

import re
from collections.abc import Sequence

_INDICATORS = re.compile(
    r"(rsi|sma|ema|macd|mavg|up|dn|boll\w*|atr|adx|cci|ret(urn)?s?|\w+return|signal|factor|score|volatility|expiry"
    r"|mktrf|smb|hml|rf)\d*"
    # Codes of FRED.
    r"|cpi\w*|unrate|t10y\w*|gdp\w*|e?dff|effr|sofr|fedfunds|dgs\d+(mo)?|gs\d+m?|tb\d+\w{1,4}|dtb\d+|payems|indpro"
    r"|pce(pi)?(lfe)?|m[12]sl|mortgage\d+us|umcsent|icsa"
    # Fundamentals and macro series, as in the tables of Shiller.
    r"|consumerpriceindex|inflation(rate)?|unemployment(rate)?|((real|long|short|policy)*(interest|discount))?rates?"
    r"|(real|ttm|trailing)?(earnings?|dividends?|eps|dps)(pershare)?(ttm)?|real(tr)?price|realtotalreturnprice"
    r"|(real|div(idend)?|earnings|(long|\d+(y|yr|year))?(treasury|bond)?)yields?"
    r"|(ttm|trailing|forward|shiller)?pe(10|ratio)?|p[bs]ratio|price(to)?(earnings|book|sales)(ratio)?"
    r"|(tr)?cape(10|ratio)?"
)
# Words at the end of a name, such as `SPY_RSI14`, or at its start before `_` or a number.
_INDICATOR_NAMES = (
    "sma ema wma vwma macd rsi mavg boll bollinger atr adx cci obv vwap zscore score signal signals target targets"
    " label tomorrow feature features position positions pnl return returns ret rets logret logreturn pct chg diff"
    " labels vol volatility std avg rank weight weights prediction predictions pred predicted forecast lag lagged"
    " next shifted"
)
_INDICATOR_WORDS = frozenset(_INDICATOR_NAMES.split())
# Indexes such as `S&P 500 Total Return`, `S&P 500 Equal Weight` and `S&P 500 Low Volatility`.
_INDEX_WORDS = frozenset(("total", "net", "gross", "equal", "low", "minimum"))
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
# Prices of one side of a quote, without the side.
_SIDES = {"bid": "bid", "ask": "ask", "offer": "ask"}
_JOINED = re.compile(r"(bid|ask|offer)(price|px|close|open|high|low|last)|(price|px|close|open|high|low|last)(bid|ask)")
# Tickers of the United States have up to five letters; SPREAD is an index.
_TICKER = re.compile(r"[A-Z]{1,5}([.-][A-Z])?|SPREAD", re.ASCII)


def simple(name: str) -> str:
    """Return a column name in lower case, without marks, spaces and a leading number."""
    name = re.sub(r"^\d+[.)]\s*", "", name.strip().strip("<>\"'").strip())
    return re.sub(r"[\s_\-./*#:()\[\]]+", "", name.lower())


def words_of(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name in lower case: `SPY_RSI14` has three."""
    return tuple(word.lower() for word in _WORDS.findall(name))


def is_ticker(name: str) -> bool:
    """Return whether a name has the form of a ticker: up to five capitals."""
    return _TICKER.fullmatch(name.strip()) is not None


def is_indicator(name: str) -> bool:
    """Return whether a name is that of an indicator, a fundamental or a macro series."""
    if _INDICATORS.fullmatch(simple(name)) is not None:
        return True
    words = [word for word in words_of(name) if not word.isdigit()]
    if not words or not _INDEX_WORDS.isdisjoint(words):
        return False
    is_first = re.match(r"[A-Za-z]+[_\d]", name.strip()) is not None
    return words[-1] in _INDICATOR_WORDS or (is_first and words[0] in _INDICATOR_WORDS)


def quotes_of(names: Sequence[str]) -> list[str]:
    """Return the bids and asks among names, if both sides are there."""
    sides: dict[tuple[str, ...], dict[str, str]] = {}
    for name in names:
        joined = _JOINED.fullmatch(name.strip().lower())
        words = [group for group in joined.groups() if group] if joined else list(words_of(name))
        for side in (word for word in words if word in _SIDES):
            rest = tuple(word for word in words if word != side)
            sides.setdefault(rest, {}).setdefault(_SIDES[side], name)
    found = [name for both in sides.values() if len(both) > 1 for name in both.values()]
    return [name for name in names if name in found]
