"""The journal: replayed bit for bit, resumed after any event, and protected against tampering (A18)."""

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
    """Simulates `kill -9` after one event."""


def workspace(folder: Path, **more: Any) -> Workspace:
    return Workspace(folder / "out", Ledger(folder / "ledger"), **more)


def whole(folder: Path) -> Result:
    return research(lambda: MARKET, RandomProposer(), CONFIG, workspace(folder))


def listed(result: Result) -> str:
    entries = [(each.to_json(), each.verdict and each.verdict.to_json()) for each in result.shortlist]
    return json.dumps([entries, [vars(each) for each in result.dropped], result.n_trials, result.stopped_reason])


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("uncut")
    return folder, whole(folder)


def test_the_session_of_these_tests_has_a_short_list(uncut: tuple[Path, Result]) -> None:
    assert uncut[1].shortlist
    assert uncut[1].shortlist[0].verdict is not None


def test_a_replay_reproduces_every_event(uncut: tuple[Path, Result]) -> None:
    again = replay(lambda: MARKET, workspace(uncut[0]))
    assert listed(again) == listed(uncut[1])
    assert [trial.oos.digest for trial in again.trials] == [trial.oos.digest for trial in uncut[1].trials]


def test_a_replay_writes_nothing(uncut: tuple[Path, Result]) -> None:
    def files() -> dict[str, bytes]:
        # Opening the index of a ledger may touch its other files.
        return {
            str(path): path.read_bytes()
            for path in sorted(uncut[0].rglob("*"))
            if path.suffix in (".jsonl", "") and path.is_file()
        }

    before = files()
    replay(lambda: MARKET, workspace(uncut[0]))
    assert files() == before


def test_a_replay_on_another_market_diverges_at_once(uncut: tuple[Path, Result]) -> None:
    other = trending(1, 1500, 3)
    with pytest.raises(DivergedError) as raised:
        replay(lambda: other, workspace(uncut[0]))
    assert raised.value.seq == 0


def test_a_forged_score_is_detected_by_replay_even_with_an_intact_chain(
    uncut: tuple[Path, Result], tmp_path: Path
) -> None:
    """A replay detects a forged number after its hash chain was rewritten."""
    recorded = session_of(workspace(uncut[0]).journal)
    out = Workspace(tmp_path)
    out.journal.parent.mkdir(parents=True)
    forged = None
    with ChainedLog(out.journal, session=recorded.session_id) as log:
        for at, event in enumerate(recorded.events):
            payload = json.loads(json.dumps(event["payload"]))
            if event["event"] == "trial" and forged is None:
                forged = at
                payload["oos"]["sharpe"] += 1e-12
            log.append(event["event"], payload)
    with pytest.raises(DivergedError, match="sharpe") as raised:
        replay(lambda: MARKET, out)
    assert raised.value.seq == forged


def test_tampering_with_any_line_is_detected(uncut: tuple[Path, Result], tmp_path: Path) -> None:
    lines = workspace(uncut[0]).journal.read_bytes().splitlines(keepends=True)
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
    """Interrupt a session after an event, and return the number of events; 0 if it ended before."""
    seen = 0

    def watch(event: str, payload: Mapping[str, Any]) -> None:
        nonlocal seen
        seen += 1
        if seen == n_events:
            raise Cut

    try:
        research(lambda: MARKET, RandomProposer(), CONFIG, workspace(folder, on_event=watch))
    except Cut:
        return seen
    return 0


def test_a_session_interrupted_after_any_event_resumes_to_the_same_result(
    uncut: tuple[Path, Result], tmp_path: Path
) -> None:
    n_events = len(session_of(workspace(uncut[0]).journal).events)
    counted = Ledger(uncut[0] / "ledger").count(Market.of(MARKET)).n
    for at in range(1, n_events) if os.environ.get("OPENOUTCRY_FULL") else (1, 3, 4, 10, n_events - 3, n_events - 1):
        folder = tmp_path / str(at)
        assert cut_after(folder, at) == at
        again = resume(lambda: MARKET, RandomProposer(), workspace(folder))
        assert listed(again) == listed(uncut[1])
        assert Ledger(folder / "ledger").count(Market.of(MARKET)).n == counted
        assert listed(replay(lambda: MARKET, workspace(folder))) == listed(uncut[1])


