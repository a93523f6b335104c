"""Entries of a board: signed records, joined files, copies, false headers, CSV files."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.audits.score_attacks.attack_markets import forged
from openoutcry.cli.board_entries import read_entries
from openoutcry.cli.commands import app
from openoutcry.cli.returns_csv import SideColumns, read_series
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.records.keys import public_key
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once

HONEST, RUNNER, THIEF = (bytes([byte] * 32) for byte in (1, 2, 3))
SCHEMA = Path(__file__).resolve().parents[2] / "contract/record.schema.json"
WINDOWS = ((3000, 3150), (3149, 3300), (3299, 3450))


def call(*words: str | Path, code: int = 0) -> str:
    """Return the output of the command, or its error with notes."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if code == 2:
        assert isinstance(done.exception, oo.OpenOutcryError), done.output
        return "; ".join([f"error: {done.exception}", *getattr(done.exception, "__notes__", [])])
    assert done.exit_code == code, done.output
    return done.stdout


@cache
def runs_of(agent: str) -> tuple[RunRecord, ...]:
    fx = oo.data.load("ecb-fx")
    return tuple(oo.run_backtest(fx, agent, window, capture=True).record for window in WINDOWS)


def entry(name: str, agent: str = "momentum", key: bytes | None = None) -> RunRecord:
    record = RunRecord.join(name, runs_of(agent))
    return record if key is None else record.sign(key)


def saved(folder: Path, **records: RunRecord) -> list[Path]:
    paths = []
    for name, record in records.items():
        paths.append(folder / f"{name}.json.zst")
        record.save(paths[-1])
    return paths


# Keys


def test_with_public_keys_every_record_must_be_signed_by_one_of_them(tmp_path: Path) -> None:
    signed, other, unsigned, foreign = saved(
        tmp_path,
        signed=entry("signed", key=HONEST),
        other=entry("other", "equal-weight", RUNNER),
        unsigned=entry("unsigned", "mean-reversion"),
        foreign=entry("foreign", "random", THIEF),
    )
    (tmp_path / "runner.pub").write_text(public_key(RUNNER).hex() + "\n", encoding="utf-8")
    keys = ("--public-key", public_key(HONEST).hex(), "--public-key", tmp_path / "runner.pub")
    assert {
        each["agent_id"] for each in json.loads(call("score", signed, other, *keys, "--json"))["board"]["scores"]
    } == {
        "signed",
        "other",
    }
    for path, slug in ((unsigned, "record_unsigned"), (foreign, "record_differs"), (other, "record_differs")):
        name = path.name.partition(".")[0]
        error = call("score", signed, path, *keys[: 4 if path != other else 2], code=2)
        assert error.startswith(
            f"error: {slug}: records signed by a key of `--public-key` are required; received one of"
        )
        assert repr(name) in error
        assert f"in the file '{path}'" in error
    changed = signed.with_name("changed.json")
    text = RunRecord.load(signed).to_json().replace('"in_sample_trials":0', '"in_sample_trials":1')
    changed.write_text(text, encoding="utf-8")
    assert "of 'signed' changed after it was signed" in call("score", changed, *keys, code=2)
    assert "key_invalid" in call("score", signed, "--public-key", "abc", code=2)


# Copies


