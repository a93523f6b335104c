"""Forms of CoinMarketCap and CoinGecko, where volume is in money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from openoutcry.data.readers.column_roles import Roles
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.market_columns import Table
from openoutcry.data.readers.text_table import TextTable

# Names that a header must have.
_FORMS = {
    "CoinMarketCap": frozenset(("timeopen", "timeclose", "volume", "marketcap")),
    "CoinMarketCap at Kaggle": frozenset(("sno", "symbol", "volume", "marketcap")),
    "CoinGecko": frozenset(("snappedat", "price", "totalvolume")),
}
_CAPS = frozenset(("marketcap", "marketcapitalization", "marketcapusd"))


def leave_out_currency(roles: Roles, table: TextTable) -> None:
    """Leave out the number of the currency of CoinMarketCap, which is called `name`."""
    place = roles.places.get("symbol")
    if place is None or _form_of(table.names) != "CoinMarketCap" or simple(table.names[place]) != "name":
        return
    if all(str(text).strip().isdigit() for text in table.distinct(place).used().values):
        del roles.places["symbol"]
        roles.ignored.append(table.names[place])


def in_units(names: Sequence[str], columns: Mapping[str, Table], volume: str) -> tuple[Table, str, str]:
    """Return volumes in units of the symbol, their unit, and a notice.

    The two texts are empty if the volume is taken as it is.

    Args:
        names: Names of the columns.
        columns: Numbers of the rows by role.
        volume: Name of the column of the volume.
    """
    values, form = columns["volume"], _form_of(names)
    if form:
        units = values / np.where(columns["close"] > 0.0, columns["close"], np.nan)
        text = f"{volume!r} of {form} is in money, and is divided by the close"
        return units, "in money, divided by the close", text
    caps = [name for name in names if simple(name) in _CAPS]
    if caps:
        hint = "hint: divide it by the close if it is money, as of CoinMarketCap"
        return values, "unit unknown", f"{volume!r} next to {caps[0]!r} is read in units of the symbol; {hint}"
    return values, "", ""


def _form_of(names: Sequence[str]) -> str:
    simples = {simple(name) for name in names}
    return next((form for form, needed in _FORMS.items() if needed <= simples), "")
