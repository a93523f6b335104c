"""The SQLite index of a ledger: disposable, and independent of how it was built."""

from __future__ import annotations

import json
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_runs import id_of, ledger_at, ledger_run, market, returns, tables

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.ledger import Ledger, LedgerRun, Market
from openoutcry.ledger.log_segments import LogPosition
from openoutcry.ledger.parallel_reader import piece_of, pieces, spans

pytestmark = pytest.mark.once

MARKETS = [
    market("a", (1, 2, 3, 4)),
    market("b", (11, 12, 13)),
    market("c", (3, 4, 5, 6)),
    market("d"),
    market("e", (99,)),
]
# Contains parts of two families and merges them.
BRIDGE = market("bridge", (1, 2, 3, 11, 12, 13))

RUNS = st.builds(
    lambda number, sharpe, place, strategy, options: ledger_run(
        number, sharpe, market=[*MARKETS, BRIDGE][place], strategy={"name": strategy}, **options
    ),
    st.integers(0, 40),
    st.none() | st.floats(-3.0, 3.0),
    st.integers(0, 5),
    st.sampled_from("pqrs"),
    st.fixed_dictionaries(
        {},
        optional={
            "status": st.sampled_from(["done", "failed"]),
            "kind": st.sampled_from(["run", "trial", "holdout"]),
            "holdout_touched": st.booleans(),
            "n_configs": st.integers(1, 5),
            "n_returns": st.sampled_from([100, 200]),
            "returns": st.just(returns()),
            "metrics": st.fixed_dictionaries({"win_rate": st.floats(0.0, 1.0), "total_positions": st.integers(0, 9)}),
        },
    ),
)


