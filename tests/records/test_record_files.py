"""Record files: every format round-trips, and a crash loses at most the last unfinished line."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import count, of_template
from recorded_run import COSTS, DATA, KEY, RECORD, WINDOW, attempt, captured, trend

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry import records
from openoutcry.records.run_record import SUFFIXES

pytestmark = pytest.mark.once

ERRORS = json.loads((Path(__file__).resolve().parents[2] / "contract" / "errors.json").read_text(encoding="utf-8"))
TEMPLATES = {error["slug"]: error["message"] for error in ERRORS["errors"]}
SEALED = captured(fill_key=KEY).record
UNFINISHED = records.RunRecord(native.Record.from_lines("".join(RECORD._core.to_lines().splitlines(True)[:9]).encode()))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_record_round_trips_through_every_file_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    record = oo.RunRecord.join("both", [RECORD, captured("random").record], 7).sign(KEY)
    record.save(path)
    back = oo.RunRecord.load(path)
    assert (back, back.digest, back.torn, back.unfinished) == (record, record.digest, False, None)
    assert (back.agent_id, back.in_sample_trials, len(back)) == ("both", 7, 2)
    assert back.public_key == records.public_key(KEY).hex()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert pickle.loads(pickle.dumps(back)) == back
    assert oo.replay(back, DATA, public_key=records.public_key(KEY)).signed_by == back.public_key


def _crashed_without(path: Path) -> RuntimeError:
    path.unlink()
    return RuntimeError("crashed")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst"])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_removed_or_replaced_during_the_run_is_refused(tmp_path: Path, suffix: str, is_replaced: bool) -> None:
    path = tmp_path / f"run{suffix}"
    writer = records.RecordWriter(path, "x")
    path.unlink()
    if is_replaced:
        path.write_bytes(b"")
    with pytest.raises(
        oo.OpenOutcryError, match="removed or replaced; hint: write it to a folder that the agent cannot"
    ):
        writer.close()
    assert writer.close() is None
    # An earlier error takes precedence.
    path.unlink(missing_ok=True)
    with pytest.raises(RuntimeError, match="crashed"), records.RecordWriter(path, "x"):
        raise _crashed_without(path)


def test_a_changed_compressed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json.zst"
    RECORD.save(path)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(oo.OpenOutcryError) as refused:
            oo.RunRecord.load(path)
        assert refused.value.slug in {"record_invalid", "record_not_canonical"}


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst"])
def test_a_crash_at_any_byte_loses_no_complete_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with records.RecordWriter(path, "trend") as writer:
        run = oo.run_backtest(DATA, trend, (19, 25), COSTS, capture=writer)
        oo.run_backtest(DATA, "random", (19, 22), COSTS, capture=writer)
    complete = oo.RunRecord.load(path)
    assert oo.replay(complete, DATA).verified
    assert complete.decisions[0] == run.record.decisions[0]
    lines = complete._core.to_lines()
    content, last = path.read_bytes(), 0
    cut = tmp_path / f"cut{suffix}"
    for place in range(0, len(content), count(1, 3)):
        cut.write_bytes(content[:place])
        back = attempt(lambda: oo.RunRecord.load(cut))
        if isinstance(back, str):
            assert (back, last) == ("record_invalid", 0)
            continue
        recovered = back._core.to_lines()
        assert lines.startswith(recovered)
        assert len(recovered) >= last
        last = len(recovered)
        replay = oo.replay(back, DATA)
        assert replay.differences == ()
        # If only the zstd checksum is missing, the record is complete.
        assert (replay.verified, back.unfinished is None) == (recovered == lines and len(back) > 0,) * 2
        assert back.torn or suffix == ".jsonl"
    assert last > len(lines) / 2


def test_each_decision_is_on_disk_before_it_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    found = []

    def counting(observation: dict[str, Any]) -> dict[str, Any]:
        found.append(path.read_text(encoding="utf-8").count('"decision"'))
        if len(found) == 5:
            raise RuntimeError("crashed")
        return trend(observation)

    with pytest.raises(RuntimeError, match="crashed"), records.RecordWriter(path, "x") as writer:
        oo.run_backtest(DATA, counting, WINDOW, capture=writer)
    assert found == [0, 1, 2, 3, 4]
    back = oo.RunRecord.load(path)
    assert (back.torn, back.digest, back.unfinished) == (False, None, "with run 0 unfinished after 4 steps")
    replay = oo.replay(back, DATA)
    assert (replay.verified, replay.differences, replay.n_steps) == (False, (), 4)
    assert str(replay).startswith("unfinished: the record is one with run 0 unfinished after 4 steps;")
    with pytest.raises(oo.OpenOutcryError) as refused:
        back.sign(KEY)
    assert refused.value.slug == "record_unfinished"


# An agent that prints at its twelfth decision, so that the test can kill it at an arbitrary later point.
ENDLESS = """
import sys
import openoutcry as oo
from openoutcry.records import RecordWriter

n_calls = 0

