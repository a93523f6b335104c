"""The journal: replayed bit for bit, resumed from anywhere, and tampered with in vain (A18)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from research_markets import trending

import openoutcry as oo
from openoutcry.ledger import Ledger, Market
from openoutcry.records.chained_log import ChainedLog
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposers import FixedProposer, RandomProposer
from openoutcry.research.session_config import Budgets, ResearchConfig
from openoutcry.research.session_manager import DivergedError, Workspace, replay, research, resume
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result

MARKET = trending(0, 1500, 3)
GATES = Thresholds(*(None,) * 5, min_trades=0, min_dsr=0.5)
CONFIG = ResearchConfig(budgets=Budgets(8, 40, 12), gates=GATES, seed=4)
pytestmark = pytest.mark.once


class Cut(BaseException):
    """What kill -9 is to a process, here after one event."""


def place(folder: Path, **more: Any) -> Workspace:
    return Workspace(folder / "out", Ledger(folder / "ledger"), **more)


def whole(folder: Path) -> Result:
    return research(lambda: MARKET, RandomProposer(), CONFIG, place(folder))


def listed(result: Result) -> str:
    told = [(each.to_json(), each.verdict and each.verdict.to_json()) for each in result.shortlist]
    return json.dumps([told, [vars(each) for each in result.dropped], result.n_trials, result.stopped_reason])


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("uncut")
    return folder, whole(folder)


def test_the_session_has_something_to_lose(uncut: tuple[Path, Result]) -> None:
    assert uncut[1].shortlist
    assert uncut[1].shortlist[0].verdict is not None


def test_a_replay_reproduces_every_event(uncut: tuple[Path, Result]) -> None:
    again = replay(lambda: MARKET, place(uncut[0]))
    assert listed(again) == listed(uncut[1])
    assert [trial.oos.digest for trial in again.trials] == [trial.oos.digest for trial in uncut[1].trials]


def test_a_replay_writes_nothing(uncut: tuple[Path, Result]) -> None:
    def files() -> dict[str, bytes]:
        # Opening the index of a ledger may touch files beside it.
        return {
            str(path): path.read_bytes()
            for path in sorted(uncut[0].rglob("*"))
            if path.suffix in (".jsonl", "") and path.is_file()
        }

    before = files()
    replay(lambda: MARKET, place(uncut[0]))
    assert files() == before


def test_a_replay_on_another_market_diverges_at_once(uncut: tuple[Path, Result]) -> None:
    other = trending(1, 1500, 3)
    with pytest.raises(DivergedError) as raised:
        replay(lambda: other, place(uncut[0]))
    assert raised.value.seq == 0


def test_a_forged_score_is_found_by_replay_though_its_chain_is_whole(
    uncut: tuple[Path, Result], tmp_path: Path
) -> None:
    """Who forges a number and rewrites the chain behind it is still found out."""
    stood = session_of(place(uncut[0]).journal)
    out = Workspace(tmp_path)
    out.journal.parent.mkdir(parents=True)
    forged = None
    with ChainedLog(out.journal, session=stood.session_id) as log:
        for at, event in enumerate(stood.events):
            payload = json.loads(json.dumps(event["payload"]))
            if event["event"] == "trial" and forged is None:
                forged = at
                payload["oos"]["sharpe"] += 1e-12
            log.append(event["event"], payload)
    with pytest.raises(DivergedError, match="sharpe") as raised:
        replay(lambda: MARKET, out)
    assert raised.value.seq == forged


def test_tampering_with_any_line_is_found(uncut: tuple[Path, Result], tmp_path: Path) -> None:
    lines = place(uncut[0]).journal.read_bytes().splitlines(keepends=True)
    out = Workspace(tmp_path)
    out.journal.parent.mkdir(parents=True)

    def refused(changed: list[bytes]) -> None:
        out.journal.write_bytes(b"".join(changed))
        with pytest.raises((oo.OpenOutcryError, DivergedError)):
            replay(lambda: MARKET, out)

    for at in range(len(lines)):
        middle = len(lines[at]) // 2
        byte = lines[at][middle : middle + 1]
        other = b"7" if byte != b"7" else b"8"
        refused([*lines[:at], lines[at][:middle] + other + lines[at][middle + 1 :], *lines[at + 1 :]])
        refused([*lines[:at], *lines[at + 1 :]])
    refused([lines[1], lines[0], *lines[2:]])
    refused(lines[:-1])


def cut_after(folder: Path, n_events: int) -> int:
    """Cut a session after an event, and return how many there were; 0 where it came to its end."""
    seen = 0

    def watch(event: str, payload: Mapping[str, Any]) -> None:
        nonlocal seen
        seen += 1
        if seen == n_events:
            raise Cut

    try:
        research(lambda: MARKET, RandomProposer(), CONFIG, place(folder, on_event=watch))
    except Cut:
        return seen
    return 0


def test_a_session_that_is_cut_after_any_event_ends_as_if_it_had_not_been(
    uncut: tuple[Path, Result], tmp_path: Path
) -> None:
    n_events = len(session_of(place(uncut[0]).journal).events)
    counted = Ledger(uncut[0] / "ledger").count(Market.of(MARKET)).n
    for at in range(1, n_events) if os.environ.get("OPENOUTCRY_FULL") else (1, 3, 4, 10, n_events - 3, n_events - 1):
        folder = tmp_path / str(at)
        assert cut_after(folder, at) == at
        again = resume(lambda: MARKET, RandomProposer(), place(folder))
        assert listed(again) == listed(uncut[1])
        assert Ledger(folder / "ledger").count(Market.of(MARKET)).n == counted
        assert listed(replay(lambda: MARKET, place(folder))) == listed(uncut[1])


def test_a_torn_last_line_is_no_event(uncut: tuple[Path, Result], tmp_path: Path) -> None:
    assert cut_after(tmp_path, 9) == 9
    journal = place(tmp_path).journal
    content = journal.read_bytes()
    journal.write_bytes(content[:-40])
    again = resume(lambda: MARKET, RandomProposer(), place(tmp_path))
    assert listed(again) == listed(uncut[1])
    assert listed(replay(lambda: MARKET, place(tmp_path))) == listed(uncut[1])


def test_what_has_ended_cannot_be_resumed(uncut: tuple[Path, Result]) -> None:
    with pytest.raises(oo.OpenOutcryError, match="which ended"):
        resume(lambda: MARKET, RandomProposer(), place(uncut[0]))


def test_several_sessions_share_a_journal(tmp_path: Path) -> None:
    first = whole(tmp_path)
    other = replace(CONFIG, seed=5, split=replace(CONFIG.split, holdout_bars=0))
    second = research(lambda: MARKET, RandomProposer(), other, place(tmp_path))
    assert session_of(place(tmp_path).journal).session_id == second.session_id
    assert listed(replay(lambda: MARKET, place(tmp_path), first.session_id[:8])) == listed(first)
    assert listed(replay(lambda: MARKET, place(tmp_path))) == listed(second)
    with pytest.raises(oo.OpenOutcryError, match="a session that the journal holds"):
        session_of(place(tmp_path).journal, "no-such")


def test_a_start_says_all_that_numbers_depend_on(uncut: tuple[Path, Result]) -> None:
    start = session_of(place(uncut[0]).journal).start
    assert ResearchConfig.of_json(start["config"]) == CONFIG
    assert start["market"]["whole_fingerprint"] == MARKET.fingerprint
    assert start["market"]["fingerprint"] != MARKET.fingerprint
    assert {"engine", "folds", "gates_version", "catalogue_sha256", "memory", "holdout"} <= set(start)
    assert {"git", "tier", "python", "numpy"} <= set(start["aside"])


def test_who_forges_a_journal_is_found_by_what_the_ledger_noted(uncut: tuple[Path, Result], tmp_path: Path) -> None:
    """A18: what no replay can make again, such as trials counted before, is held by two notes in the ledger."""
    stood = session_of(place(uncut[0]).journal)

    def forged(folder: Path, events: list[tuple[str, Any]], session: str) -> Workspace:
        out = Workspace(folder, Ledger(uncut[0] / "ledger"))
        out.journal.parent.mkdir(parents=True)
        shutil.copytree(place(uncut[0]).blobs, out.blobs)
        with ChainedLog(out.journal, session=session) as log:
            log.append_all(events)
        return out

    told = [(event["event"], json.loads(json.dumps(event["payload"]))) for event in stood.events]
    # Made anew as it was, it is another log: its times are.
    out = forged(tmp_path / "again", told, stood.session_id)
    assert listed(replay(lambda: MARKET, replace(out, ledger=None))) == listed(uncut[1])
    with pytest.raises(oo.OpenOutcryError, match="another journal at `session_start`"):
        replay(lambda: MARKET, out)
    out = forged(tmp_path / "named", told, "a-name-of-ones-own")
    with pytest.raises(oo.OpenOutcryError, match="a session that the ledger has not noted"):
        replay(lambda: MARKET, out)
    with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
        Ledger(uncut[0] / "ledger", session=stood.session_id).anchor("session_end", "0" * 64)


def test_a_forged_beginning_is_not_resumed(tmp_path: Path) -> None:
    """A18: a session that says that nothing was tried before must have begun so."""
    whole(tmp_path)
    assert cut_after(tmp_path, 5) == 5
    stood = session_of(place(tmp_path).journal, is_cut=True)
    lines = place(tmp_path).journal.read_bytes().splitlines(keepends=True)
    for n_events in (1, 5):
        out = Workspace(tmp_path / "out", Ledger(tmp_path / "ledger"))
        out.journal.write_bytes(b"".join(lines[: -len(stood.events)]))
        with ChainedLog(out.journal, session=f"forged-{n_events}") as log:
            for event in stood.events[:n_events]:
                payload = json.loads(json.dumps(event["payload"]))
                if event["event"] == "session_start":
                    payload["memory"]["n_trials"] = 0
                log.append(event["event"], payload)
        with pytest.raises(oo.OpenOutcryError, match="a session that the ledger has not noted"):
            resume(lambda: MARKET, RandomProposer(), out, f"forged-{n_events}")


def test_a_journal_that_lost_trials_is_not_brought_to_its_end(tmp_path: Path) -> None:
    """A3: a journal cut behind its trials, or that has them as another session's, would begin their count anew."""
    assert cut_after(tmp_path, 13) == 13
    journal = place(tmp_path).journal
    stood, lines = session_of(journal), journal.read_bytes().splitlines(keepends=True)
    told = [(event["event"], json.loads(json.dumps(event["payload"]))) for event in stood.events]
    assert [event for event, _ in told] == ["session_start", *["proposal", "trial", "decision"] * 4]
    proposal = told[1][1]["proposal"]
    rejected = {"round": 0, "reason": "duplicate", "detail": "it was evaluated before, as x", "duplicate_of": "x"}
    rejected |= {"scores": {}, "n_dry": 1, "n_session": 0, "n_trials": 0}
    for kept, more in ((1, []), (4, []), (2, [("reject", rejected)])):
        journal.write_bytes(b"".join(lines[:kept]))
        with ChainedLog(journal, session=stood.session_id) as log:
            log.append_all(more)
        with pytest.raises(oo.OpenOutcryError, match="must have all trials that the ledger has of it"):
            resume(lambda: MARKET, FixedProposer([proposal]), place(tmp_path))
        assert not session_of(journal).is_over


