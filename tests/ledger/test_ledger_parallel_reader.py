"""The native log reader and the Python reader give the same result for every line."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_runs import ledger_at, ledger_run, market, returns, tables

from openoutcry.ledger import ingest
from openoutcry.ledger.index_rows import READER, UNREADABLE, RunRow, strategy_row
from openoutcry.ledger.ledger_entry import KINDS, STATES
from openoutcry.ledger.parallel_reader import Piece, Span, SpanReader, piece_of
from openoutcry.ledger.run_summary import NUMBERS
from openoutcry.records.chained_lines import canonical
from openoutcry.records.chained_log import scan

pytestmark = pytest.mark.once


def by_line(span: Span) -> Piece:
    """Read a span without the native reader."""
    reader = SpanReader(span)
    for line in scan(span.path, span.start, span.end):
        if not line.is_ended and span.is_last:
            break
        reader.add(line)
    return reader.piece()


def normalized(piece: Piece) -> Piece:
    """Return a piece with strategies as index rows, because their JSON texts may differ."""
    items = [item._replace(strategy=_strategy(item)) if isinstance(item, RunRow) else item for item in piece.items]
    return piece._replace(items=items)


def _strategy(row: RunRow) -> tuple[Any, ...]:
    try:
        return strategy_row(row)
    except UNREADABLE:
        return ()


def assert_same(path: Path, content: bytes) -> Piece:
    """Write a log and read it with both readers."""
    path.write_bytes(content)
    for is_last in (True, False):
        for start in (content.find(b"\n") + 1, 0):
            span = Span(str(path), 3, start, len(content), is_last)
            found = piece_of(span)
            # repr distinguishes 1 from 1.0.
            assert repr(normalized(found)) == repr(normalized(by_line(span)))
    return found


def log_of(*payloads: dict[str, Any]) -> bytes:
    """Return chained lines of runs."""
    lines, previous = [], "0" * 64
    for seq, payload in enumerate(payloads):
        body = {"event": "run", "payload": payload, "prev_hash": previous, "seq": seq, "session_id": "s1"}
        body |= {"ts": "2024-01-01T00:00:00Z", "v": 1}
        previous = sha256(canonical("body", body).encode()).hexdigest()
        lines.append(canonical("line", body | {"hash": previous}))
    return "".join(line + "\n" for line in lines).encode()


WHOLE = ledger_run(
    1,
    1.25,
    returns=returns(7),
    first="2020-01-02",
    description='a "word" é \\ \u2028',
    source="x\n",
    source_sha="ab",
    rules={"fee_bps": 1.0},
    isolation="T2",
    notes={"deep": [[{}]]},
    metrics={"win_rate": 0.5, "total_positions": 3, "net_pnl": -1e-7},
).to_json() | {"undefined": {"profit_factor": "no loss", "a\n": "é"}}
PLAIN = [WHOLE, ledger_run(2).to_json(), ledger_run(3, None, status="failed", error="E: é").to_json()]


def test_the_native_reader_reads_all_lines_that_a_ledger_writes(tmp_path: Path) -> None:
    content = log_of(*PLAIN)
    rows, end, first, last, n_broken = READER.read(content, 0, segment=0, offset=0)
    assert (len(rows), end, first, n_broken) == (3, len(content), (0, "0" * 64), 0)
    assert last is not None
    assert last[0] == 3
    assert len(assert_same(tmp_path / "log", content).items) == 3
    with ledger_at(tmp_path / "ledger") as ledger:
        ledger.add([ledger_run(number, returns=returns()) for number in range(5)])
    content = (tmp_path / "ledger" / "00000.jsonl").read_bytes()
    # The first line is the market record.
    assert len(READER.read(content, content.index(b"\n") + 1, segment=0, offset=0)[0]) == 5


NAMES = [*WHOLE, "kind", "holdout_touched", "error", "unheard-of"]
ODD = st.recursive(
    st.sampled_from(
        [None, True, False, 0, 1, -1, 2**53, 2.0**54, 1e300, -1e301, 0.5, 1.5, 1e21, 1e-7, "", "a", "0" * 64, "A" * 64]
    )
    | st.sampled_from([*KINDS, *STATES, "Zg==", "Zg=", "Zg =", "Zh==", "é", "2020-01-01", "K" * 36])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*NUMBERS, "status", "id", "candle_interval", "params"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(PLAIN), st.dictionaries(st.sampled_from(NAMES), ODD, max_size=2))))
@settings(max_examples=300)
def test_arbitrary_payloads_are_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, given: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    assert_same(tmp_path_factory.getbasetemp() / "any", log_of(*({**whole, **odd} for whole, odd in given)))


@given(st.sampled_from([*NUMBERS, "status", "candle_interval", "id"]), ODD)
@settings(max_examples=300)
def test_arbitrary_metrics_are_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: object
) -> None:
    payload = {**WHOLE, "metrics": {**WHOLE["metrics"], name: value}}
    assert_same(tmp_path_factory.getbasetemp() / "any", log_of(*PLAIN, payload, *PLAIN))


LOG = log_of(*PLAIN, {**WHOLE, "run_id": WHOLE["run_id"].upper()}, *PLAIN)


@given(st.lists(st.tuples(st.integers(0, len(LOG)), st.integers(0, 2), st.binary(max_size=2)), max_size=3))
@settings(max_examples=300)
def test_modified_bytes_are_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, bytes]]
) -> None:
    content = LOG
    for at, n, put in changes:
        content = content[:at] + put + content[at + n :]
    assert_same(tmp_path_factory.getbasetemp() / "any", content)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace('"kind":"trial"', '"kind": "trial"'),
        lambda body: body.replace('"kind":"trial"', '"kind":"tri\\u0061l"'),
        lambda body: body.replace('"kind":"trial"', '"kind":"run","kind":"trial"'),
        lambda body: body.replace('"kind":"trial"', '"kind":"\\ud800"'),
        lambda body: body.replace('"kind":"trial"', '"kind":"trial","j":1e999'),
        lambda body: body.replace('"kind":"trial"', '"kind":"trial","l":NaN'),
        lambda body: body.replace('"kind":"trial"', '"kind":"trial","l":' + "9" * 5_000),
        lambda body: body.replace('"kind":"trial"', '"kind":"trial","l":' + "[" * 200 + "]" * 200),
        lambda body: body.replace('"n_configs":1', '"n_configs":1.0'),
        lambda body: body.replace('"n_configs":1', '"n_configs":-0'),
        lambda body: body.replace('"seq":0', '"seq":9007199254740993'),
        lambda body: body.replace('"seq":0', '"seq":7'),
        lambda body: body.replace('"seq":0', '"seq":-1'),
        lambda body: body.replace('"v":1}', '"v":2}'),
        lambda body: body.replace('"v":1}', '"v":1,"w":0}'),
        lambda body: body.replace('"v":1}', '"v":true}'),
        lambda body: body.replace('"session_id":"s1"', '"session_id":"s 1"'),
        lambda body: body.replace(',"session_id":"s1"', ""),
        lambda body: body.replace('"ts":"2024-01-01T00:00:00Z"', '"ts":"2024-01-01T00:00:00+00:00"'),
        lambda body: body.replace('"prev_hash":"0', '"prev_hash":"F'),
        lambda body: body.replace('"strategy":{', '"strategy":{"a":' + "[" * 70 + "]" * 70 + ","),
        lambda body: body.replace('"event":"run"', '"event":"runs"'),
        lambda body: body.replace('"event":"run"', '"event":"market"'),
    ],
)
def test_an_unusual_line_with_a_valid_hash_is_read_the_same(tmp_path: Path, change: Callable[[str], str]) -> None:
    record = json.loads(log_of(WHOLE))
    del record["hash"]
    body = canonical("record", record)
    changed = change(body)
    assert changed != body
    digest, (head, rest) = sha256(changed.encode()).hexdigest(), changed.split(",", 1)
    line = f'{head},"hash":"{digest}",{rest}\n'.encode()
    assert_same(tmp_path / "log", line)
    assert_same(tmp_path / "log", LOG + line + LOG)
    # Without a line end, and before an invalid line.
    assert_same(tmp_path / "log", LOG + line[:-1])
    assert_same(tmp_path / "log", line.replace(digest.encode(), b"0" * 64) + b"\n\xff\n" + LOG[:-1])


def test_chain_breaks_are_counted_the_same(tmp_path: Path) -> None:
    lines = LOG.splitlines(keepends=True)
    for one, other in pairwise(range(len(lines))):
        moved = [*lines[:one], lines[other], lines[one], *lines[other + 1 :]]
        assert assert_same(tmp_path / "log", b"".join(moved)).counts[1] > 0


@pytest.mark.parametrize("block", [1, 3, 20_000])
def test_a_log_with_duplicate_ids_rebuilds_the_same_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(ingest, "BLOCK", block)
    monkeypatch.setattr(ingest, "MAX_UNCOUNTED", 2 * block)
    with ledger_at(tmp_path) as ledger:
        for number in range(12):
            options: dict[str, Any] = {"status": "failed"} if number % 3 == 0 else {"returns": returns()}
            one = ledger_run(
                number % 7, number / 4, market=market("ab"[number % 2], (number % 2, 5)), n_configs=1 + number
            )
            duplicate = {
                **ledger_run(number % 7, number / 4, strategy={"name": "s"}, **options).to_json(),
                "trial": one.trial,
            }
            ledger._segments.append_all([("market", one.market.to_json()), ("run", one.to_json()), ("run", duplicate)])
            assert len(ledger.list()) == min(number + 1, 7)
        caught_up = tables(ledger)
        ledger.rebuild()
        assert tables(ledger) == caught_up
        assert [row[1] for row in caught_up["runs"]] == [ledger_run(number).run_id for number in range(7)]
