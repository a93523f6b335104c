"""Records of MCP sessions: written during the episode and completed at its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_sessions import HOLD, manager_of, new_session, played, refused, stepped

import openoutcry as oo
from openoutcry.backtest.replay import replay
from openoutcry.harness.mcp import Bounds, RecordFolder, SessionManager, markets_of
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once


def test_each_decision_is_on_disk_when_its_step_returns(tmp_path: Path) -> None:
    market = oo.Dataset.synthetic(3, 60, 5)
    manager = manager_of(market, records=RecordFolder(tmp_path))
    answer, untouched = new_session(manager), new_session(manager)
    path = tmp_path / f"{answer['session']}.jsonl"
    for n_made in range(1, 4):
        answer = stepped(manager, answer)
        record = RunRecord.load(path)
        made = replay(record, market)
        assert (made.n_steps, made.differences, bool(record.unfinished)) == (n_made, (), True)
    refused(lambda: manager.step({"session": answer["session"], "decision": {}}))
    before = path.read_bytes()
    manager.close()
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert untouched["session"] not in path.name


def test_a_finished_record_equals_that_of_its_backtest(tmp_path: Path) -> None:
    market = oo.Dataset.synthetic(3, 60, 5)
    manager = manager_of(market, records=RecordFolder(tmp_path))
    steps = played(manager, new_session(manager))
    record = RunRecord.load(tmp_path / f"{steps[-1]['session']}.jsonl")
    assert replay(record, market).verified
    assert record.digest == manager.score({"session": steps[-1]["session"]})["record"]["digest"]


def test_the_folder_of_records_is_created(tmp_path: Path) -> None:
    assert RecordFolder(tmp_path / "a" / "b").folder.is_dir()
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "in"):
        assert refused(lambda folder=folder: RecordFolder(folder)).slug == "argument_invalid"  # type: ignore[misc]


@pytest.mark.parametrize("when", ["score", "close"])
def test_writing_a_failed_record_is_retried(when: str, tmp_path: Path) -> None:
    folder, away = tmp_path / "records", tmp_path / "away"
    manager = manager_of(records=RecordFolder(folder))
    answer = stepped(manager, new_session(manager))
    folder.rename(away)
    steps = played(manager, answer)
    assert steps[-1]["done"]
    session = {"session": answer["session"]}
    lost = manager.score(session)["record"]
    assert (lost["file"], lost["digest"], lost["market"]) == (None, None, None)
    assert lost["fault"]
    assert str(tmp_path) not in lost["fault"]
    away.rename(folder)
    if when == "score":
        assert manager.score(session)["record"]["fault"] is None
    manager.close()
    record = RunRecord.load(folder / f"{answer['session']}.jsonl")
    assert (record.unfinished, len(record.decisions[0])) == (None, len(steps) + 1)


def test_a_closed_session_with_an_unwritten_record_keeps_its_place(tmp_path: Path) -> None:
    folder, away = tmp_path / "records", tmp_path / "away"
    manager = manager_of(records=RecordFolder(folder), bounds=Bounds(sessions=2))
    first = stepped(manager, new_session(manager))
    folder.rename(away)
    second = stepped(manager, new_session(manager, replaces=first["session"]))
    assert refused(lambda: manager.observe({"session": first["session"]})).slug == "unknown_session"
    assert refused(lambda: new_session(manager)).slug == "too_many_sessions"
    assert refused(lambda: new_session(manager, replaces=second["session"])).slug == "too_many_sessions"
    second = stepped(manager, second)
    with pytest.raises(RuntimeError, match="not every record could be written"):
        manager.close()
    away.rename(folder)
    manager.close()
    made = [len(RunRecord.load(folder / f"{each['session']}.jsonl").decisions[0]) for each in (first, second)]
    assert made == [1, 2]


def test_writing_a_failed_market_snapshot_is_retried(tmp_path: Path) -> None:
    manager = SessionManager(markets_of([oo.data.load("us-treasury")], "full"), records=RecordFolder(tmp_path))
    answer = manager.reset({"window": "+100:+102"})
    played(manager, answer, lambda seen: HOLD)
    (tmp_path / "markets").touch()
    with pytest.raises(RuntimeError, match="not every record could be written"):
        manager.close()
    (tmp_path / "markets").unlink()
    manager.close()
    assert len(list((tmp_path / "markets").iterdir())) == 2
