"""Named forms of vendors: their marks, and what each form states."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from openoutcry.data.readers.column_roles import listed
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.headerless import KLINES, are_bars
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_OHLC = "open high low close"
_NEW_YORK = {"tz": "America/New_York"}
_MS, _S = r"\d{13}|\d{16}", r"\d{9,10}"


@dataclass(frozen=True)
class NamedForm:
    """Form of a vendor.

    Attributes:
        header: Names that a header must have, compared without marks; empty if the form has no header.
        layouts: Columns of a file without a header, each with the form of its first fields.
        options: What the form states. A stated option wins.
    """

    header: str = ""
    layouts: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


FORMS = {
    "alpha-vantage": NamedForm(f"timestamp {_OHLC} volume"),
    "binance-klines": NamedForm(f"opentime {_OHLC} volume closetime", ((" ".join(KLINES), _MS),)),
    "bitfinex-candles": NamedForm(layouts=(("date open close high low volume", _MS),)),
    "bybit-klines": NamedForm(layouts=((f"date {_OHLC} volume turnover", _MS),)),
    "coinbase-candles": NamedForm(layouts=(("date low high open close volume", _S),)),
    "crypto-data-download": NamedForm(f"date symbol {_OHLC}"),
    "dukascopy": NamedForm(f"gmttime|localtime {_OHLC} volume"),
    "firstrate": NamedForm(
        layouts=tuple((f"date {_OHLC}{volume}", r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?") for volume in (" volume", "")),
        options=_NEW_YORK,
    ),
    "gateio-candles": NamedForm(layouts=(("date quote_volume close high low open volume closed", _S),)),
    "histdata": NamedForm(
        layouts=((f"date {_OHLC} volume", r"\d{8} \d{6}"),), options={"tz": "Etc/GMT+5", "decimal": "."}
    ),
    "kibot": NamedForm(
        layouts=(
            (f"date time {_OHLC} volume", r"\d\d/\d\d/\d{4} \d\d:\d\d"),
            (f"date {_OHLC} volume", r"\d\d/\d\d/\d{4}"),
        ),
        options=_NEW_YORK | {"date_order": "mdy"},
    ),
    "kraken": NamedForm(layouts=((f"date {_OHLC} volume trades", _S),)),
    "kucoin-candles": NamedForm(layouts=(("date open close high low volume turnover", _S),)),
    "lean-equity": NamedForm(
        layouts=((f"date {_OHLC} volume", r"\d{8} \d\d:\d\d"),), options={"price_scale": 0.0001, "adjusted": "none"}
    ),
    "mt4": NamedForm(layouts=((f"date time {_OHLC} volume", r"\d{4}\.\d\d\.\d\d \d\d:\d\d"),)),
    "mt5": NamedForm(f"date {_OHLC} tickvol vol spread"),
    "nasdaq": NamedForm("date closelast open high low", options={"date_order": "mdy"}),
    "okx-candles": NamedForm(layouts=((f"date {_OHLC} volume volccy volccyquote confirm", _MS),)),
    "polygon-flat": NamedForm(f"ticker windowstart {_OHLC} volume", options=_NEW_YORK),
    "stooq": NamedForm(f"ticker per date time {_OHLC} vol openint"),
    "wsj": NamedForm(f"date {_OHLC}", options={"date_format": "%m/%d/%y"}),
    "yahoo": NamedForm(f"date {_OHLC} adjclose volume"),
    "yfinance": NamedForm(f"price {_OHLC} volume", options={"adjusted": "total"}),
}


def applied(options: ReadOptions, table: TextTable) -> ReadOptions:
    """Return the options with those of the stated form.

    Raises:
        OpenOutcryError: `argument_invalid`: the form is unknown, or the table has another one.
    """
    if options.form is None:
        return options
    form = FORMS.get(options.form)
    if form is None:
        known = ", ".join(FORMS)
        raise refusal("argument_invalid", f"`form` must be one of {known}; received {options.form!r}")
    if not table.names:
        columns = _columns_of(form, table)
        if columns is None:
            first = table.delimiter.join(table.rows[0])[:120] if table.rows else "no row"
            _refuse(options.form, f"a first row {first!r}")
        named = {"columns": columns} if options.columns is None else {}
        return _stated(options, {**form.options, **named})
    names = {simple(name) for name in table.names}
    if not form.header or not all(names & set(word.split("|")) for word in form.header.split()):
        _refuse(options.form, f"a header {listed(table.names)}")
    # With an adjusted close, the other prices are not adjusted for dividends.
    presets = {name: value for name, value in form.options.items() if name != "adjusted" or "adjclose" not in names}
    return _stated(options, presets)


def fitting(table: TextTable) -> list[str]:
    """Return the names of the forms that a table without a header can have."""
    return [name for name, form in FORMS.items() if _columns_of(form, table) is not None]


def _columns_of(form: NamedForm, table: TextTable) -> list[str] | None:
    first = [cell.strip() for cell in table.rows[0]] if table.rows else []
    for layout, pattern in form.layouts:
        names = layout.split()
        start = " ".join(first[: 2 if "time" in names else 1])
        if len(first) == len(names) and re.fullmatch(pattern, start) and are_bars(table, names):
            return names
    return None


def _stated(options: ReadOptions, presets: Mapping[str, Any]) -> ReadOptions:
    missing = {name: value for name, value in presets.items() if getattr(options, name) is None}
    return replace(options, **missing)


def _refuse(name: str, received: str) -> NoReturn:
    form = FORMS[name]
    wanted = [f"a header with {form.header.replace('|', ' or ')}"] if form.header else []
    wanted += [f"no header and the columns {layout}" for layout, _ in form.layouts]
    message = f"`form` {name} requires {', or '.join(wanted)}; received {received}"
    raise refusal("argument_invalid", f"{message}; hint: leave `form` out, or name another one")