def test_the_original_of_copies_depends_on_trusted_keys_and_not_on_order(tmp_path: Path) -> None:
    honest, thief = entry("honest", key=HONEST), entry("a-thief", key=THIEF)
    third = entry("third", "equal-weight")
    fx = oo.data.load("ecb-fx")
    boards = [oo.score(each, dataset=fx) for each in ([thief, honest, third], [third, honest, thief])]
    assert boards[0].text == boards[1].text
    for name, kin in (("honest", "a-thief"), ("a-thief", "honest")):
        score = boards[0][name]
        assert (score.copy_of, score.rank, "copy" in score.reasons) == (kin, None, True)
    trusted = oo.score([thief, honest, third], dataset=fx, trusted_keys=[public_key(HONEST)])
    assert (trusted["honest"].copy_of, trusted["a-thief"].copy_of) == (None, "honest")
    assert trusted["honest"].rank is not None
    assert trusted["a-thief"].rank is None
    # Two copies, both signed by trusted keys: the original is unknown unless it is named.
    both = [public_key(HONEST), public_key(THIEF).hex()]
    assert oo.score([thief, honest, third], dataset=fx, trusted_keys=both).text == boards[0].text
    known = {"originals": ["honest"]}
    assert oo.score([thief, honest, third], dataset=fx, trusted_keys=both, config=known).text == trusted.text
    paths = saved(tmp_path, thief=thief, honest=honest, third=third)
    for files in (paths, paths[::-1]):
        (found,) = [
            each
            for each in json.loads(call("score", *files, "--original", "honest", "--json"))["board"]["scores"]
            if each["agent_id"] == "honest"
        ]
        assert found["copy_of"] is None
        assert found["rank"] is not None
    assert "`--original` must be one of" in call("score", *paths, "--original", "nobody", code=2)


# Headers


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("engine_version", "0.0.1"),
        ("engine_version", "99.0.0"),
        ("contract_version", "7.3"),
        ("dataset.name", "sealed-season"),
        ("dataset.commitment", "ab" * 32),
    ],
)
def test_a_false_header_is_named_by_replay_and_refused_by_the_scorer(field: str, value: str) -> None:
    def lie(run: dict[str, Any]) -> None:
        place = run["header"]
        *path, name = field.split(".")
        for each in path:
            place = place[each]
        place[name] = value

    fx = oo.data.load("ecb-fx")
    record = forged(entry("liar"), lie)
    found = oo.replay(record, fx)
    assert not found.verified
    assert found.first is not None
    assert (found.first.field, found.first.recorded) == (field, value)
    with pytest.raises(oo.OpenOutcryError, match=field) as refused:
        oo.score(record, dataset=fx)
    assert refused.value.slug == "record_differs"
    assert "in the record of 'liar'" in "".join(refused.value.__notes__)


def test_a_seed_with_equal_returns_does_not_count(tmp_path: Path) -> None:
    fx = oo.data.load("ecb-fx")

    def under(seeds: tuple[int, ...], jitter: float) -> RunRecord:
        costs = oo.CostModel(slippage_jitter=jitter)
        runs = [
            oo.run_backtest(fx, "momentum", at, costs, seed=s, capture=True).record for at in WINDOWS for s in seeds
        ]
        return RunRecord.join("momentum", runs)

    one, inflated = (oo.score(under(seeds, 0.0), dataset=fx)["momentum"] for seeds in ((0,), (0, 1, 2, 3)))
    assert (inflated.n_seeds, inflated.pass_k, inflated.seed_z) == (1, one.pass_k, one.seed_z)
    assert {window["n_seeds"] for window in inflated.windows} == {1}
    assert oo.score(under((0, 1, 2, 3), 0.5), dataset=fx)["momentum"].n_seeds == 4


# Runs of one agent in several files


