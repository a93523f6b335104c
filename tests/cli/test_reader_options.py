"""Every command that opens a market takes the options of the reader, and refuses one without an effect."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app, command_of

FORMATS = Path(__file__).resolve().parents[1] / "data" / "formats"
# A sample that asks one question, and the words of its answer in the hint.
QUESTIONS = {
    "quandl_chris.csv": "--column close=Last",
    "ambiguous_days.csv": "--date-order dmy",
    "polygon_day_aggs.csv.gz": "--tz America/New_York",
    "split_not_in_price.csv": "--adjusted split",
    "duplicate_dates.csv": "--duplicates last",
}
READERS = (
    *("run", "replay", "report", "score", "leakcheck", "realism", "contamination", "mcp", "data import", "data check"),
    *("data describe", "data freeze", "data export", "data diff", "data reidentify", "suite run", "research run"),
    *("ledger list", "ledger top"),
)


def invoke(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    message = "" if done.exception is None or isinstance(done.exception, SystemExit) else str(done.exception)
    return done.exit_code, done.output + message


@pytest.fixture
def settled(tmp_path: Path) -> Path:
    """Return a file that does not say which of its columns is the close."""
    path, days = tmp_path / "es.csv", np.arange("2022-01-03", "2023-03-01", dtype="datetime64[D]")
    prices = 100.0 + 5.0 * np.sin(np.arange(len(days)) / 9.0)
    rows = [
        f"{day},{price:.2f},{price + 0.5:.2f}" for day, price in zip(days, prices, strict=True) if np.is_busday(day)
    ]
    path.write_text("\n".join(["Date,Last,Settle", *rows, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "answer"), QUESTIONS.items())
def test_a_run_with_the_option_of_its_hint_works(name: str, answer: str) -> None:
    command = ["run", "--data", FORMATS / name]
    code, message = invoke(*command)
    assert code != 0
    hint = message.partition("hint: ")[2]
    assert answer in re.findall(r"`([^`]*)`", hint), message
    code, output = invoke(*command, *shlex.split(answer))
    assert code == 0, output
    assert "Sharpe" in output


@pytest.mark.parametrize("name", READERS)
def test_a_command_lists_the_options_of_the_reader_together(name: str) -> None:
    command = command_of(name.split()[0])
    for word in name.split()[1:]:
        command = command.commands[word]
    panels = {option: each.rich_help_panel for each in command.params for option in each.opts}
    stated = ("--symbol", "--column", "--columns", "--tz", "--date-order", "--date-format", "--adjusted", "--calendar")
    stated += ("--axis", "--as", "--periods-per-year", "--duplicates", "--decimal", "--price-scale", "--day-starts")
    assert {panels.get(option) for option in stated} == {"Reading files"}


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--data", "ecb-fx", "--tz", "UTC"],
        ["data", "check", "ecb-fx:USD", "--adjusted", "none"],
        ["data", "describe", "us-treasury", "--axis", "union"],
        ["data", "diff", "ecb-fx", "ecb-fx:all", "--column", "close=Last"],
        ["leakcheck", "targets:ahead", "--data", "ecb-fx", "--symbol", "A"],
        ["leakcheck", "targets:ahead", "--symbol", "A"],
        ["realism", "calm", "--decimal", ","],
        ["ledger", "list", "--as", "lean", "--ledger-dir", "."],
        ["score", FORMATS / "wide_date_last.csv", "--date-order", "dmy"],
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_an_option_without_an_effect_is_refused(words: list[Any]) -> None:
    code, message = invoke(*words)
    assert code != 0
    assert re.search("must be left out (with|if)|must come with a file of prices", message), message


def test_a_role_of_a_column_is_stated_once(settled: Path) -> None:
    words = ["run", "--data", settled, "--column", "close=Last", "--column", "close=Settle"]
    assert "`--column` must name a role once; received close=Last, close=Settle" in invoke(*words)[1]


def test_a_record_of_a_file_with_options_is_verified_by_the_command_of_its_report(settled: Path) -> None:
    record, page = settled.with_name("run.json"), settled.with_name("run.html")
    stated = ["--column", "close=Settle", "--symbol", "ES"]
    words = ["run", "--data", settled, *stated, "--agent", "momentum"]
    code, output = invoke(*words, "--record", record, "--report", page)
    assert code == 0, output
    found = re.search(r"openoutcry replay [^<\n]*", page.read_text(encoding="utf-8"))
    assert found is not None
    assert f"--data {settled} --symbol ES --column close=Settle" in found[0]
    code, output = invoke(*shlex.split(found[0])[1:])
    assert (code, "verified" in output) == (0, True), output
    code, output = invoke("report", record, "--data", settled, *stated, "--out", page)
    assert code == 0, output
    assert "--column close=Settle" in page.read_text(encoding="utf-8")


def test_options_are_for_the_files_of_prices_among_several_markets(settled: Path) -> None:
    frozen = settled.parent / "frozen"
    stated = ["--column", "close=Settle"]
    assert invoke("data", "import", settled, *stated, "--out", frozen)[0] == 0
    assert invoke("data", "diff", settled, frozen, *stated) == (0, f"the same market: {fingerprint(settled)}\n")
    code, output = invoke("data", "export", settled, *stated, "--out", frozen / "es.market", "--json")
    assert (code, json.loads(output)["fingerprint"]) == (0, fingerprint(settled))


def fingerprint(path: Path) -> str:
    return oo.Dataset.from_csv(path, columns={"close": "Settle"}).fingerprint


def test_a_research_session_records_the_options_of_its_file(settled: Path) -> None:
    out = settled.parent / "research"
    stated = ["--column", "close=Settle", "--folds", "2", "--max-trials", "1", "--no-ledger"]
    code, output = invoke("research", "run", "--data", settled, *stated, "--provider", "random", "--out", out)
    assert code == 0, output
    journal = out / "logs" / "research_journal.jsonl"
    start = json.loads(journal.read_text(encoding="utf-8").splitlines()[0])["payload"]
    assert start["reading"] == {"columns": {"close": "Settle"}}
    code, output = invoke("research", "replay", "--verify", journal)
    assert code == 0, output
    assert "reproduced: all" in output


def test_a_leak_check_reads_a_file_with_options(settled: Path) -> None:
    target = "def ahead(frame):\n    return frame.assign(next=frame['close'].shift(-1))[['next']]\n"
    settled.with_name("targets.py").write_text(target, encoding="utf-8")
    # A leak check forks.
    words = [sys.executable, "-m", "openoutcry", "leakcheck", "targets:ahead", "--data", settled.name, "--cuts", "4"]
    command = [*words, "--column", "close=Settle"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=settled.parent, check=False)
    assert (done.returncode, "1 of 1 columns look ahead" in done.stdout) == (1, True), done


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_hint_of_an_environment_is_code_that_runs(name: str) -> None:
    path = FORMATS / name
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.OpenOutcryEnv(path)
    found = re.search(r"hint: pass (Dataset\.from_csv\(.*?\))(?: |;|,|$)", str(refused.value))
    assert found is not None, refused.value
    answers = found[1].partition(" or ")[0].partition(" if ")[0].partition(" for ")[0].rstrip(")")
    dataset = eval(f"{answers})", {"Dataset": oo.Dataset})
    assert oo.OpenOutcryEnv(dataset).reset(seed=0)[0]["closes"].shape == (dataset.n_symbols,)
