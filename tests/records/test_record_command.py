"""Test `openoutcry run --record`, `replay` and `diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import typed
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry import records
from openoutcry.cli.commands import app
from openoutcry.ledger import Ledger

pytestmark = pytest.mark.once

RUN = ("run", "--data", "ecb-fx", "--agent", "momentum", "--window", "2010-01-01:2010-03-01")
KEY = bytes(32)


def call(*words: str | Path, code: int = 0) -> str:
    done = typed(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code == 2 else done.stdout


@pytest.mark.parametrize("suffix", [".json", ".jsonl.zst"])
def test_a_recorded_run_is_verified_by_the_command(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    ran = json.loads(call(*RUN, "--record", path, "--json"))
    record = oo.RunRecord.load(path)
    output = call("replay", path, "--data", "ecb-fx")
    verified, recorded_by = output.splitlines()
    assert verified == f"verified {record.digest} (1 run, {len(ran['nav']) - 1} steps)"
    assert recorded_by.startswith(f"  recorded by engine {oo.__version__}, contract {oo.CONTRACT_VERSION}, as stated: ")
    parsed = json.loads(call("replay", path, "--data", "ecb-fx", "--json"))
    assert (parsed["verified"], parsed["agent"], parsed["digest"]) == (True, "momentum", record.digest)
    assert parsed["headers"][0]["dataset.fingerprint"] == ran["fingerprint"]


def test_a_difference_is_printed_with_its_bar_size_and_cause(tmp_path: Path) -> None:
    path, edited = tmp_path / "run.json", tmp_path / "edited.json"
    call(*RUN, "--record", path)
    text = path.read_text(encoding="utf-8")
    number = json.loads(text)["runs"][0]["steps"][20]["nav"]
    edited.write_text(text.replace(f'"nav":{number},', '"nav":1.5,', 1), encoding="utf-8")
    output = call("replay", edited, "--data", "ecb-fx", code=1)
    assert output.startswith("differs: run 0, step 20, bar ")
    assert f"(2010-02-01): nav is 1.5, the replay has {number}" in output
    assert "ulps apart; likely an observation, NAV or cash was edited after the run" in output
    other = json.loads(call("replay", path, "--data", "ecb-fx:all", "--json", code=1))
    assert {each["cause"] for each in other["differences"]} == {"data"}
    assert call("diff", path, path) == "the same record\n"
    parted = call("diff", path, edited, code=1)
    assert parted.startswith("run 0: first at step 20, bar ")
    assert f"nav {number} | 1.5, " in parted
    assert json.loads(call("diff", path, edited, "--json", code=1))["runs"][0][1]["step"] == 20


def test_a_signature_is_required_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    call(*RUN, "--record", path)
    key = records.public_key(KEY).hex()
    assert "record_unsigned" in call("replay", path, "--data", "ecb-fx", "--public-key", key, code=2)
    oo.RunRecord.load(path).sign(KEY).save(path)
    (tmp_path / "runner.pub").write_text(f"{key.upper()}\n", encoding="utf-8")
    replay = ["replay", str(path), "--data", "ecb-fx", "--public-key"]
    for given in (key, str(tmp_path / "runner.pub")):
        assert f"  signed by {key}\n" in CliRunner().invoke(app, [*replay, given]).stdout
    for given in ("ab", str(tmp_path / "none.pub"), str(path)):
        assert "key_invalid" in str(CliRunner().invoke(app, [*replay, given]).exception)
    output = call("replay", path, "--data", "ecb-fx", "--public-key", records.public_key(bytes([1] * 32)).hex(), code=1)
    assert "differs: record: signature is" in output


def test_sealed_noise_is_replayed_with_its_revealed_key(tmp_path: Path) -> None:
    path, costs = tmp_path / "run.json", oo.CostModel(slippage_jitter=0.5)
    run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (5_000, 5_020), costs, fill_key=KEY, capture=True)
    run.record.save(path)
    assert "fill_key_required" in call("replay", path, "--data", "ecb-fx", code=2)
    assert call("replay", path, "--data", "ecb-fx", "--fill-key", KEY.hex()).startswith("verified ")


def test_a_truncated_file_is_reported_and_not_verified(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    call(*RUN, "--record", path)
    path.write_bytes(path.read_bytes()[:9_000])
    output = call("replay", path, "--data", "ecb-fx", code=1)
    assert output.startswith("unfinished: the record is one with run 0 unfinished after ")
    assert "truncated by a crash" in output


def test_unreadable_and_unwritable_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    assert "record_invalid" in call("replay", tmp_path / "bad.json", "--data", "ecb-fx", code=2)
    assert "argument_invalid" in call("replay", tmp_path / "none.json", "--data", "ecb-fx", code=2)
    assert "argument_invalid" in call("diff", tmp_path / "bad.txt", tmp_path / "bad.json", code=2)
    assert "argument_invalid" in call(*RUN, "--record", tmp_path / "run.txt", code=2)
    assert "argument_invalid" in call(*RUN, "--record", tmp_path / "none" / "run.json", code=2)


@pytest.mark.parametrize("suffix", [".json", ".jsonl.zst"])
def test_an_existing_record_is_overwritten_only_with_force(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    words = [*RUN, "--record", str(path), "--json"]
    assert CliRunner().invoke(app, [*words, "--trials", "20"]).exit_code == 0
    record = oo.RunRecord.load(path)
    assert (record.in_sample_trials, record.unfinished) == (20, None)
    assert oo.replay(record, oo.data.load("ecb-fx")).verified
    refused = CliRunner().invoke(app, [*words, "--seed", "7"]).exception
    wanted = f"`--record` must be a new file; received '{path}', which exists; hint: `--force` overwrites it"
    assert wanted in str(refused)
    assert oo.RunRecord.load(path) == record
    assert CliRunner().invoke(app, [*words, "--seed", "7", "--force"]).exit_code == 0
    replaced = oo.RunRecord.load(path)
    assert (replaced.headers[0]["fill.seed"], replaced.in_sample_trials) == ("7", 0)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_name_is_that_of_record_and_report_and_no_other_strategy(tmp_path: Path, suffix: str) -> None:
    """A ledger knows the strategy by its definition: a name would make its trials those of another one."""
    path, report, folder = tmp_path / f"run{suffix}", tmp_path / "run.html", tmp_path / "ledger"
    options = ["--window", "+100:+200", "--record", path, "--report", report, "--ledger-dir", folder]
    printed = json.loads(call("run", "--agent", "trend:fast=5,slow=65", "--name", "mine", *options, "--json"))
    assert printed["agent"] == oo.RunRecord.load(path).agent_id == "mine"
    assert "mine" in report.read_text(encoding="utf-8").partition("</title>")[0]
    with Ledger(folder) as ledger:
        listed = ledger.list()[0]
        assert ledger.show(ledger.id_of(listed.summary.id)).strategy["strategy"] == "trend"


def test_the_help_has_examples() -> None:
    for verb in ("replay", "diff"):
        output = call(verb, "--help")
        assert f"openoutcry {verb} " in output
        assert "Exit codes" in output
