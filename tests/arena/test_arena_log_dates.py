"""Record times: both verifiers find backdated records and missing cosignatures."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from arena_logs import AS_OF, SNAPSHOT, WITNESS_KEY, Season, decision, fault_places, write

pytestmark = pytest.mark.once

SIZES = {"sha256": sha256(SNAPSHOT).hexdigest(), "size": len(SNAPSHOT)}


def test_a_backdated_submission_in_a_signed_log_is_found(tmp_path: Path) -> None:
    #
    """Not even the holder of the log's key can date a decision before a snapshot that precedes it in the log."""
    published = "2026-05-08T13:00:00Z"
    times = ("2026-05-08T12:59:59.999999Z", "2026-05-08T12:01:00Z", published, "2026-05-08T13:00:00.000001Z")
    for received in times:
        made = Season().start()
        made.publish()
        made.publish(published)
        made.submit([decision("KXA-26", 0.5)], received=published)
        made.submit([decision("KXB-26", 0.5)], received=received)
        wanted = set() if received >= published[:-1] else {("log.jsonl", 4)}
        assert fault_places(made.export(tmp_path / received)) == wanted, received


LATER = [
    lambda made: made.suspend("eve"),
    lambda made: made.register("eve", "key"),
    lambda made: made.resolve("kalshi:KXZ-26"),
    lambda made: made.end_day(),
    lambda made: made.submit([decision("KXZ-26", 0.5)], received="2026-05-09T08:00:00Z"),
]


@pytest.mark.parametrize("later", LATER)
def test_no_record_is_dated_before_its_predecessor(later: Callable[[Season], Any], tmp_path: Path) -> None:
    #
    """Every type of record bounds the time of the next one, even without snapshots."""
    for act in (
        lambda made: made.submit([decision("KXA-26", 0.5)], received="2026-05-09T01:00:00Z"),
        lambda made: made.resolve("kalshi:KXA-26"),
        lambda made: made.suspend("ada"),
        lambda made: made.score(),
    ):
        made = Season().start()
        made.publish()
        made.newest = "2026-05-09T08:00:00Z"
        later(made)
        made.newest = ""
        act(made)
        assert fault_places(made.export(tmp_path / str(len(list(tmp_path.iterdir()))))) == {("log.jsonl", 3)}


def test_a_snapshot_is_published_after_its_own_time(tmp_path: Path) -> None:
    #
    """A snapshot published before `as_of` cannot contain the information until then."""
    made = Season().start()
    made.append({"type": "snapshot", "as_of": "2026-05-08T12:10:00Z", "at": AS_OF, **SIZES})
    made.snapshots["2026-05-08T12:10:00Z"] = SNAPSHOT
    assert fault_places(made.export(tmp_path)) == {("log.jsonl", 1)}


def test_a_witness_must_cover_all_complete_days_even_without_day_records(tmp_path: Path) -> None:
    #
    """An operator cannot avoid the witness by writing no `day` records."""
    made = Season().start()
    made.publish()
    seen = made.checkpoint
    for day in range(9, 12):
        made.publish(f"2026-05-{day:02}T12:00:00Z", SNAPSHOT + b" " * day)
    for count, wanted in ((2, {("cosignatures", None)}), (4, set())):
        files = made.files()
        signed = seen if count == 2 else made.checkpoint
        line = WITNESS_KEY.line(signed.rpartition("\n\n")[0] + "\n", 1_778_241_600)
        files[f"cosignatures/{WITNESS_KEY.verifier.key_id.hex()}"] = (signed + line).encode()
        assert fault_places(write(tmp_path / str(count), files)) == wanted
