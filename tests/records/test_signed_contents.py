"""Signatures cover contents: without a market, a changed record is refused at reading or neither signed nor whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import typed
from recorded_run import DATA, KEY, attempt, captured

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry import records
from openoutcry.audits.score_attacks.attack_markets import forged
from openoutcry.cli.board_entries import read_entries
from openoutcry.records import RunRecord

pytestmark = pytest.mark.once

VECTORS = Path(__file__).resolve().parents[2] / "contract" / "vectors"
SHORT = json.loads((VECTORS / "record.json").read_text(encoding="utf-8"))["faulty"]
PUBLIC, OTHER = records.public_key(KEY), records.public_key(bytes(32))
SIGNED = captured("momentum").record.sign(KEY)
# Two runs with a harness, on the same market, in one signed record.
BOTH = RunRecord.join("both", [RunRecord.from_json(native.canonicalize(json.dumps(SHORT))), SIGNED], 3).sign(KEY)

Json = dict[str, Any]


def read(content: Json) -> RunRecord:
    return RunRecord.from_json(native.canonicalize(json.dumps(content)))


def verdicts(record: RunRecord, key: bytes = PUBLIC) -> tuple[bool, ...]:
    """Return every answer about a record that needs no market; an unsigned record has no valid signature."""
    is_valid = [record.public_key is not None and record.verify_signature(each) for each in (key, None)]
    return (*is_valid, record.is_whole(), record.is_signed_by([key]), record.is_signed_by([OTHER, key.hex()]))


ALL, NONE = (True,) * 5, (False,) * 5


def test_the_contents_of_a_signed_record_are_signed() -> None:
    # Every decision and NAV is replaced; the links, the digest and the signature stay.
    key, fx = bytes(32), oo.data.load("ecb-fx")
    content = json.loads(oo.run_backtest(fx, "momentum", (19, 60), capture=True).record.sign(key).to_json())
    assert verdicts(read(content), records.public_key(key)) == ALL
    for step in content["runs"][0]["steps"]:
        step["decision"], step["nav"] = '{"orders":[]}', 9.0
    bad = read(content)
    assert verdicts(bad, records.public_key(key)) == NONE
    replay = oo.replay(bad, fx)
    assert (replay.verified, replay.signed_by) == (False, None)


@pytest.mark.parametrize("form", ["json", "lines"])
def test_every_edited_byte_is_refused_or_makes_every_answer_false(form: str) -> None:
    record = read(SHORT)
    key = bytes.fromhex(record.public_key or "")
    assert verdicts(record, key) == ALL
    text = record.to_json() if form == "json" else record._core.to_lines()
    parse = native.Record.from_json if form == "json" else native.Record.from_lines
    content, n_read, missed = text.encode(), 0, []
    for place in range(len(content)):
        for other in {content[place] ^ mask for mask in (1, 4, 16, 32, 128)} | set(b'0"9}\n') - {content[place]}:
            changed = content[:place] + bytes([other]) + content[place + 1 :]
            found = attempt(lambda changed=changed: RunRecord(parse(changed)))  # type: ignore[misc]
            if isinstance(found, RunRecord):
                n_read += 1
                if verdicts(found, key) != NONE:
                    missed.append((place, other))
    assert missed == []
    assert n_read > 5000


def edits(value: Any) -> Iterator[Any]:
    """Yield JSON values with one leaf, member or element of `value` changed, removed, repeated or moved."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from (value | {name: other} for other in edits(item))
            yield {each: other for each, other in value.items() if each != name}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in edits(item))
            yield value[:place] + value[place + 1 :]
            yield [*value[: place + 1], *value[place:]]
            if place and item != value[place - 1]:
                yield [*value[: place - 1], item, value[place - 1], *value[place + 1 :]]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        yield from (value + "0", value[1:], "0" * 64, "1" * 64, "1", "T1", "http", "agent_late")
    else:
        yield from (value + 1, -value or 0.5, value * 2 or 1e21)


def test_every_edited_field_is_refused_or_makes_every_answer_false() -> None:
    # Two steps with a valid chain: fewer fields to edit.
    short = forged(SIGNED.runs()[0], lambda run: run.update(steps=run["steps"][:2]))
    signed = RunRecord.join("both", [read(SHORT), short], 3).sign(KEY)
    assert verdicts(signed) == ALL
    parsed, n_read = json.loads(signed.to_json()), 0
    for changed in edits(parsed):
        found = attempt(lambda changed=changed: read(changed))  # type: ignore[misc]
        if isinstance(found, str) or found == signed:
            continue
        n_read += 1
        if "signature" in changed:
            assert verdicts(found) == NONE
        else:
            # Without its signature the record is an unsigned one with the same contents.
            assert verdicts(found) == (False, False, True, False, False)
    assert n_read > 200


@pytest.mark.parametrize(
    "change",
    [
        lambda runs: runs.reverse(),
        lambda runs: runs.pop(),
        lambda runs: runs.append(runs[0]),
        lambda runs: runs.clear(),
        lambda runs: runs[0]["steps"].clear(),
        lambda runs: runs[1]["steps"].reverse(),
        lambda runs: runs[0].update(steps=runs[1]["steps"]),
        lambda runs: runs[0].update(header=runs[1]["header"]),
        lambda runs: runs[1].update(harness=runs[0].pop("harness")),
        lambda runs: runs[0].update(end=runs[1]["end"]),
        lambda runs: runs[1]["header"]["dataset"].update(fingerprint="0" * 64),
        lambda runs: runs[1]["header"].update(engine_version="0.0.1"),
        lambda runs: runs[1]["header"]["costs"].update(fee_bps=0),
    ],
)
def test_moved_runs_steps_and_headers_are_not_signed(change: Callable[[list[Json]], Any]) -> None:
    assert verdicts(BOTH) == ALL
    content = json.loads(BOTH.to_json())
    change(content["runs"])
    assert verdicts(read(content)) == NONE


