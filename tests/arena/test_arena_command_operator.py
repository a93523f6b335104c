"""Operator commands: seasons, markets, results, keys and backups."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor

from openoutcry import OpenOutcryError
from openoutcry.arena.demo_season import Demo
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.season_export import export, score_faults
from openoutcry.arena.store.backup import backup
from openoutcry.arena.timestamps import DAY, HOUR, format_timestamp, now, parse_timestamp

pytestmark = pytest.mark.once

MARKET = "kalshi:KXIRANSTRIKE-DEMO1"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    """Open a season in which two agents decided on a market that is closed now."""
    with floor(tmp_path / "arena") as found:
        found.publish()
        for slug, share in (("ada", 0.1), ("bob", 0.8)):
            found.register(slug)
            assert found.submit(slug, (MARKET, share)).status_code == 200
        found.clock[0] += 40 * HOUR
        yield found


def said(tmp_path: Path, *words: str) -> list[str]:
    done = typed("arena", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def refused(tmp_path: Path, *words: str) -> str:
    done = typed("arena", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert done.stderr.count("\n") == 1
    return done.stderr


def records(ground: Floor, kind: str) -> list[dict[str, Any]]:
    """Return the records of a type from the database."""
    with ground.arena.reading.connect() as connection:
        texts = connection.exec_driver_sql("SELECT record FROM records ORDER BY seq").scalars()
        found = [json.loads(bytes(text)) for text in texts]
    return [each for each in found if each["type"] == kind]


def test_an_amended_result_recomputes_all_scores_and_is_public(ground: Floor, tmp_path: Path) -> None:
    #
    """The first result stays in the log, and the scores of an export can be recomputed."""
    assert "hint: use `openoutcry arena resolve` for the first one" in refused(tmp_path, "amend", MARKET, "yes")
    assert said(tmp_path, "resolve", MARKET, "finalized", "--outcome", "no") == [
        f"record 7: {MARKET} is finalized, no",
    ]
    assert [line.split()[:3] for line in said(tmp_path, "season", "all")] == [["1", "ada", "1"], ["2", "bob", "1"]]
    assert said(tmp_path, "amend", MARKET, "yes", "--source", "correction") == [
        f"record 8: {MARKET} is amended, yes",
        "bob: rank 2 to 1, Brier 0.6400 to 0.0400, skill -1.5600 to 0.8400",
        "ada: rank 1 to 2, Brier 0.0100 to 0.8100, skill 0.9600 to -2.2400",
    ]
    reply = [(each["status"], each["outcome"], each["source"]) for each in records(ground, "resolution")]
    assert reply == [("finalized", "no", "operator"), ("amended", "yes", "correction")]
    assert [line.split(", 20")[0] for line in said(tmp_path, "market", MARKET)[-2:]] == [
        "record 7: finalized, no",
        "record 8: amended, yes",
    ]
    said(tmp_path, "export", "season")
    assert audit(tmp_path / "season") == []
    assert score_faults(tmp_path / "season") == []
    # A running server has the same board once its clock equals the command's.
    ground.clock[0] = now()
    ground.arena.writer.write(_Nothing())
    rows = ground.client.get(f"{BASE}/leaderboard").json()["rows"]
    assert [(row["slug"], row["rank"]) for row in rows] == [("bob", 1), ("ada", 2)]


class _Nothing:
    """An empty entry; the writer reloads the log before it."""

    has_own_transaction = True

    def plan(self, batch: Any) -> None:
        """Add nothing."""

    def result(self, planned: Any, log: Any, sealed: Any, batch: Any) -> None:
        """Return None."""


def test_the_time_from_which_a_result_counts_is_printed(tmp_path: Path) -> None:
    #
    """A score before the cutoff would reveal decisions."""
    with floor(tmp_path / "arena") as found:
        found.clock[0], found.demo = now(), Demo(datetime.now(timezone.utc))
        found.publish()
        cutoff = format_timestamp(found.arena.state.markets[MARKET].decision_cutoff)
        (reply,) = said(tmp_path, "resolve", MARKET, "determined", "--outcome", "no")
        (stated,) = records(found, "resolution")
        after = format_timestamp(parse_timestamp("at", stated["at"]) + DAY)
        assert reply.endswith(f"is determined, no; it counts after {after}, unless it is disputed before")
        (reply,) = said(tmp_path, "resolve", MARKET, "finalized", "--outcome", "no")
        assert reply.endswith(f"is finalized, no; it counts after {cutoff}, the market's cutoff")
        (reply,) = said(tmp_path, "resolve", MARKET, "void")
        assert reply.endswith(f"{MARKET} is void")


def test_an_inconsistent_result_is_refused(ground: Floor, tmp_path: Path) -> None:
    #
    """The market must exist, and the outcome must match the status."""
    for words in (["finalized"], ["void", "--outcome", "no"], ["finalized", "--outcome", "maybe"]):
        assert "an outcome of yes or no is required" in refused(tmp_path, "resolve", MARKET, *words)
    assert "a status of determined" in refused(tmp_path, "resolve", MARKET, "settled")
    assert "not_found" in refused(tmp_path, "resolve", "kalshi:NONE", "finalized", "--outcome", "no")
    assert "an outcome of yes or no is required" in refused(tmp_path, "resolve", MARKET, "amended")
    assert records(ground, "resolution") == []


def test_decisions_in_the_last_two_hours_before_an_early_close_do_not_count(ground: Floor, tmp_path: Path) -> None:
    #
    """An amendment without a close time keeps the close time."""
    assert "must be a time in UTC" in refused(tmp_path, "resolve", MARKET, "void", "--closed-at", "noon")
    said(tmp_path, "resolve", MARKET, "finalized", "--outcome", "no", "--closed-at", "2026-05-08T14:00:00Z")
    assert [line.split()[:3] for line in said(tmp_path, "season", "all")] == [["-", "ada", "0"], ["-", "bob", "0"]]
    said(tmp_path, "amend", MARKET, "yes")
    closes = [each["actual_close_time"] for each in records(ground, "resolution")]
    assert closes == ["2026-05-08T14:00:00Z"] * 2
    said(tmp_path, "resolve", MARKET, "finalized", "--outcome", "yes")
    with floor(tmp_path / "arena") as again:
        market = again.arena.state.markets[MARKET]
    assert market.actual_close_time == parse_timestamp("t", closes[0]), "a result without a close time keeps it"
    assert [line.split()[2] for line in said(tmp_path, "season", "all")] == ["0", "0"]


def test_a_close_in_the_future_is_refused(ground: Floor, tmp_path: Path) -> None:
    #
    words = (MARKET, "finalized", "--outcome", "no", "--closed-at", "2999-01-01T00:00:00Z")
    assert "a close time not after" in refused(tmp_path, "resolve", *words)
    assert records(ground, "resolution") == []


def test_a_final_result_changes_only_by_an_explicit_correction(ground: Floor, tmp_path: Path) -> None:
    #
    """A second `finalized` with another outcome is refused; corrections use `amended`."""
    said(tmp_path, "resolve", MARKET, "finalized", "--outcome", "no")
    for words in (["finalized", "--outcome", "yes"], ["determined", "--outcome", "yes"], ["disputed"]):
        assert "amended, void, scalar is required" in refused(tmp_path, "resolve", MARKET, *words)
    said(tmp_path, "resolve", MARKET, "finalized", "--outcome", "no")
    said(tmp_path, "resolve", MARKET, "amended", "--outcome", "yes")
    said(tmp_path, "resolve", MARKET, "void")
    assert "amended, void, scalar is required" in refused(tmp_path, "resolve", MARKET, "finalized", "--outcome", "no")
    said(tmp_path, "amend", MARKET, "no")
    assert [each["outcome"] for each in records(ground, "resolution")] == ["no", "no", "yes", None, "no"]


def test_a_market_belongs_to_the_quarter_in_which_its_result_was_final(ground: Floor, tmp_path: Path) -> None:
    """No market is lost at the end of a quarter."""
    ground.resolve(MARKET, "no")
    lines = said(tmp_path, "season")
    assert lines[0] == "log: openoutcry.arena/local, 8 records since 2026-05-08"
    assert lines[1] == "agents: 2, snapshots: 1, newest 2026-05-08T12:00:00Z"
    assert lines[2:4] == [
        "all: 1 market with a result, 2 agents scored, first ada",
        "2026Q2: 1 market with a result, 2 agents scored, first ada",
    ]
    assert all(line.endswith(": 0 markets with a result, 0 agents scored") for line in lines[4:])
    assert [line.split()[:3] for line in said(tmp_path, "season", "2026Q2")] == [["1", "ada", "1"], ["2", "bob", "1"]]
    assert [line.split()[:3] for line in said(tmp_path, "season", "all", "--theater", "korea")] == [
        ["-", "ada", "0"],
        ["-", "bob", "0"],
    ]
    assert "a season of all, 2026Q2" in refused(tmp_path, "season", "2025Q1")


def test_markets_are_listed_and_shown(ground: Floor, tmp_path: Path) -> None:
    ground.resolve(MARKET, "no")
    lines = said(tmp_path, "market")
    assert len(lines) == 8
    assert lines[-1].split() == ["settled", "2026-05-08T16:00:00Z", MARKET, "no"]
    assert said(tmp_path, "market", "--status", "settled") == [lines[-1]]
    shown = said(tmp_path, "market", MARKET)
    assert shown[0].startswith(f"{MARKET}: Synthetic: Will a strike on Iran")
    assert shown[1:3] == ["theaters: iran", "cutoff: 2026-05-08T16:00:00Z, closes: 2026-05-08T18:00:00Z"]
    assert shown[4] == "record 7: finalized, no, 2026-05-10T04:03:00Z, by a test"
    assert "a market of a published snapshot is required" in refused(tmp_path, "market", "kalshi:NONE")
    assert "invalid_payload" in refused(tmp_path, "market", "--status", "gone")


def test_keys_are_issued_and_rotated_in_the_log(ground: Floor, tmp_path: Path) -> None:
    #
    """Slugs are unique, an old key is invalid, and the log contains no key."""
    (key,) = said(tmp_path, "issue-key", "Cy-1", "--name", "Cy")
    assert "slug_taken" in refused(tmp_path, "issue-key", "cy-1")
    assert "invalid_registration" in refused(tmp_path, "issue-key", "not a slug")
    assert "invalid_registration" in refused(tmp_path, "issue-key", "cy-2", "--name", "x" * 81)
    (rotated,) = said(tmp_path, "rotate-key", "cy-1")
    assert key != rotated
    assert "unknown_agent" in refused(tmp_path, "rotate-key", "nobody")
    ground.arena.writer.write(_Nothing())
    for each, status in ((key, 401), (rotated, 200)):
        answer = ground.client.get(f"{BASE}/markets", headers={"Authorization": f"Bearer {each}"})
        assert answer.status_code == status
    (issued,) = [each for each in records(ground, "agent") if each["agent_slug"] == "cy-1"]
    (changed,) = records(ground, "key")
    assert (issued["display_name"], changed["agent_slug"]) == ("Cy", "cy-1")
    assert issued["key_sha256"] != changed["key_sha256"]
    assert key not in str(issued)


def test_a_suspension_prints_its_change_and_is_refused_without_one(ground: Floor, tmp_path: Path) -> None:
    #
    assert "received 'ada', which is not" in refused(tmp_path, "suspend", "ada", "a mistake", "--lift")
    for blank in ("", "  "):
        assert "a reason, which becomes public, is required" in refused(tmp_path, "suspend", "ada", blank)
    assert "unknown_agent" in refused(tmp_path, "suspend", "nobody", "why")
    assert said(tmp_path, "suspend", "Ada", " two keys ") == ["record 7: ada is suspended: two keys"]
    assert "received 'ada', which is\n" in refused(tmp_path, "suspend", "ada", "two keys")
    assert said(tmp_path, "suspend", "ada", "settled", "--lift") == ["record 8: ada may submit again: settled"]
    reply = [(each["seq"], each["suspended"], each["reason"]) for each in records(ground, "suspension")]
    assert reply == [(7, True, "two keys"), (8, False, "settled")]


def test_a_misspelled_folder_creates_no_arena(tmp_path: Path) -> None:
    for words in (["season"], ["market"], ["resolve", MARKET, "void"], ["rotate-key", "ada"], ["export", "out"]):
        assert "the folder of an arena" in refused(tmp_path, *words, "--data-dir", "arean")
    wanted = "a folder with `arena.sqlite` and `log.key` is required"
    assert wanted in refused(tmp_path, "backup", "out", "--data-dir", "arean")
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_a_served_arena_can_be_served(ground: Floor, tmp_path: Path) -> None:
    #
    """A backup contains all acknowledged records, and records, keys and agents continue."""
    (ground.arena.folder / "cosignatures").mkdir()
    (ground.arena.folder / "cosignatures" / "0a0b0c0d").write_text("x")
    assert said(tmp_path, "backup", "copy") == ["backed up: 7 records to copy; it contains the log's private key"]
    assert "a backup must go to an empty folder" in refused(tmp_path, "backup", "copy")
    assert ((tmp_path / "copy").stat().st_mode & 0o777, (tmp_path / "copy" / "log.key").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    assert (tmp_path / "copy" / "cosignatures" / "0a0b0c0d").read_text() == "x"
    with floor(tmp_path / "copy") as again:
        assert again.arena.writer.checkpoint == ground.arena.writer.checkpoint
        again.clock[0], again.keys = ground.clock[0], ground.keys
        again.publish()
        assert again.submit("ada", ("kalshi:KXISRAELIRANTALKS-DEMO1", 0.5)).status_code == 200
        export(again.arena, tmp_path / "season", again.clock[0])
    assert audit(tmp_path / "season", str(ground.arena.key.verifier)) == []


def spoil(statement: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        with sqlite3.connect(folder / "arena.sqlite") as connection:
            connection.execute(statement)
        connection.close()

    return change


# With the member name: three letters alone may occur in a hash.
RENAMED = """UPDATE records SET record = CAST(replace(record, 'slug":"ada"', 'slug":"adx"') AS BLOB) WHERE seq = 3"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (spoil("DELETE FROM records WHERE seq = 0"), "record 0: "),
        (spoil("DELETE FROM records WHERE seq = 3"), "record 3: "),
        (spoil(RENAMED), "record 4: "),
        (spoil("DELETE FROM meta WHERE key = 'checkpoint'"), "the stored checkpoint does not match the records"),
        (spoil("DELETE FROM records WHERE seq = 6"), "the stored checkpoint does not match the records"),
        (spoil("INSERT INTO tiles VALUES (0, 0, x'00')"), "the stored tiles do not match the records"),
        (spoil("DELETE FROM records"), "the key belongs to another log"),
        (lambda folder: (folder / "log.key").write_text("PRIVATE+KEY+x"), "a signer key"),
    ],
)
def test_an_incomplete_backup_is_reported(
    change: Callable[[Path], object], expected: str, ground: Floor, tmp_path: Path
) -> None:
    backup(tmp_path / "arena", tmp_path / "spoiled")
    change(tmp_path / "spoiled")
    with pytest.raises(OpenOutcryError, match=expected):
        backup(tmp_path / "spoiled", tmp_path / "copy")
