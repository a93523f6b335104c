"""Dates of the rows of a table, from its columns of dates and of times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from openoutcry.data.readers import clock_columns, date_text, repeated_hours, zone_abbreviations
from openoutcry.data.readers.date_text import DateOptions, Dates
from openoutcry.data.readers.distinct import Distinct
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError

_IN_ORDER = "the order of the rows decides which times of the hour that clocks repeat come first"


def of_rows(table: TextTable, places: Mapping[str, int], options: DateOptions) -> tuple[Dates, Distinct]:
    """Return the dates of a table, and the date of each row.

    Raises:
        OpenOutcryError: a text is no date, or the dates do not say enough; see `date_text.parse`.
    """
    texts, clocks = clock_columns.dates_and_clocks(table, places)
    column = (table.names[places["date"]] if table.names else "") or "date"

    def parsed(texts: Distinct, options: DateOptions) -> Dates:
        lines = [table.lines[row] for row in texts.first_rows().tolist()]
        return date_text.parse(list(texts.values), lines, options, column=column, clocks=clocks)

    try:
        found = parsed(texts, options)
    except OpenOutcryError as error:
        if not repeated_hours.are_in(error):
            raise
        n_rows = len(table.rows)
        of_row = list(map(texts.values.__getitem__, texts.places.tolist()))
        texts = Distinct(of_row, np.arange(n_rows, dtype=np.uint32))
        symbols = table.distinct(places["symbol"]).places.tolist() if "symbol" in places else [0] * n_rows
        found = replace(parsed(texts, replace(options, symbols=symbols)), notice=_IN_ORDER)
    caveat = zone_abbreviations.notice_of(options.zone, found.texts)
    found = replace(found, notice=found.notice or caveat)
    return found, texts.renamed(found.texts)