def test_a_rebuilt_chain_is_not_signed() -> None:
    def richer(run: Json) -> None:
        run["steps"][7]["nav"] = 9.0

    unsigned = forged(SIGNED.runs()[0], richer)
    # Anyone can compute hashes: only the key and a replay detect this.
    assert (unsigned.is_whole(), unsigned.is_signed_by([PUBLIC])) == (True, False)
    content = json.loads(unsigned.to_json()) | {"signature": json.loads(SIGNED.to_json())["signature"]}
    assert verdicts(read(content)) == NONE
    # A signer of false NAVs has signed them: a replay names no signer under a difference.
    liar = unsigned.sign(KEY)
    assert verdicts(liar) == ALL
    replay = oo.replay(liar, DATA)
    assert (replay.verified, replay.signed_by, replay.first.field) == (False, None, "nav")  # type: ignore[union-attr]


def test_the_parts_of_a_changed_record_are_not_whole_and_cannot_be_signed() -> None:
    content = json.loads(SIGNED.to_json())
    content["runs"][0]["steps"][3]["decision"] = '{"orders":[]}'
    changed = read(content)
    for part in (*changed.runs(), RunRecord.join("joined", [changed, SIGNED])):
        assert not part.is_whole()
        with pytest.raises(oo.OpenOutcryError, match="a digest or a link that does not follow") as refused:
            part.sign(KEY)
        assert refused.value.slug == "record_unfinished"


def test_an_unfinished_and_an_empty_record_are_never_signed_by_accident() -> None:
    lines = SIGNED._core.to_lines().splitlines(True)
    for n_lines in (1, 2, 9, len(lines) - 1):
        cut = RunRecord(native.Record.from_lines("".join(lines[:n_lines]).encode()))
        assert verdicts(cut) == NONE
    content = json.loads(SIGNED.to_json())
    del content["digest"]
    assert verdicts(read(content)) == NONE
    empty = RunRecord.join("empty", []).sign(KEY)
    assert (verdicts(empty), oo.replay(empty, DATA).verified) == (ALL, False)


def test_the_files_of_a_board_are_refused_if_a_step_was_changed_after_signing(tmp_path: Path) -> None:
    SIGNED.save(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    nav = json.loads(text)["runs"][0]["steps"][9]["nav"]
    (tmp_path / "b.json").write_text(text.replace(f'"nav":{nav},', '"nav":9,', 1), encoding="utf-8")
    assert len(read_entries([tmp_path / "a.json"], [PUBLIC.hex()]).records) == 1
    with pytest.raises(oo.OpenOutcryError, match="changed after it was signed"):
        read_entries([tmp_path / "b.json"], [PUBLIC.hex()])
    # Two files of an agent are joined, which makes new hashes: the changed one must be refused before.
    with pytest.raises(oo.OpenOutcryError, match="was changed after it was finished"):
        read_entries([tmp_path / "a.json", tmp_path / "b.json"])


def test_the_command_names_no_signer_under_a_difference(tmp_path: Path) -> None:
    key, fx = bytes(32), oo.data.load("ecb-fx")
    record = oo.run_backtest(fx, "momentum", ("2010-01-01", "2010-03-01"), capture=True).record.sign(key)
    files = {"same": record, "liar": forged(record.runs()[0], lambda run: run["end"].update(nav=9.0)).sign(key)}
    content = json.loads(record.to_json())
    content["runs"][0]["steps"][5]["nav"] = 9.0
    files |= {"edited": read(content), "renamed": read(json.loads(record.to_json()) | {"agent_id": "x"})}
    for name, each in files.items():
        each.save(tmp_path / f"{name}.json")
        for market in ("ecb-fx", "ecb-fx:all"):
            is_same = (name, market) == ("same", "ecb-fx")
            for more in ((), ("--public-key", records.public_key(key).hex())):
                done = typed("replay", tmp_path / f"{name}.json", "--data", market, *more)
                assert done.returncode == (0 if is_same else 1)
                assert ("signed by" in done.stdout) == is_same == done.stdout.startswith("verified")
    parsed = json.loads(typed("replay", tmp_path / "edited.json", "--data", "ecb-fx", "--json").stdout)
    assert (parsed["verified"], parsed["signed_by"]) == (False, None)


@pytest.mark.parametrize("name", ["more.jsonl", "more.jsonl.zst"])
def test_text_after_a_signed_record_is_refused(name: str, tmp_path: Path) -> None:
    # A crash truncates a record; it adds nothing to a finished one.
    SIGNED.save(tmp_path / name)
    frame = native.Compressor()
    more = b'{"x"' if not name.endswith(".zst") else frame.write(b'{"x"') + frame.finish()
    with (tmp_path / name).open("ab") as file:
        file.write(more)
    with pytest.raises(oo.OpenOutcryError, match="received text after the digest line") as error:
        RunRecord.load(tmp_path / name)
    assert error.value.slug == "record_invalid"
