"""Whether a run reads a holdout of research, and what a person should know of it.

A ledger decides, because it recognizes the prices of a market and knows what research has tried. Without one, only the
statement of a candidate's file is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.cli.selected_agent import SelectedAgent
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger import Ledger, Market, default_folder
from openoutcry.ledger.holdout_exposure import Opening, ResearchedTrial
from openoutcry.ledger.strategy_identity import is_same_strategy

_NO_TEST = "its result is no test on unseen days"
_SHOWN = 8


@dataclass(frozen=True)
class HoldoutReading:
    """What is known of a run and the holdouts of research.

    Attributes:
        is_read: Whether the run reads a holdout that its agent was chosen without.
        notices: What a person should know, one sentence each.
    """

    is_read: bool = False
    notices: tuple[str, ...] = ()


@contextmanager
def consulted_ledger(agent: SelectedAgent, stated: bool | None, folder: Path | None = None) -> Iterator[Ledger | None]:
    """Yield the ledger that decides about a run; None without one.

    Args:
        agent: The agent. By default, only a run of a candidate consults the ledger.
        stated: Whether a ledger is wanted; None if the user does not say.
        folder: Folder of the ledger; None for the default one.
    """
    path = default_folder() if folder is None else folder
    is_wanted = agent.candidate is not None if stated is None else stated
    # A query creates the files of a ledger, so it must have some already.
    if not is_wanted or not any(path.glob("*.jsonl")):
        yield None
        return
    with Ledger(path) as ledger:
        yield ledger


def holdout_reading(
    agent: SelectedAgent, dataset: Dataset, dates: tuple[str, str], ledger: Ledger | None
) -> HoldoutReading:
    """Return whether a run over dates of a market reads a holdout.

    Raises:
        OpenOutcryError: `argument_invalid`: the ledger has the trial of a candidate with another strategy, or its
            session with another holdout: the file is an edited one.
    """
    candidate = agent.candidate
    if ledger is None:
        why = "no ledger confirms it"
        return HoldoutReading() if candidate is None else _stated_reading(candidate, dataset, dates, why)
    market = Market.of(dataset)
    openings = ledger.openings(market, dates)
    read = ledger.holdouts_read(market, dates, agent.definition)
    if candidate is None:
        return HoldoutReading(bool(read), tuple(opening_notices(read or openings, dates, is_read=bool(read))))
    trial = ledger.trial_of(candidate.session, candidate.provenance["trial"] or "", market)
    if trial is None:
        return _unknown_reading(candidate, dataset, dates, read or openings)
    _check_unedited(agent, candidate, trial)
    is_stated = candidate.has_held_out(dates) and (trial.is_related or candidate.reads_holdout(dataset, dates))
    if read or not is_stated:
        notices = [*opening_notices(read or openings, dates, is_read=bool(read))]
        if not read and candidate.has_held_out(dates):
            notices.append(_renamed_text(candidate, "the ledger does not recognize its prices"))
        return HoldoutReading(bool(read), tuple(notices))
    # The session did not open it, or this market is too short for the ledger to recognize.
    return HoldoutReading(True, (candidate.reading_text,))


def read_windows(agent: SelectedAgent, windows: Iterable[tuple[str, Dataset, tuple[int, int]]]) -> Iterator[str]:
    """Yield a notice for each window of a test that reads a holdout.

    The ledger of the user decides, if it exists; nothing is recorded in it.

    Args:
        agent: The agent; one that is no strategy and no candidate has no notices.
        windows: Name, market, and first and last bar (exclusive) of each window.

    Raises:
        OpenOutcryError: as `holdout_reading`.
    """
    if agent.strategy is None:
        return
    with consulted_ledger(agent, True) as ledger:
        for name, dataset, (start, end) in windows:
            dates = dataset.dates[start], dataset.dates[end - 1]
            reading = holdout_reading(agent, dataset, dates, ledger)
            if reading.is_read:
                yield f"{name}, {dates[0]} .. {dates[1]}, {'; '.join(reading.notices).removeprefix('this run ')}"


def _stated_reading(candidate: CandidateFile, dataset: Dataset, dates: tuple[str, str], why: str) -> HoldoutReading:
    """Return what the file of a candidate states."""
    notice = candidate.stated_notice(dataset, dates)
    if notice is not None:
        return HoldoutReading(True, (f"{notice} (a statement of its file only: {why})",))
    # Within the research window, an edited statement hides nothing.
    if dates[1] <= candidate.content["market"]["last"]:
        return HoldoutReading()
    edits = "" if candidate.is_digested else ", and the file has no digest that would show a change of it"
    if candidate.holdout() is None:
        text = f"the candidate's file states no holdout (a statement of its file only: {why}{edits})"
    elif candidate.has_held_out(dates):
        text = _renamed_text(candidate, f"not compared: {why}")
    else:
        text = f"this run does not read the holdout of the candidate, {candidate.holdout_text}"
        text += f" (a statement of its file only: {why}{edits})"
    return HoldoutReading(False, (text,))


def _renamed_text(candidate: CandidateFile, why: str) -> str:
    """Return what a run on other symbols means, where only prices could tell."""
    same = "if this market has the prices of the researched one under other names"
    return f"{same}, {candidate.reading_text} ({why})"


def _unknown_reading(
    candidate: CandidateFile, dataset: Dataset, dates: tuple[str, str], openings: list[Opening]
) -> HoldoutReading:
    """Return what is known of a candidate without its trial in the ledger.

    It may be an edited one, so every opened holdout counts.
    """
    session = f"its session {candidate.session[:_SHOWN]}" if candidate.session else "a session, and the file names none"
    why = f"the ledger has no such trial of {session}"
    if not openings:
        return _stated_reading(candidate, dataset, dates, why)
    return HoldoutReading(True, (*opening_notices(openings, dates, is_read=True), f"{why}: the file is not confirmed"))


def _check_unedited(agent: SelectedAgent, candidate: CandidateFile, trial: ResearchedTrial) -> None:
    """Refuse a candidate that the ledger knows otherwise."""
    session = candidate.session[:_SHOWN]
    if not is_same_strategy(json.loads(trial.strategy), agent.definition):
        wanted = f"a candidate of session {session} must have the strategy that the ledger records for its trial"
        hint = "restore the file" + ("" if agent.is_code else f", or use `--agent {agent.text_of_strategy}`")
        raise refusal("argument_invalid", f"{wanted}; received an edited one, {agent.name}; hint: {hint}")
    if trial.opened is None or "holdout" not in candidate.content:
        return
    if candidate.holdout() != trial.opened:
        days = "null" if candidate.holdout() is None else candidate.holdout_text
        wanted = (
            f"`holdout` of a candidate of session {session} must be that of the ledger, {' .. '.join(trial.opened)}"
        )
        raise refusal("argument_invalid", f"{wanted}; received {days}; hint: restore the file")


def opening_notices(openings: list[Opening], dates: tuple[str, str], *, is_read: bool) -> Iterator[str]:
    """Yield what a person should know of openings on the days of a run."""
    if not openings:
        return
    dated = [each for each in openings if each.overlaps(dates)]
    first = (dated or openings)[0]
    more = f" and {len(openings) - 1} more" if len(openings) > 1 else ""
    days = f"{first.first} .. {first.last}" + ("" if dated else ", on these prices at other dates")
    who = f"session {first.session[:_SHOWN]}{more}"
    if is_read:
        yield f"this run reads the holdout that {who} opened, {days}: {_NO_TEST}"
    else:
        yield f"{who} opened a holdout on these days, {days}, for other strategies: this run counts as a look at it"
