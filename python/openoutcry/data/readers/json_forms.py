"""Tables of JSON: records, rows, columns, and the envelopes of vendors."""

from __future__ import annotations

import json
import operator
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import chain, pairwise
from typing import Any, NamedTuple

from openoutcry.data.readers import text_table
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.date_zones import zone_of
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

# Keys around prices. Any other key around a list is a symbol.
_ENVELOPES = frozenset(
    (
        "results", "result", "data", "values", "candles", "bars", "historical", "quotes", "prices", "list", "items",
        "datatable", "dataset", "daily_quotes", "ohlcv", "ohlc", "candlesticks", "history", "series", "rows", "records",
        "response",
    )
)  # fmt: skip
_SYMBOLS = ("symbol", "ticker", "instrument", "instrument_name", "pair", "2. Symbol", "dataset_code")
_PAGES = ("next_page_token", "next_url")
_KRAKEN = ["date", "open", "high", "low", "close", "vwap", "volume", "count"]
_BARS = ("open", "high", "low", "close", "volume")
_ZONE = re.compile(r"(\d+\. Time Zone|exchange_timezone)", re.IGNORECASE | re.ASCII)
_DEEPEST = 6
# Fewer points show no grid.
_LEAST_POINTS = 4


class _Part(NamedTuple):
    symbol: str
    names: list[str]
    rows: list[list[Any]]


def table_of(text: str) -> TextTable | None:
    """Return the table of a JSON text, or None if the text is not JSON.

    Accepts a list of objects or of rows, an object of columns, the forms of pandas, and envelopes of vendors.

    Raises:
        OpenOutcryError: `field_unparsable`: the JSON has another shape.
    """
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        # Numbers stay texts, so that no digit is lost before the columns are known.
        value = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        message = f"valid JSON is required; received an error: {error}"
        raise refusal(
            "field_unparsable", f"{message}; hint: download the file again, or save its rows as CSV"
        ) from error
    notes: list[str] = []
    parts = _parts(value, "", notes, 0)
    if not parts:
        received = "another shape" if isinstance(value, list) else f"an object of {', '.join(list(value)[:5])}"
        message = f"a JSON list of objects or of equal rows is required; received {received[:200]}"
        raise refusal("field_unparsable", f'{message}; hint: [{{"date": "2024-01-02", "close": 101.5}}, ...]')
    table = _joined(parts)
    table.notes += notes
    table.zones = _zones(value)
    # Polygon states whether it has applied splits.
    if isinstance(value, dict) and "resultsCount" in value and isinstance(value.get("adjusted"), bool):
        table.adjusted = "split" if value["adjusted"] else "none"
    return table


def _joined(parts: Sequence[_Part]) -> TextTable:
    if len(parts) == 1:
        table = text_table.of_rows(parts[0].names, parts[0].rows)
        table.symbol = parts[0].symbol
        return table
    names = parts[0].names
    if any(part.names != names or not part.symbol for part in parts) or not names:
        found = ", ".join(part.symbol or "a list" for part in parts)
        raise refusal("field_unparsable", f"lists with the same columns are required; received {found[:200]}")
    return text_table.of_rows([*names, "symbol"], [[*row, part.symbol] for part in parts for row in part.rows])


