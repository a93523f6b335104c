"""Notices of boards and pages about runs that read a holdout of research.

A record states no notice: its format is fixed, and its author could leave one out. The ledger of the user decides when
a board or page is written, by the strategy that a record names and the prices of its market.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from openoutcry.agents import NAMES
from openoutcry.backtest.strategies.strategy_text import is_strategy_text, strategy_of_text
from openoutcry.cli.holdout_reading import opening_notices
from openoutcry.data.dataset import Dataset
from openoutcry.ledger import Ledger, Market, default_folder
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.run_record import RunRecord
from openoutcry.untrusted.counted_nouns import counted

_CANDIDATE = re.compile(r" \(candidate [0-9a-f]+\)\Z")


def recorded_holdouts(records: Sequence[RunRecord], datasets: Iterable[Dataset]) -> list[str]:
    """Return a notice per record with runs that read an opened holdout.

    A record with an agent that is neither a strategy of the library nor a candidate has none. The code of a candidate
    is unknown, so that every opened holdout counts for it.

    Args:
        records: The records.
        datasets: Markets of their runs; runs on others are not examined.
    """
    folder, known = default_folder(), {each.fingerprint: each for each in datasets}
    strategies = [(record, _definition(record.agent_id)) for record in records]
    examined = [(record, definition) for record, definition in strategies if definition is not None]
    # A query creates the files of a ledger, so it must have some already.
    if not examined or not any(folder.glob("*.jsonl")):
        return []
    try:
        with Ledger(folder) as ledger:
            if ledger.connection().execute("SELECT 1 FROM holdout_opens LIMIT 1").fetchone() is None:
                return []
            return [notice for each in examined for notice in _notices(*each, known, ledger)]
    except (OpenOutcryError, OSError, sqlite3.Error) as error:
        return [f"the ledger cannot say whether these runs read a holdout of research: {error}"]


def _definition(agent: str) -> Mapping[str, object] | None:
    """Return the strategy of an agent's name, empty for code; None for another agent."""
    text = _CANDIDATE.sub("", agent)
    if text in NAMES:
        return None
    if not is_strategy_text(text):
        return None if text == agent else {}
    try:
        return strategy_of_text(text).to_json()
    except OpenOutcryError:
        return None if text == agent else {}


def _notices(
    record: RunRecord, definition: Mapping[str, object], known: Mapping[str, Dataset], ledger: Ledger
) -> Iterator[str]:
    """Yield the notice of the first such run, with the number of others."""
    found: list[str] = []
    for header in record.headers:
        dataset = known.get(header["dataset.fingerprint"])
        if dataset is None:
            continue
        dates = dataset.dates[int(header["window.start"])], dataset.dates[int(header["window.end"]) - 1]
        market = Market.of(dataset)
        openings = ledger.holdouts_read(market, dates, definition) if definition else ledger.openings(market, dates)
        if openings:
            found += opening_notices(openings, dates, is_read=True)
    if found:
        others = f" (and {counted(len(found) - 1, 'other run')})" if len(found) > 1 else ""
        yield f"{record.agent_id}: {found[0]}{others}"