def test_a_truncated_last_line_is_ignored(uncut: tuple[Path, Result], tmp_path: Path) -> None:
    assert cut_after(tmp_path, 9) == 9
    journal = workspace(tmp_path).journal
    content = journal.read_bytes()
    journal.write_bytes(content[:-40])
    again = resume(lambda: MARKET, RandomProposer(), workspace(tmp_path))
    assert listed(again) == listed(uncut[1])
    assert listed(replay(lambda: MARKET, workspace(tmp_path))) == listed(uncut[1])


def test_a_session_that_has_ended_cannot_be_resumed(uncut: tuple[Path, Result]) -> None:
    with pytest.raises(oo.OpenOutcryError, match="which ended"):
        resume(lambda: MARKET, RandomProposer(), workspace(uncut[0]))


def test_several_sessions_share_a_journal(tmp_path: Path) -> None:
    first = whole(tmp_path)
    other = replace(CONFIG, seed=5, split=replace(CONFIG.split, holdout_bars=0))
    second = research(lambda: MARKET, RandomProposer(), other, workspace(tmp_path))
    assert session_of(workspace(tmp_path).journal).session_id == second.session_id
    assert listed(replay(lambda: MARKET, workspace(tmp_path), first.session_id[:8])) == listed(first)
    assert listed(replay(lambda: MARKET, workspace(tmp_path))) == listed(second)
    with pytest.raises(oo.OpenOutcryError, match="a session of the journal is required"):
        session_of(workspace(tmp_path).journal, "no-such")


def test_the_start_event_holds_all_inputs_of_the_results(uncut: tuple[Path, Result]) -> None:
    start = session_of(workspace(uncut[0]).journal).start
    assert ResearchConfig.of_json(start["config"]) == CONFIG
    assert start["market"]["whole_fingerprint"] == MARKET.fingerprint
    assert start["market"]["fingerprint"] != MARKET.fingerprint
    assert {"engine", "folds", "gates_version", "catalogue_sha256", "memory", "holdout"} <= set(start)
    assert {"git", "tier", "python", "numpy"} <= set(start["environment"])


def test_a_forged_journal_is_detected_by_its_anchors_in_the_ledger(uncut: tuple[Path, Result], tmp_path: Path) -> None:
    """A18: two anchors protect what a replay cannot recompute, such as the number of prior trials."""
    recorded = session_of(workspace(uncut[0]).journal)

    def forged(folder: Path, events: list[tuple[str, Any]], session: str) -> Workspace:
        out = Workspace(folder, Ledger(uncut[0] / "ledger"))
        out.journal.parent.mkdir(parents=True)
        shutil.copytree(workspace(uncut[0]).blobs, out.blobs)
        with ChainedLog(out.journal, session=session) as log:
            log.append_all(events)
        return out

    copied = [(event["event"], json.loads(json.dumps(event["payload"]))) for event in recorded.events]
    # An identical copy has other timestamps, and therefore other hashes.
    out = forged(tmp_path / "again", copied, recorded.session_id)
    assert listed(replay(lambda: MARKET, replace(out, ledger=None))) == listed(uncut[1])
    with pytest.raises(oo.OpenOutcryError, match="another journal at `session_start`"):
        replay(lambda: MARKET, out)
    out = forged(tmp_path / "named", copied, "a-name-of-ones-own")
    with pytest.raises(oo.OpenOutcryError, match="a session without an anchor"):
        replay(lambda: MARKET, out)
    with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
        Ledger(uncut[0] / "ledger", session=recorded.session_id).anchor("session_end", "0" * 64)