def _parts(value: Any, symbol: str, notes: list[str], depth: int) -> list[_Part]:
    """Return the tables in a value, each with its symbol."""
    if isinstance(value, list):
        found = _list(value)
        return [] if found is None else [_Part(symbol, *found)]
    if not isinstance(value, dict) or depth > _DEEPEST:
        return []
    symbol = _symbol_of(value) or symbol
    if isinstance(value.get("chart"), dict):
        return _yahoo(value["chart"])
    if "meta" in value and isinstance(value["meta"], dict) and "indicators" in value:
        return _yahoo({"result": [value]})
    found = _split(value) or _columns(value) or _by_date(value)
    if found is not None:
        return [_Part(symbol, *found)]
    if any(value.get(key) for key in _PAGES):
        notes.append("the file is one page of several: the vendor has more bars")
    if "prices" in value and "market_caps" in value:
        notes.append("columns not read: 'market_caps', 'total_volumes'")
        value = {"prices": _without_now(value["prices"], notes)}
    text_table.check_width(len(value))
    parts = []
    for key, inner in value.items():
        if isinstance(inner, (dict, list)) and key not in ("meta", "Meta Data", "error", "schema"):
            # A word at the top that is no symbol and no known envelope names nothing.
            is_symbol = isinstance(inner, list) and key.lower() not in _ENVELOPES and (depth > 0 or key == key.upper())
            parts += _parts(inner, key if is_symbol else symbol, notes, depth + 1)
    if len(parts) == 1 and "last" in value and not parts[0].names and len(parts[0].rows[0]) == len(_KRAKEN):
        notes.append("the last bar of Kraken is not complete: leave it out before a backtest")
        return [parts[0]._replace(names=list(_KRAKEN))]
    if len(parts) == 1 and not parts[0].names and "prices" in value and len(parts[0].rows[0]) == 2:
        return [parts[0]._replace(names=["date", "close"])]
    return parts


def _without_now(points: Any, notes: list[str]) -> Any:
    """Return the points of CoinGecko without that of the time of the request."""
    if not isinstance(points, list) or len(points) < _LEAST_POINTS:
        return points
    if not all(isinstance(point, list) and len(point) == 2 and str(point[0]).isdigit() for point in points):
        return points
    # A bar is on the grid of the others.
    *times, last = (int(point[0]) for point in points)
    steps = {after - before for before, after in pairwise(times)}
    step = min(steps)
    if step <= 0 or any(each % step for each in steps) or last <= times[-1] or (last - times[-1]) % step == 0:
        return points
    notes.append(f"left out: the last point, {points[-1][0]}, which is the time of the request and no bar")
    return points[:-1]


def _symbol_of(value: Mapping[str, Any]) -> str:
    for inner in (value, value.get("meta"), value.get("Meta Data")):
        for key in _SYMBOLS if isinstance(inner, dict) else ():
            if isinstance(inner, dict) and isinstance(inner.get(key), str):
                return str(inner[key])
    return ""


def _zones(value: Any) -> list[str]:
    """Return the zones that envelopes of Alpha Vantage and Twelve Data state."""
    found = []
    for each in (value, *value.values()) if isinstance(value, dict) else ():
        for key in ("Meta Data", "meta"):
            meta = each.get(key) if isinstance(each, dict) else None
            found += [zone for name, zone in meta.items() if _ZONE.fullmatch(name)] if isinstance(meta, dict) else []
    return sorted({zone for zone in found if isinstance(zone, str) and zone.strip()})