def test_files_of_one_agent_are_joined_and_duplicate_runs_count_once(tmp_path: Path) -> None:
    whole = entry("momentum")
    parts = [
        RunRecord.join("momentum", [run], trials) for run, trials in zip(runs_of("momentum"), (0, 7, 5), strict=True)
    ]
    first, second, third, again = saved(tmp_path, a10=parts[0], a9=parts[2], a2=parts[1], b=parts[2])
    printed = json.loads(call("score", second, third, first, again, second, "--json"))
    board = oo.score(RunRecord.join("momentum", whole.runs(), 7), dataset=oo.data.load("ecb-fx"))
    (score,) = printed["board"]["scores"]
    assert (score["n_windows"], score["declared"], score["digest"]) == (3, 7, board.scores[0].digest)
    assert printed["notes"] == [
        "2 of 5 files of 'momentum' are duplicates and count once",
        "3 files of 'momentum' are joined to one entry of 3 runs; the entry declares 7 trials, the highest number in"
        " its files",
    ]
    page = tmp_path / "board.html"
    shown = call("score", first, second, third, "--report", page).replace("\n", "")
    assert "3 files of 'momentum' are joined to one entry of 3 runs" in shown
    assert "3 files of &#x27;momentum&#x27; are joined to one entry of 3 runs" in page.read_text(encoding="utf-8")
    two = RunRecord.join("momentum", [*parts[:2]])
    two.save(tmp_path / "two.json")
    found = read_entries([tmp_path / "two.json", second, third]).notes
    assert found == (
        "3 files of 'momentum' are joined to one entry of 3 runs; 1 duplicate run counts once; the entry declares 7"
        " trials, the highest number in its files",
    )


def test_invalid_files_of_one_agent_are_refused_by_name(tmp_path: Path) -> None:
    a, b, c = (RunRecord.join("momentum", [run]) for run in runs_of("momentum"))
    signed, unsigned = saved(tmp_path, signed=a.sign(HONEST), unsigned=b)
    with pytest.raises(
        oo.OpenOutcryError, match="files of one agent must all be signed by one key, or all be unsigned"
    ):
        read_entries([signed, unsigned])
    both = saved(tmp_path, one=a.sign(HONEST), two=b.sign(HONEST))
    assert f"all signed by {public_key(HONEST).hex()}" in read_entries(both).notes[0]
    changed = tmp_path / "changed.json"
    changed.write_text(c.to_json().replace('"in_sample_trials":0', '"in_sample_trials":9'), encoding="utf-8")
    truncated = tmp_path / "torn.jsonl"
    c.save(truncated)
    truncated.write_bytes(truncated.read_bytes()[:9_000])
    for path, slug in ((changed, "record_differs"), (truncated, "record_unfinished")):
        error = call("score", unsigned, path, code=2)
        assert error.startswith(f"error: {slug}")
        assert f"in the file '{path}'" in error
    # Different decisions in the same window are no duplicate.
    other = RunRecord.join("momentum", [runs_of("equal-weight")[1]])
    (path,) = saved(tmp_path, other=other)
    assert "with the window and fill key of a previous run" in call("score", unsigned, path, code=2)


# Names


def test_an_agent_name_has_a_maximum_length(tmp_path: Path) -> None:
    longest = "é" * 200
    record = entry(longest)
    record.save(tmp_path / "long.json")
    assert RunRecord.load(tmp_path / "long.json").agent_id == longest
    text = entry("short").to_json()
    too_long = text.replace('"agent_id":"short"', f'"agent_id":"{longest}x"')
    schema = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert schema.is_valid(json.loads(record.to_json()))
    assert not schema.is_valid(json.loads(too_long))
    lines = (tmp_path / "lines.jsonl", entry("short"))
    lines[1].save(lines[0])
    first = lines[0].read_text(encoding="utf-8").replace('"short"', f'"{longest}x"', 1)
    lines[0].write_text(first, encoding="utf-8")
    for read in (lambda: RunRecord.from_json(too_long), lambda: RunRecord.load(lines[0])):
        with pytest.raises(
            oo.OpenOutcryError, match="`agent_id` must have at most 200 characters; received 201"
        ) as error:
            read()
        assert error.value.slug == "record_invalid"
    with pytest.raises(oo.OpenOutcryError, match="at most 200 characters"):
        RecordWriter(tmp_path / "new.jsonl", f"{longest}x")
    assert not (tmp_path / "new.jsonl").exists()
    for make in (
        lambda: entry(f"{longest}x"),
        lambda: oo.run_backtest(oo.data.load("ecb-fx"), "momentum", WINDOWS[0], name=f"{longest}x", capture=True),
        lambda: oo.score({f"{longest}x": np.zeros(300)}, periods_per_year=252),
    ):
        with pytest.raises(oo.OpenOutcryError, match="`agent_id` must have at most 200") as error:
            make()
        assert error.value.slug == "argument_invalid"


