"""Columns that are not read and tell instruments apart, by their names."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.text_table import TextTable

# Contracts of a future, which follow one another.
_CONTRACT_NAMES = (
    "contract contracts contractmonth contractcode contractname contractsymbol contractid contractdate expiry "
    "expirydate expirydt xpryd xpry expiration expirationdate expirationmonth expire expires deliverymonth "
    "deliverydate maturity maturitydate lasttradedate lasttradingday instrumentid rawsymbol localsymbol "
    "frontcontract activecontract underlyingcontract futurescode"
)
# Other columns with several values for the instruments of one date and symbol.
_OTHER_NAMES = (
    "exchange exch exchangecode primaryexchange mic venue market marketcode publisherid dataset board boardid "
    "currency ccy curr quotecurrency strike strikeprice strikepr strkpric optiontype optiontp optntp putcall "
    "callput cp right instrumenttype instrument insttype fininstrmtp securitytype sectype assettype assetclass "
    "type series sctysrs class shareclass isin figi cusip sedol permno permco gvkey iid ric interval timeframe "
    "granularity barsize frequency freq resolution period adjusted isadjusted adjustment adjustmenttype adjtype "
    "pricetype side session tradingsession source provider datasource vendor feed tf quote quoteasset"
)
CONTRACTS = frozenset(_CONTRACT_NAMES.split())
_OTHERS = frozenset(_OTHER_NAMES.split())


def named(table: TextTable, ignored: Sequence[str], words: frozenset[str] | None = None) -> list[int]:
    """Return the places of columns that are not read and have such names.

    Args:
        table: The table.
        ignored: Names of the columns that are not read.
        words: Names to look for; all of them by default.
    """
    wanted = CONTRACTS | _OTHERS if words is None else words
    return [table.names.index(name) for name in ignored if name in table.names and simple(name) in wanted]