def test_a_forged_start_event_cannot_be_resumed(tmp_path: Path) -> None:
    """A18: a session that claims no prior trials must have started without them."""
    whole(tmp_path)
    assert cut_after(tmp_path, 5) == 5
    recorded = session_of(workspace(tmp_path).journal, is_cut=True)
    lines = workspace(tmp_path).journal.read_bytes().splitlines(keepends=True)
    for n_events in (1, 5):
        out = Workspace(tmp_path / "out", Ledger(tmp_path / "ledger"))
        out.journal.write_bytes(b"".join(lines[: -len(recorded.events)]))
        with ChainedLog(out.journal, session=f"forged-{n_events}") as log:
            for event in recorded.events[:n_events]:
                payload = json.loads(json.dumps(event["payload"]))
                if event["event"] == "session_start":
                    payload["memory"]["n_trials"] = 0
                log.append(event["event"], payload)
        with pytest.raises(oo.OpenOutcryError, match="a session without an anchor"):
            resume(lambda: MARKET, RandomProposer(), out, f"forged-{n_events}")


def test_a_journal_without_recorded_trials_cannot_be_finished(tmp_path: Path) -> None:
    """A3: a truncated journal, or one that attributes its trials to another session, would restart their count."""
    assert cut_after(tmp_path, 13) == 13
    journal = workspace(tmp_path).journal
    recorded, lines = session_of(journal), journal.read_bytes().splitlines(keepends=True)
    copied = [(event["event"], json.loads(json.dumps(event["payload"]))) for event in recorded.events]
    assert [event for event, _ in copied] == ["session_start", *["proposal", "trial", "decision"] * 4]
    proposal = copied[1][1]["proposal"]
    rejected = {"round": 0, "reason": "duplicate", "detail": "already evaluated as x", "duplicate_of": "x"}
    rejected |= {"scores": {}, "n_dry": 1, "n_session": 0, "n_trials": 0}
    for kept, more in ((1, []), (4, []), (2, [("reject", rejected)])):
        journal.write_bytes(b"".join(lines[:kept]))
        with ChainedLog(journal, session=recorded.session_id) as log:
            log.append_all(more)
        with pytest.raises(oo.OpenOutcryError, match="must have all trials that the ledger holds of it"):
            resume(lambda: MARKET, FixedProposer([proposal]), workspace(tmp_path))
        assert not session_of(journal).is_over


def test_the_duration_before_an_interruption_counts(tmp_path: Path) -> None:
    """A2: a resumed session does not restart its budget of seconds."""
    config = replace(CONFIG, budgets=replace(CONFIG.budgets, seconds=3600.0))
    seen = 0

    def watch(event: str, payload: Mapping[str, Any]) -> None:
        nonlocal seen
        seen += event == "decision"
        if seen == 2:
            raise Cut

    with pytest.raises(Cut):
        research(lambda: MARKET, RandomProposer(), config, replace(workspace(tmp_path), on_event=watch))
    journal = workspace(tmp_path).journal
    recorded = session_of(journal)
    # As if the last proposal had arrived after an hour.
    last = max(at for at, event in enumerate(recorded.events) if event["event"] == "proposal")
    journal.unlink()
    with ChainedLog(journal, session=recorded.session_id) as log:
        for at, event in enumerate(recorded.events):
            payload = json.loads(json.dumps(event["payload"]))
            if at == last:
                payload["environment"]["seconds"] = 3600.0
            log.append(event["event"], payload)
    # A user who may write both starts a new ledger.
    start = session_of(journal).events[0]["hash"]
    shutil.rmtree(tmp_path / "ledger")
    Ledger(tmp_path / "ledger", session=recorded.session_id).anchor("session_start", start)
    again = resume(lambda: MARKET, RandomProposer(), workspace(tmp_path))
    assert again.stopped_reason == "time_budget"
    assert len(again.trials) == 2


def test_a_session_without_a_ledger_that_was_resumed_is_replayed(tmp_path: Path) -> None:
    n_seen = 0

    def cut(event: str, payload: Mapping[str, Any]) -> None:
        nonlocal n_seen
        n_seen += 1
        if n_seen == 6:
            raise Cut

    alone = Workspace(tmp_path)
    with pytest.raises(Cut):
        research(lambda: MARKET, RandomProposer(), CONFIG, Workspace(tmp_path, on_event=cut))
    resumed = resume(lambda: MARKET, RandomProposer(), alone)
    assert listed(replay(lambda: MARKET, alone)) == listed(resumed)