# CSV files


def write(path: Path, table: dict[str, Any], first: str = "2020-01-01") -> Path:
    days = np.datetime64(first) + np.arange(len(next(iter(table.values()))))
    rows = [",".join(map(str, row)) for row in zip(days, *table.values(), strict=True)]
    path.write_text("\n".join([",".join(["date", *table]), *rows]) + "\n", encoding="utf-8")
    return path


def test_csv_files_of_the_same_days_are_one_board(tmp_path: Path) -> None:
    draws = np.random.default_rng(5).normal(0.0004, 0.01, (3, 600))
    market, a, b = (each.tolist() for each in draws)
    one = write(tmp_path / "one.csv", {"market": market, "a": a})
    # Equity has one more day than its returns.
    account = np.cumprod([1.0, *(1.0 + draws[2])]).tolist()
    two = write(tmp_path / "two.csv", {"b": account}, "2019-12-31")
    three = write(tmp_path / "three.csv", {"market": market, "c": b})
    words = ("--benchmark", "market", "--windows", "4")
    printed = json.loads(call("score", one, two, three, *words, "--json"))
    assert sorted(each["agent_id"] for each in printed["board"]["scores"]) == ["a", "b", "c"]
    assert list(printed["tables"]) == [str(one), str(two), str(three)]
    page = tmp_path / "board.html"
    shown = call("score", one, two, *words, "--report", page).replace("\n", "")
    for digest in list(printed["tables"].values())[:2]:
        assert digest in shown
        assert digest in page.read_text(encoding="utf-8")
    assert "no suite digest: returns without records follow no suite" in shown
    assert "This command recomputes the board from the returns in its files" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("table", "first", "wanted"),
    [
        ({"b": [0.1, -0.2, 0.1]}, "2020-01-02", "the same dates; received '2020-01-01' and '2020-01-02'"),
        ({"b": [0.1, -0.2]}, "2020-01-01", "the same dates; received 3 returns and 2"),
        ({"a": [0.1, -0.2, 0.1]}, "2020-01-01", "unique names; received a second column `a`"),
        ({"m": [0.1, -0.2, 0.2], "b": [0.0, -0.1, 0.1]}, "2020-01-01", "received different values of `m`"),
    ],
)
def test_incompatible_csv_files_are_refused(tmp_path: Path, table: dict[str, Any], first: str, wanted: str) -> None:
    one = write(tmp_path / "one.csv", {"m": [0.1, -0.2, 0.1], "a": [0.1, 0.1, -0.1]})
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        read_series([one, write(tmp_path / "two.csv", table, first)], None, SideColumns("m"), 1)


def test_ambiguous_dates_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("date,a\n01/02/2020,0.1\n02/02/2020,-0.2\n03/02/2020,0.1\n", encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match=r"is ambiguous; hint: .*`--date-order dmy`"):
        read_series([path], None, SideColumns(None), 1)
    found = read_series([path], None, SideColumns(None), 1, ReadOptions(date_order="dmy"))
    assert found["dates"] == ("2020-02-01", "2020-02-02", "2020-02-03")


def test_csv_files_without_dates_and_records_cannot_be_combined(tmp_path: Path) -> None:
    one = write(tmp_path / "one.csv", {"a": [0.1, -0.2, 0.1]})
    two = tmp_path / "two.csv"
    two.write_text("b\n0.1\n-0.2\n0.1\n", encoding="utf-8")
    assert f"must have a column of dates; received '{two}' without one" in call("score", one, two, code=2)
    (record,) = saved(tmp_path, a=entry("a"))
    assert "records and CSV files must be scored separately" in call("score", one, record, code=2)
    assert "`--public-key` must be left out for CSV files" in call("score", one, "--public-key", "00", code=2)
