"""Openings of a holdout and runs on its days, from the index.

Markets of the same kin have the same prices at unknown dates, so all their runs and openings count for every window.

An opening records the complete market and the bars of the holdout as markets of their own. Every market that shares
prices with one of them is then recognized, whatever else it contains.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from openoutcry.ledger.index_schema import select_in
from openoutcry.ledger.ledger_entry import LedgerRun
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.market_matching import n_recorded
from openoutcry.ledger.queries import families_of
from openoutcry.ledger.strategy_identity import code_of, full_definition, strategy_id

_SHA = re.compile("[0-9a-f]{64}")
# Openings that a run names; more of them change nothing.
_MOST_NOTED = 8
# A date without a time covers the whole day; this suffix sorts after every time of the day.
_DAY = "~"


class Opening(NamedTuple):
    """An opening of a holdout, with the number of earlier openings."""

    session: str
    seal: str
    fingerprint: str
    first: str
    last: str
    n_before: int

    def overlaps(self, window: tuple[str, str]) -> bool:
        """Return whether its days are among those of a window; kin have other dates."""
        return self.first <= window[1] + _DAY and window[0] <= self.last + _DAY


class ResearchedTrial(NamedTuple):
    """A trial of a research session.

    Attributes:
        strategy: Its strategy as canonical JSON.
        opened: First and last date of the holdout that its session opened; None if it opened none.
        is_related: Whether a market shares prices with that of the trial.
    """

    strategy: str
    opened: tuple[str, str] | None
    is_related: bool


def openings(
    base: sqlite3.Connection, market: Market, window: tuple[str, str], held: Sequence[Market] = ()
) -> list[Opening]:
    """Return the openings that overlap a window, in order.

    Args:
        base: Connection to the index.
        market: The market.
        window: First and last date.
        held: Other markets with openings that count too, such as the bars of a holdout.
    """
    query = (
        "SELECT sessions.name, seal, fingerprint, first, last, n_before FROM holdout_opens"
        " JOIN sessions ON sessions.id = session JOIN markets ON markets.id = market WHERE family IN (?)"
    )
    families, kin = _families_of(base, (market, *held))
    found = [Opening(*row) for row in select_in(base, query, families)]
    found = [each for each in found if each.overlaps(window)]
    found += [Opening(*row) for row in select_in(base, query, kin)]
    return sorted(found, key=lambda each: each.n_before)


def opening_entries(
    base: sqlite3.Connection, markets: Sequence[Market], opening: Mapping[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the log entries of an opening, after those of new markets."""
    known = n_recorded(base, markets)
    new = [each for each in markets if known.get(each.fingerprint, -1) < each.n_added]
    return [*(("market", each.to_json()) for each in new), ("holdout_opened", dict(opening))]


def looks(base: sqlite3.Connection, market: Market, window: tuple[str, str], held: Sequence[Market] = ()) -> int:
    """Return the number of runs on days of a window; arguments as of `openings`."""
    query = (
        "SELECT COUNT(*) FROM runs JOIN markets ON markets.id = runs.market WHERE runs.kind != 'holdout'"
        " AND markets.family = ?"
    )
    families, kin = _families_of(base, (market, *held))
    within = f"{query} AND first <= ? AND last || '{_DAY}' >= ?"
    n = sum(base.execute(within, (family, window[1] + _DAY, window[0])).fetchone()[0] for family in families)
    return int(n + sum(base.execute(query, (family,)).fetchone()[0] for family in kin))


def holdouts_read(
    base: sqlite3.Connection, market: Market, window: tuple[str, str], strategy: Mapping[str, Any]
) -> list[Opening]:
    """Return the openings whose days a run of a strategy reads again.

    They count for a strategy that research has tried on the family or the kin of the market: its parameters were chosen
    before these days. For code, the parameters do not matter.
    """
    found = openings(base, market, window)
    return found if found and _is_researched(base, _all_families(base, market), strategy) else []


def marked(base: sqlite3.Connection, runs: Sequence[LedgerRun]) -> list[LedgerRun]:
    """Return runs, and mark those that read a holdout, which are never ranked."""
    if base.execute("SELECT 1 FROM holdout_opens LIMIT 1").fetchone() is None:
        return list(runs)
    known: dict[tuple[str, tuple[str, str]], tuple[list[Opening], list[int]]] = {}
    done = []
    for run in runs:
        found: list[Opening] = []
        if run.kind == "run":
            key = run.market.fingerprint, run.window
            if key not in known:
                overlapping = openings(base, run.market, run.window)
                known[key] = overlapping, _all_families(base, run.market) if overlapping else []
            found, families = known[key]
            found = found if found and _is_researched(base, families, run.strategy) else []
        done.append(_noted(run, found) if found else run)
    return done


def _noted(run: LedgerRun, found: Sequence[Opening]) -> LedgerRun:
    holdouts = [{"session": each.session, "window": [each.first, each.last]} for each in found[:_MOST_NOTED]]
    return replace(run, holdout_touched=True, notes={**run.notes, "holdouts": holdouts})


def trial_of(base: sqlite3.Connection, session: str, trial: str, market: Market) -> ResearchedTrial | None:
    """Return a trial of a session by its key; None if the ledger has none.

    Args:
        base: Connection to the index.
        session: ID of the session.
        trial: Key of the trial, in hexadecimal.
        market: The market to compare with that of the trial.
    """
    if not _SHA.fullmatch(trial):
        return None
    found = base.execute(
        "SELECT canonical_json, family FROM trials JOIN sessions ON sessions.id = trials.session"
        " JOIN runs ON runs.id = trials.run JOIN strategies ON strategies.id = runs.strategy"
        " JOIN markets ON markets.id = runs.market WHERE trials.trial = ? AND sessions.name = ? AND runs.kind != 'run'",
        (bytes.fromhex(trial), session),
    ).fetchone()
    if found is None:
        return None
    query = "SELECT first, last FROM holdout_opens JOIN sessions ON sessions.id = session WHERE name = ? LIMIT 1"
    opened = base.execute(query, (session,)).fetchone()
    return ResearchedTrial(found[0], opened and (opened[0], opened[1]), found[1] in _all_families(base, market))


def _families_of(base: sqlite3.Connection, markets: Sequence[Market]) -> tuple[list[int], list[int]]:
    """Return the families of markets, and the other ones of their kin."""
    found = [families_of(base, each) for each in markets]
    families, kin = ({family for each in found for family in each[at]} for at in (0, 1))
    return sorted(families), sorted(kin - families)


def _all_families(base: sqlite3.Connection, market: Market) -> list[int]:
    """Return the families of a market and of its kin."""
    families, kin = families_of(base, market)
    return [*families, *kin]


def _is_researched(base: sqlite3.Connection, families: Sequence[int], strategy: Mapping[str, Any]) -> bool:
    """Return whether research has tried a strategy on a market of some families."""
    code = code_of(strategy)
    # Both values are hexadecimal.
    same = f"sha256 = '{_id_of(strategy)}'" if code is None else f'canonical_json GLOB \'*"{code[0]}":"{code[1]}"*\''
    query = (
        f"SELECT 1 FROM strategies JOIN runs ON runs.strategy = strategies.id AND runs.kind != 'run'"
        f" JOIN markets ON markets.id = runs.market WHERE {same} AND markets.family IN (?) LIMIT 1"
    )
    return next(select_in(base, query, families), None) is not None


def _id_of(strategy: Mapping[str, Any]) -> str:
    return strategy_id(full_definition(strategy))