def test_the_time_that_a_session_took_before_it_was_cut_counts(tmp_path: Path) -> None:
    """A2: a budget of seconds does not begin anew."""
    config = replace(CONFIG, budgets=replace(CONFIG.budgets, seconds=3600.0))
    seen = 0

    def watch(event: str, payload: Mapping[str, Any]) -> None:
        nonlocal seen
        seen += event == "decision"
        if seen == 2:
            raise Cut

    with pytest.raises(Cut):
        research(lambda: MARKET, RandomProposer(), config, replace(place(tmp_path), on_event=watch))
    journal = place(tmp_path).journal
    stood = session_of(journal)
    # As it would stand had the last proposal come after an hour.
    last = max(at for at, event in enumerate(stood.events) if event["event"] == "proposal")
    journal.unlink()
    with ChainedLog(journal, session=stood.session_id) as log:
        for at, event in enumerate(stood.events):
            payload = json.loads(json.dumps(event["payload"]))
            if at == last:
                payload["aside"]["seconds"] = 3600.0
            log.append(event["event"], payload)
    # Whoever may write both begins another ledger beside it.
    start = session_of(journal).events[0]["hash"]
    shutil.rmtree(tmp_path / "ledger")
    Ledger(tmp_path / "ledger", session=stood.session_id).anchor("session_start", start)
    again = resume(lambda: MARKET, RandomProposer(), place(tmp_path))
    assert again.stopped_reason == "time_budget"
    assert len(again.trials) == 2