def agent(observation):
    global n_calls
    n_calls += 1
    if n_calls == 12:
        print("here", flush=True)
    return {"orders": [], "reasoning": "word " * 100}

with RecordWriter(sys.argv[1], "endless") as writer:
    oo.run_backtest(oo.Dataset.synthetic(2, 30_000, 3), agent, capture=writer)
print("done", flush=True)
"""


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst"])
def test_a_killed_process_leaves_a_record_of_its_decisions(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with subprocess.Popen([sys.executable, "-c", ENDLESS, path], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "here\n"
        child.kill()
        assert child.stdout.read() == ""
    back = oo.RunRecord.load(path)
    n_steps = len(back.decisions[0])
    # At least eleven decisions are on disk; the twelfth may be.
    assert n_steps >= 11
    assert back.unfinished == f"with run 0 unfinished after {n_steps} steps"
    assert back.torn or suffix == ".jsonl"
    replay = oo.replay(back, oo.Dataset.synthetic(2, 30_000, 3))
    assert (replay.differences, replay.n_steps, replay.verified) == ((), n_steps, False)


def test_a_writer_refuses_an_existing_file_and_a_run_after_an_unfinished_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = records.RecordWriter(path, private_key=KEY)
    with pytest.raises(oo.OpenOutcryError, match="must be a new file"):
        records.RecordWriter(path)
    writer.add(RECORD)
    with pytest.raises(ZeroDivisionError):
        oo.run_backtest(DATA, lambda _: 1 / 0, WINDOW, capture=writer)
    with pytest.raises(oo.OpenOutcryError, match="received one with an unfinished run"):
        writer.add(RECORD)
    assert writer.close() is None
    with pytest.raises(oo.OpenOutcryError, match="received a closed writer"):
        writer.add(RECORD)
    back = oo.RunRecord.load(path)
    assert back.unfinished == "with run 1 unfinished after 0 steps"
    assert oo.replay(back, DATA).differences == ()


def test_a_writer_with_a_key_signs_the_record(tmp_path: Path) -> None:
    with records.RecordWriter(tmp_path / "run.jsonl.zst", "a", 3, private_key=KEY, flush_every=9) as writer:
        run = oo.run_backtest(DATA, trend, WINDOW, capture=writer)
    back = oo.RunRecord.load(tmp_path / "run.jsonl.zst")
    assert back.verify_signature(records.public_key(KEY).hex())
    assert not back.verify_signature(records.public_key(bytes(32)))
    assert back == oo.RunRecord.join("a", [run.record], 3).sign(KEY)


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda: oo.RunRecord.load("nowhere.json"), "argument_invalid"),
        (lambda: oo.RunRecord.load("run.txt"), "argument_invalid"),
        (lambda: oo.RunRecord.from_json("{}"), "record_invalid"),
        (lambda: oo.RunRecord.from_json("\ud800"), "record_invalid"),
        (lambda: oo.RunRecord.from_json(RECORD.to_json() + "\n"), "record_not_canonical"),
        (lambda: RECORD.sign(b"short"), "key_invalid"),
        (lambda: RECORD.sign("zz" * 32), "key_invalid"),  # type: ignore[arg-type]
        (lambda: RECORD.sign(32), "key_invalid"),  # type: ignore[arg-type]
        (lambda: RECORD.verify_signature(), "record_unsigned"),
        (
            lambda: oo.RunRecord.from_json(RECORD.to_json().replace('"1.0","runs"', '"2.0","runs"')),
            "record_version_unknown",
        ),
        (lambda: UNFINISHED.sign(KEY), "record_unfinished"),
        (lambda: oo.replay(SEALED, DATA), "fill_key_required"),
        (lambda: oo.replay(RECORD, DATA, public_key=bytes(32)), "record_unsigned"),
        (lambda: oo.replay(RECORD, []), "argument_invalid"),
        (lambda: oo.replay(RECORD.to_json(), DATA), "argument_invalid"),  # type: ignore[arg-type]
        (lambda: oo.RunRecord.join("a", [RECORD], -1), "argument_invalid"),
        (lambda: records.RecordWriter("run.json"), "argument_invalid"),
        (lambda: captured(name="x") and oo.run_backtest(DATA, trend, capture="yes"), "argument_invalid"),  # type: ignore[arg-type]
    ],
)
def test_invalid_calls_raise_the_message_of_their_template(call: Any, slug: str) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        call()
    assert refused.value.slug == slug
    assert re.fullmatch(f"{slug}: {of_template(TEMPLATES[slug])}", str(refused.value), re.DOTALL)


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    frame = native.Compressor()
    content = b"".join(frame.write(bytes(1 << 24)) for _ in range(5)) + frame.finish()
    assert len(content) < 1 << 14
    path = tmp_path / "bomb.json.zst"
    path.write_bytes(content)
    with pytest.raises(oo.OpenOutcryError, match="received zstd of more than") as caught:
        oo.RunRecord.load(path)
    assert caught.value.slug == "record_invalid"