@given(st.lists(st.lists(RUNS, max_size=6), max_size=5), st.integers(0, 1))
@settings(max_examples=25)
def test_an_incrementally_updated_index_equals_a_rebuilt_one(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[list[LedgerRun]], is_small: int
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    ledger = ledger_at(folder, rotate_at=3_000 if is_small else 10**9)
    for place, block in enumerate(blocks):
        ledger.add(block, sync=False)
        if place == 1:
            ledger.open_holdout(MARKETS[0], ("2020-01-01", "2020-02-01"), seal="x")
    caught_up = tables(ledger)
    ledger.rebuild()
    assert tables(ledger) == caught_up
    # Compare with direct SQL over all runs.
    base = ledger.connection()
    by_key = "SELECT trial, MAX(n_configs) AS n, MIN(market) AS market FROM runs GROUP BY trial"
    query = f"SELECT family, SUM(n) FROM ({by_key}) AS t JOIN markets ON markets.id = t.market GROUP BY family"
    assert dict(base.execute(query)) == {family: n for family, n in base.execute("SELECT * FROM families") if n}
    query = (
        "SELECT strategy, COUNT(DISTINCT CASE WHEN status = 'done' THEN trial END) FROM runs WHERE kind != 'holdout'"
        " AND NOT holdout_touched GROUP BY strategy ORDER BY strategy"
    )
    kept = "SELECT strategy, n + n_covered + n_copied + n_undefined FROM strat_agg WHERE family = 0 ORDER BY strategy"
    assert base.execute(kept).fetchall() == base.execute(query).fetchall()
    ledger.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize("damage", ["removed", "emptied", "text", "schema", "page", "of another log"])
def test_a_missing_or_damaged_index_is_rebuilt(tmp_path: Path, damage: str) -> None:
    with ledger_at(tmp_path / "one") as ledger:
        ledger.add([ledger_run(number) for number in range(300)])
        whole = tables(ledger)
        ledger.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / "one" / "index.sqlite"
    if damage == "removed":
        path.unlink()
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_bytes(b"no database at all" * 100)
    elif damage == "schema":
        with sqlite3.connect(path) as base:
            base.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
        base.close()
    elif damage == "page":
        content = path.read_bytes()
        path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    else:
        with ledger_at(tmp_path / "two", "s2") as other:
            other.add([ledger_run(number, 2.0) for number in range(300)])
            other.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(tmp_path / "two" / "index.sqlite", path)
    with ledger_at(tmp_path / "one") as ledger:
        assert len(ledger.top(1000)) == 300
        assert tables(ledger) == whole


def test_readers_see_records_of_other_writers_and_a_replaced_index(tmp_path: Path) -> None:
    one, two = ledger_at(tmp_path, "one"), ledger_at(tmp_path, "two")
    one.add([ledger_run(1)])
    assert len(two.list()) == 1
    two.add([ledger_run(2)])
    assert len(one.list()) == 2
    two.rebuild()
    two.add([ledger_run(3)])
    assert len(one.list()) == 3
    assert tables(one) == tables(two)


def test_a_truncated_log_is_detected_by_the_hash_in_the_index(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        ledger.add([ledger_run(number) for number in range(5)])
        assert len(ledger.list()) == 5
    path = tmp_path / "00000.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    found = Ledger(tmp_path).verify()
    assert len(found.faults) == 1
    assert "the log was truncated" in found.faults[0][1].what
    # The remaining records are used from then on.
    with ledger_at(tmp_path) as ledger:
        assert len(ledger.list()) == 3


def test_segments_rotate_with_a_continuous_chain(tmp_path: Path) -> None:
    with ledger_at(tmp_path, rotate_at=2_000) as ledger:
        for number in range(12):
            ledger.add([ledger_run(number)])
    with ledger_at(tmp_path, "s2", rotate_at=2_000) as ledger:
        ledger.add([ledger_run(number) for number in range(12, 15)])
        found = ledger.verify()
        assert (found.is_intact, found.n_records, len(found.segments) > 2) == (True, 16, True)
        assert len(ledger.list()) == 15
        before = tables(ledger)
        ledger.rebuild()
        assert tables(ledger) == before
    (tmp_path / "00001.jsonl").rename(tmp_path / "kept")
    faults = Ledger(tmp_path).verify().faults
    assert {name for name, _ in faults} == {"00001.jsonl", "00002.jsonl"}
    (tmp_path / "kept").rename(tmp_path / "00001.jsonl")
    assert Ledger(tmp_path).verify(found.head.hash).is_intact
    one, two = tmp_path / "00000.jsonl", tmp_path / "00001.jsonl"
    content = one.read_bytes(), two.read_bytes()
    one.write_bytes(content[1])
    two.write_bytes(content[0])
    assert not Ledger(tmp_path).verify().is_intact


@pytest.mark.once
def test_reading_in_pieces_gives_the_same_content(tmp_path: Path) -> None:
    with ledger_at(tmp_path, rotate_at=20_000) as ledger:
        for number in range(40):
            ledger.add([ledger_run(number, market=MARKETS[number % 5]), ledger_run(number + 50, status="failed")])
        with (tmp_path / "00000.jsonl").open("ab") as file:
            file.write(b'{"event":"torn\n{}\n')
        ledger.add([ledger_run(99, market=BRIDGE)])
        segments = ledger._segments
        parts = list(pieces(segments, LogPosition(), piece=3_000))
        whole = list(pieces(segments, LogPosition()))
    assert parts == [piece_of(span) for span in spans(segments, LogPosition(), 3_000)]
    assert len(parts) > len(whole) > 1
    assert [item for piece in parts for item in piece.items] == [item for piece in whole for item in piece.items]
    assert [sum(counts) for counts in zip(*(piece.counts for piece in parts), strict=True)] == [1, 1, 0, 0]


@pytest.mark.parametrize("content", [b"", b'{"event":"ru'])
def test_the_chain_continues_over_a_segment_without_a_complete_record(tmp_path: Path, content: bytes) -> None:
    with ledger_at(tmp_path) as ledger:
        ledger.add([ledger_run(1)])
    (tmp_path / "00001.jsonl").write_bytes(content)
    with ledger_at(tmp_path) as ledger:
        ledger.add([ledger_run(2)])
        found = ledger.verify()
        assert (found.is_intact, found.n_records, found.n_torn) == (True, 3, len(content[:1]))
        assert len(ledger.list()) == 2
    # The same for a segment that was truncated before the next one started.
    with (tmp_path / "00001.jsonl").open("ab") as file:
        file.write(b'{"event":"ru')
    with ledger_at(tmp_path, rotate_at=100) as ledger:
        ledger.add([ledger_run(3)])
        assert (len(ledger.list()), len(ledger.verify().segments)) == (3, 3)


def _line(record: dict[str, object]) -> bytes:
    record = {name: value for name, value in record.items() if name != "hash"}
    record["hash"] = sha256(native.canonicalize(json.dumps(record)).encode()).hexdigest()
    return native.canonicalize(json.dumps(record)).encode() + b"\n"


def test_records_of_a_later_version_are_counted_and_unknown_members_ignored(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        ledger.add([ledger_run(1, 0.5), ledger_run(2, 0.7), ledger_run(3)])
    path = tmp_path / "00000.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    records[1]["payload"]["mood"] = records[1]["payload"]["metrics"]["mood"] = {"new": 1}
    records[1]["host"] = "a new member"
    records[2]["v"] = 2
    del records[3]["payload"]["strategy"]
    lines, previous = [], "0" * 64
    for record in records:
        lines.append(_line(record | {"prev_hash": previous}))
        previous = json.loads(lines[-1])["hash"]
    path.write_bytes(b"".join(lines))
    (tmp_path / "index.sqlite").unlink(missing_ok=True)
    with ledger_at(tmp_path) as ledger:
        assert [each.summary.id for each in ledger.list()] == [id_of(1)]
        assert (ledger.read.n_newer, ledger.read.n_unread, ledger.read.n_changed) == (1, 1, 0)
        assert ledger.verify().is_intact
        # Absent is not 0.
        assert ledger.compare([id_of(1)])[0][0].win_rate is None


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "x"},
        {"trial": "zz" * 32},
        {"trial": "ab"},
        {"window": ["2020-01-01"]},
        {"window": [1, 2]},
        {"metrics": {"status": "done", "sharpe_ratio": "high"}},
        {"metrics": []},
        {"metrics": {"status": "unheard-of"}},
        {"n_configs": 1.5},
        {"n_configs": -1},
        {"strategy_id": "0" * 64},
        {"strategy": []},
        {"track": [1, 2]},
        {"track": [1, "a", 0, 3]},
        {"returns": "é"},
        {"market": None},
        {"kind": "unheard-of"},
        {"description": 7},
    ],
)
def test_an_intact_record_with_invalid_content_is_counted_and_skipped(
    tmp_path: Path, change: dict[str, object]
) -> None:
    with ledger_at(tmp_path) as ledger:
        ledger.add([ledger_run(1)])
        wrong = {**ledger_run(2).to_json(), **change}
        ledger._segments.append_all([("run", wrong), ("market", {"name": 3}), ("holdout_opened", {}), ("other", {})])
        ledger.add([ledger_run(3)])
        assert [each.summary.id for each in ledger.list()] == [id_of(3), id_of(1)]
        assert (ledger.read.n_unread, ledger.verify().is_intact) == (3, True)