def _list(value: list[Any]) -> tuple[list[str], list[list[Any]]] | None:
    if value and all(isinstance(row, dict) for row in value):
        rows = [_flat(row) for row in value]
        names = list(dict.fromkeys(chain.from_iterable(rows)))
        if not names:
            return None
        if any(list(row) != names for row in rows):
            # The order of columns must not depend on that of rows.
            names.sort()
        if len(names) * len(rows) > 4 * sum(map(len, rows)) + 10_000:
            message = f"objects with the same keys are required; received {len(names)} keys in {len(value)} objects"
            raise refusal("field_unparsable", message)
        if len(names) > 1 and set(map(len, rows)) == {len(names)}:
            return names, list(map(list, map(operator.itemgetter(*names), rows)))
        return names, [[row.get(name) for name in names] for row in rows]
    if value and all(isinstance(row, list) and len(row) == len(value[0]) > 1 for row in value):
        return [], value
    return None


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without inner objects; one inner object adds no prefix."""
    inner = [key for key, value in row.items() if isinstance(value, dict)]
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            is_bare = len(inner) == 1 and not set(value) & set(row)
            found |= {name if is_bare else f"{key}.{name}": each for name, each in value.items()}
        else:
            found[key] = value
    return found


def _split(value: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]] | None:
    """Return rows with separate names, as of `orient="split"` and Nasdaq."""
    names, rows = value.get("columns", value.get("column_names")), value.get("data")
    if not isinstance(names, list) or not isinstance(rows, list) or not names or not rows:
        return None
    named = [str(name["name"]) if isinstance(name, dict) and "name" in name else str(name) for name in names]
    index = value.get("index")
    has_dates = any(looks_like_date(str(cell)) for cell in index[:1]) if isinstance(index, list) else False
    if not all(isinstance(row, list) and len(row) == len(named) for row in rows):
        return None
    if isinstance(index, list) and has_dates and len(index) == len(rows):
        return ["", *named], [[label, *row] for label, row in zip(index, rows, strict=True)]
    return named, rows


def _columns(value: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]] | None:
    """Return an object of columns: lists, or objects by index as pandas writes them."""
    lists = {name: column for name, column in value.items() if isinstance(column, list)}
    rest = [each for name, each in value.items() if name not in lists]
    are_scalars = all(not isinstance(cell, (dict, list)) for column in lists.values() for cell in column[:1])
    filled = {name: column for name, column in lists.items() if column}
    if len(filled) > 1 and are_scalars and not any(isinstance(each, (dict, list)) for each in rest):
        if len({len(column) for column in filled.values()}) == 1:
            return list(filled), [list(row) for row in zip(*filled.values(), strict=True)]
        return None
    if not lists and len(value) > 0 and all(isinstance(column, dict) and column for column in value.values()):
        labels = list(next(iter(value.values())))
        if all(list(column) == labels for column in value.values()) and not _are_objects(value):
            if all(looks_like_date(label) for label in labels):
                return ["", *value], [[label, *(column[label] for column in value.values())] for label in labels]
            if all(label.isdigit() for label in labels):
                return list(value), [[column[label] for column in value.values()] for label in labels]
    return None


def _are_objects(value: Mapping[str, Any]) -> bool:
    """Return whether the values of an object are objects or contain them."""
    inner = [cell for column in value.values() for cell in list(column.values())[:1]]
    return any(isinstance(cell, (dict, list)) for cell in inner)


def _by_date(value: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]] | None:
    """Return objects by date: Alpha Vantage, and pandas `orient="index"`."""
    if not value or not all(isinstance(row, dict) and row and looks_like_date(date) for date, row in value.items()):
        return None
    return _list([{"date": date, **row} for date, row in value.items()])


def _yahoo(chart: Mapping[str, Any]) -> list[_Part]:
    """Return the parts of the chart form of Yahoo."""
    try:
        return [_yahoo_part(result) for result in chart["result"]]
    except (AttributeError, IndexError, KeyError, OSError, OverflowError, TypeError, ValueError) as error:
        message = f"a chart with a value per timestamp is required; received another shape: {error}"
        raise refusal("field_unparsable", message[:200]) from error


def _yahoo_part(result: Any) -> _Part:
    meta, stamps, indicators = result["meta"], result["timestamp"], result["indicators"]
    columns = {name: indicators["quote"][0][name] for name in _BARS}
    if indicators.get("adjclose"):
        columns["adj close"] = indicators["adjclose"][0]["adjclose"]
    dates = list(stamps)
    if str(meta.get("dataGranularity", "")).endswith(("d", "wk", "mo")):
        # A stamp is the opening of the exchange.
        home = zone_of(meta["exchangeTimezoneName"])
        days = (datetime.fromtimestamp(int(stamp), timezone.utc).astimezone(home) for stamp in stamps)
        dates = [day.date().isoformat() for day in days]
    rows = [list(row) for row in zip(dates, *columns.values(), strict=True)]
    return _Part(str(meta["symbol"]), ["date", *columns], rows)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise refusal("field_unparsable", f"keys of an object must be unique; received {twice!r} twice")
    return found
