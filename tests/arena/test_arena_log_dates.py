"""When records were made: what is dated back, or not witnessed, is found by both verifiers."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from arena_logs import AS_OF, SNAPSHOT, WITNESS_KEY, Season, decision, places, write

pytestmark = pytest.mark.once

SIZES = {"sha256": sha256(SNAPSHOT).hexdigest(), "size": len(SNAPSHOT)}


def test_a_submission_that_was_dated_back_is_found_though_the_log_is_signed(tmp_path: Path) -> None:
    """R-28: whoever has the log's key cannot say later that a decision came before a snapshot that stands before it."""
    edge = "2026-05-08T13:00:00Z"
    moments = ("2026-05-08T12:59:59.999999Z", "2026-05-08T12:01:00Z", edge, "2026-05-08T13:00:00.000001Z")
    for received in moments:
        made = Season().begin()
        made.publish()
        made.publish(edge)
        made.submit([decision("KXA-26", 0.5)], received=edge)
        made.submit([decision("KXB-26", 0.5)], received=received)
        wanted = set() if received >= edge[:-1] else {("log.jsonl", 4)}
        assert places(made.export(tmp_path / received)) == wanted, received


LATER = [
    lambda made: made.suspend("eve"),
    lambda made: made.register("eve", "key"),
    lambda made: made.resolve("kalshi:KXZ-26"),
    lambda made: made.end_day(),
    lambda made: made.submit([decision("KXZ-26", 0.5)], received="2026-05-09T08:00:00Z"),
]


@pytest.mark.parametrize("later", LATER)
def test_nothing_is_dated_back_behind_any_record(later: Callable[[Season], Any], tmp_path: Path) -> None:
    """R-28, R-44: where slots are missed, every other record says how late it is, too."""
    for act in (
        lambda made: made.submit([decision("KXA-26", 0.5)], received="2026-05-09T01:00:00Z"),
        lambda made: made.resolve("kalshi:KXA-26"),
        lambda made: made.suspend("ada"),
        lambda made: made.score(),
    ):
        made = Season().begin()
        made.publish()
        made.newest = "2026-05-09T08:00:00Z"
        later(made)
        made.newest = ""
        act(made)
        assert places(made.export(tmp_path / str(len(list(tmp_path.iterdir()))))) == {("log.jsonl", 3)}


def test_a_snapshot_is_published_after_its_moment(tmp_path: Path) -> None:
    """R-20: one that was ready before the moment that it is of has not seen it."""
    made = Season().begin()
    made.append({"type": "snapshot", "as_of": "2026-05-08T12:10:00Z", "at": AS_OF, **SIZES})
    made.snapshots["2026-05-08T12:10:00Z"] = SNAPSHOT
    assert places(made.export(tmp_path)) == {("log.jsonl", 1)}


def test_a_witness_must_have_seen_all_whole_days_also_where_none_was_closed(tmp_path: Path) -> None:
    """R-42: an operator who writes no record of days does not need a witness less."""
    made = Season().begin()
    made.publish()
    seen = made.checkpoint
    for day in range(9, 12):
        made.publish(f"2026-05-{day:02}T12:00:00Z", SNAPSHOT + b" " * day)
    for count, wanted in ((2, {("cosignatures", None)}), (4, set())):
        files = made.files()
        signed = seen if count == 2 else made.checkpoint
        line = WITNESS_KEY.line(signed.rpartition("\n\n")[0] + "\n", 1_778_241_600)
        files[f"cosignatures/{WITNESS_KEY.verifier.key_id.hex()}"] = (signed + line).encode()
        assert places(write(tmp_path / str(count), files)) == wanted