def test_numbers_as_texts_and_nonfinite_numbers_are_read_as_specified(tmp_path: Path) -> None:
    """L2, L3."""
    with ledger_at(tmp_path) as ledger:
        for number, sharpe in enumerate(["1.25", "NaN", "inf"], 1):
            payload = ledger_run(number).to_json()
            payload["metrics"]["sharpe_ratio"] = sharpe
            entries = [("market", market().to_json())] if number == 1 else []
            ledger._segments.append_all([*entries, ("run", payload)])
        found, _ = ledger.compare([id_of(1), id_of(2), id_of(3)])
        assert [each.sharpe_ratio for each in found] == [1.25, None, None]
        assert found[1].undefined["sharpe_ratio"] == "a finite number is required; received nan"


def test_a_run_without_a_market_record_still_counts(tmp_path: Path) -> None:
    with ledger_at(tmp_path) as ledger:
        ledger._segments.append_all([("run", ledger_run(1).to_json())])
        assert ledger.count(market()).n == 1
        assert ledger.show(id_of(1)).market == Market(market().fingerprint)
        ledger.add([ledger_run(2)])
        assert ledger.show(id_of(1)).market == market()


def test_a_run_with_a_modified_line_is_not_shown(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1)])
    assert ledger.show(id_of(1)).status == "done"
    path = tmp_path / "00000.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"n":1', b'"n":2'))
    with pytest.raises(oo.OpenOutcryError, match="unchanged; received"):
        ledger.show(id_of(1))
    for unknown in (id_of(9), "nonsense"):
        with pytest.raises(oo.OpenOutcryError, match=r"is required|must be a UUID"):
            ledger.show(unknown)
