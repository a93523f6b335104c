"""The command `openoutcry ledger`, and recording by `openoutcry run --ledger`."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from command_line import typed
from ledger_runs import id_of, ledger_at, ledger_run, market, returns

from openoutcry.ledger import Ledger
from openoutcry.ledger.run_summary import FIELDS, NUMBERS

pytestmark = pytest.mark.once

Output = tuple[str, str]


@pytest.fixture
def run_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Output]:
    """Run a command in this process, and return its stdout and stderr."""
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0) -> Output:
        done = typed(*words, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout, done.stderr

    return run


RUN = ("run", "--data", "ecb-fx:USD,JPY", "--window", ":+200", "--ledger")


def test_a_run_is_recorded_on_request_and_counted_once(run_command: Callable[..., Output], tmp_path: Path) -> None:
    run_command(*RUN[:-1])
    assert not (tmp_path / "ledger").exists()
    assert "a new trial; trials on this market and its copies: 1" in run_command(*RUN)[0].replace("\n", " ")
    assert "a known trial; trials on this market and its copies: 1" in run_command(*RUN)[0].replace("\n", " ")
    result = json.loads(run_command(*RUN, "--agent", "momentum", "--output-dir", "out", "--json")[0])
    assert result["family_trials"] == 2
    (listed, *_) = json.loads(run_command("ledger", "list", "--json")[0])
    assert (listed["summary"]["id"], listed["strategy"]) == (result["run_id"], {"name": "momentum"})
    lines = [json.loads(line) for line in (tmp_path / "out" / "run_ledger.jsonl").read_text("utf-8").splitlines()]
    assert [(line["run_id"], line["instrument"]) for line in lines] == [
        (result["run_id"], name) for name in ("USD", "JPY")
    ]
    shown = json.loads(run_command("ledger", "show", result["run_id"][:13], "--json")[0])
    assert (shown["run_id"], shown["family_trials"], shown["metrics"]["sharpe_ratio"]) == (
        result["run_id"],
        2,
        result["metrics"]["sharpe"],
    )
    run_command(*RUN, "--ledger-dir", "other")
    assert len(json.loads(run_command("ledger", "list", "--ledger-dir", "other", "--json")[0])) == 1
    _, error = run_command(*RUN[:-1], "--output-dir", "out", code=2)
    assert "`--output-dir` requires `--ledger`" in error


def test_a_run_with_an_agent_error_is_recorded_as_failed(run_command: Callable[..., Output], tmp_path: Path) -> None:
    """L1: the ledger has no survivorship bias."""
    (tmp_path / "broken_agent.py").write_text("def decide(seen):\n    raise ValueError('no idea')\n", encoding="utf-8")
    run_command(*RUN, "--agent", "broken_agent:decide", code=1)
    run_command(*RUN, "--fee-bps", "nan", code=2)
    run_command(*RUN, "--agent", "unheard-of", code=2)
    (listed,) = json.loads(run_command("ledger", "list", "--status", "failed", "--json")[0])
    assert listed["error"] == "ValueError: no idea"
    assert len(json.loads(run_command("ledger", "list", "--json")[0])) == 1


def test_each_finished_run_appends_a_line_for_each_instrument(
    run_command: Callable[..., Output], tmp_path: Path
) -> None:
    """L1: five fields, never overwritten, and the same list can be exported from the ledger."""
    path = tmp_path / "out" / "run_ledger.jsonl"
    contents = [b""]
    for agent, code in (("momentum", 0), ("broken_agent:decide", 1), ("buy-and-hold", 0)):
        (tmp_path / "broken_agent.py").write_text("def decide(seen):\n    raise ValueError\n", encoding="utf-8")
        run_command(*RUN, "--agent", agent, "--output-dir", "out", code=code)
        content = path.read_bytes()
        assert content.startswith(contents[-1])
        assert (content == contents[-1]) == bool(code), "a failed run is only in the ledger"
        contents.append(content)
    lines = [json.loads(line) for line in contents[-1].splitlines()]
    listed = [(line["instrument"], line["candle_interval"], line["strategy"]) for line in lines]
    names = [{"name": agent} for agent in ("momentum", "buy-and-hold")]
    assert listed == [(symbol, "1d", name) for name in names for symbol in ("USD", "JPY")]
    for line in lines:
        assert set(line) == {"run_id", "instrument", "candle_interval", "strategy", "timestamp"}
        assert str(UUID(line["run_id"])) == line["run_id"]
        assert datetime.fromisoformat(line["timestamp"]).utcoffset() == timedelta(0)
    run_command("ledger", "export", "again.jsonl", "--view", "run-ledger")
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text("utf-8").splitlines()]
    kept = [{**line, "timestamp": None} for line in again]
    assert kept == [{**line, "timestamp": None} for line in lines]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    opened_ledger = ledger_at(tmp_path / "ledger")
    opened_ledger.add([ledger_run(number, number / 10, returns=returns(), first="2020-01-02") for number in range(30)])
    opened_ledger.add(
        [ledger_run(90, None), ledger_run(91, 9.0, holdout_touched=True), ledger_run(92, status="failed")]
    )
    opened_ledger.add([ledger_run(93, 0.1, description="[bold]two\nlines\x1b[2J")])
    return opened_ledger


def test_tables_agree_with_json(run_command: Callable[..., Output], ledger: Ledger) -> None:
    for words in (["list", "-n", "3"], ["top", "-n", "3"], ["top", "--worst"], ["show", id_of(7)]):
        text, error = run_command("ledger", *words)
        assert text.strip()
        assert "\x1b[2J" not in text
        assert error == ""
    assert "[bold]two" in run_command("ledger", "list", "-n", "1")[0]
    top = json.loads(run_command("ledger", "top", "-n", "2", "--json")[0])
    assert [(each["mean"], each["n_trials"]) for each in top] == [(2.9, 34), (2.8, 34)]
    assert json.loads(run_command("ledger", "top", "--worst", "-n", "1", "--json")[0])[0]["mean"] == 0.0
    assert run_command("ledger", "top", "--prompt")[0] == ledger.prior_results()
    text, error = run_command("ledger", "compare", id_of(3), id_of(2), id_of(777), "--json")
    assert [each["id"] for each in json.loads(text)] == [id_of(3), id_of(2)]
    assert error == f"missing: {id_of(777)}\n"
    for words in (
        ["show", "zz"],
        ["show", "0000"],
        ["compare", "7"],
        ["top", "--data", "unheard-of"],
        ["show", id_of(777)],
    ):
        assert run_command("ledger", *words, code=2)[1].startswith("error: ")


def test_tables_name_a_strategy_by_its_params_and_fit_the_terminal(
    run_command: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategies = {
        "trend(fast=10, slow=50)": ({"name": "trend", "params": {"fast": 10, "slow": 50}}, ""),
        "carry(share=0.123457): Hold what pays.": (
            {"strategy": "carry", "params": {"share": 0.123456789}},
            "Hold what pays.",
        ),
        "code abababab(n=20): Buy dips.": ({"code": "ab" * 32, "params": {"n": 20}}, "Buy dips."),
        "momentum": ({"name": "momentum"}, ""),
        "only a description": ({"entry_rules": []}, "only a description"),
        "x" * 200: ({"name": "x" * 200}, ""),
    }
    ledger = ledger_at(tmp_path / "ledger")
    where = replace(market(), name="a market with a name that is very long", symbols=())
    for number, (strategy, words) in enumerate(strategies.values()):
        ledger.add([ledger_run(number, number / 10, market=where, strategy=strategy, description=words)])
    for words in (["list"], ["top", "-n", "9"], ["compare", *map(id_of, range(6))]):
        for width in (200, 140, 80, 50, 30):
            monkeypatch.setenv("COLUMNS", str(width))
            lines = run_command("ledger", *words)[0].splitlines()
            assert max(map(len, lines)) <= width
            assert all(any(f"0.{number}0" in line for line in lines) for number in range(6)), "no number is cut"
            # Wrapped at words, or within a word that is longer than the terminal, and never cut.
            whole = "".join("".join(lines).split())
            assert all("".join(what.split()) in whole for what in strategies)
        assert "…" not in whole


FIELD_LABELS = ("status", "candle_interval", *NUMBERS)


def test_compare_prints_all_fields_and_why_some_are_undefined(
    run_command: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = dict.fromkeys(NUMBERS, 1234.5) | {"total_positions": 7, "max_drawdown": 0.25}
    ledger = ledger_at(tmp_path / "ledger")
    ledger.add([ledger_run(1, 0.5, metrics=metrics), ledger_run(2, status="failed", strategy={"name": "bad"})])
    monkeypatch.setenv("COLUMNS", "80")
    text, _ = run_command("ledger", "compare", id_of(1), id_of(2))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line and line[0].isalpha()}
    assert set(FIELD_LABELS) <= set(rows)
    assert (rows["net_pnl"], rows["avg_hold_duration_secs"]) == (["1,234.50", "—"], ["1,234", "—"])
    assert rows["max_drawdown"] == ["25.00%", "—"]
    assert "a finished run is required; received a failed one (2: total_positions, " in " ".join(text.split())
    content = json.loads(run_command("ledger", "compare", id_of(1), id_of(2), "--json")[0])
    assert [set(each) for each in content] == [{*FIELDS, "undefined"}] * 2
    assert set(content[1]["undefined"]) == set(NUMBERS)
    assert content[0]["undefined"] == {}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_comparison_is_written_to_a_file(run_command: Callable[..., Output], ledger: Ledger, suffix: str) -> None:
    path = Path(f"compared{suffix}")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    text, _ = run_command("ledger", "compare", id_of(3), id_of(90), "--out", str(path))
    assert text == f"wrote 2 rows to {path}\n"
    rows: list[dict[str, Any]]
    if suffix == ".parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    elif suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [list(row) for row in rows] == [[*FIELDS, "undefined"]] * 2
    assert [row["id"] for row in rows] == [id_of(3), id_of(90)]
    assert float(rows[0]["sharpe_ratio"]) == 0.3
    assert rows[1]["sharpe_ratio"] in (None, "")
    assert "sharpe_ratio" in rows[1]["undefined"]
    assert "which exists" in run_command("ledger", "compare", id_of(3), "--out", str(path), code=2)[1]


def test_counts_of_one_are_singular(run_command: Callable[..., Output], tmp_path: Path) -> None:
    with ledger_at(tmp_path / "ledger") as ledger:
        ledger.add([ledger_run(1)])
    texts = [
        run_command("ledger", *words)[0]
        for words in (["show", id_of(1)], ["top", "--prompt"], ["rebuild"], ["export", "runs.csv"], ["verify"])
    ]
    assert "1 trial on this market" in texts[0]
    assert "## Learnings from 1 prior backtest across 1 strategy\n" in texts[1]
    assert texts[3] == "wrote 1 row to runs.csv\n"
    assert not re.search(r"\b1 (trials|runs|strategies|backtests|records|rows|lines|params|entries)\b", "".join(texts))


def test_verify_exits_with_1_after_a_modified_line(
    run_command: Callable[..., Output], ledger: Ledger, tmp_path: Path
) -> None:
    head = json.loads(run_command("ledger", "verify", "--json")[0])["head"]
    text, _ = run_command("ledger", "verify", "--head", head)
    assert text == f"35 records: the log is intact\nhead {head}\n"
    path = tmp_path / "ledger" / "00000.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event":"ru')
    assert "1 truncated line: the log is intact" in run_command("ledger", "verify")[0]
    path.write_bytes(whole.replace(b'"sharpe_ratio":0.7', b'"sharpe_ratio":7.0'))
    text, _ = run_command("ledger", "verify", code=1)
    assert text.startswith("00000.jsonl, line 9: the line is not what was written\n")
    result = json.loads(run_command("ledger", "verify", "--json", code=1)[0])
    assert (result["intact"], result["faults"][0]["line"]) == (False, 8)
    assert json.loads(run_command("ledger", "rebuild", "--json")[0])["changed"] == 2
    assert "ledger verify" in run_command("ledger", "list")[1]
    assert "were modified" in run_command("ledger", "rebuild")[1]


def test_a_missing_ledger_is_refused_and_not_created(run_command: Callable[..., Output], tmp_path: Path) -> None:
    for words in (["list"], ["verify"], ["top"], ["export", "x.csv"], ["serve"]):
        assert "a folder with a ledger is required" in run_command("ledger", *words, code=2)[1]
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_runs_are_exported_without_undefined_values(
    run_command: Callable[..., Output], ledger: Ledger, suffix: str
) -> None:
    path = Path(f"runs{suffix}")
    assert run_command("ledger", "export", str(path))[0] == f"wrote 34 rows to {path}\n"
    rows: list[dict[str, Any]]
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(path).to_pylist()
    elif suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = [{name: value or None for name, value in row.items()} for row in csv.DictReader(file)]
    else:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    ids = [*range(30), 90, 91, 92, 93]
    assert [row["run_id"] for row in rows] == [id_of(number) for number in ids]
    ratios = [None if row["sharpe_ratio"] is None else float(row["sharpe_ratio"]) for row in rows]
    assert ratios == [*(number / 10 for number in range(30)), None, 9.0, None, 0.1]
    assert "which exists" in run_command("ledger", "export", str(path), code=2)[1]


def test_other_views_are_exported_too(run_command: Callable[..., Output], ledger: Ledger) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    run_command("ledger", "export", "returns.parquet", "--view", "returns")
    assert parquet.read_table("returns.parquet").to_pylist()[0]["returns"] == returns().tolist()
    run_command("ledger", "export", "strategies.csv", "--view", "strategies")
    with Path("strategies.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 34
    assert (
        json.loads(run_command("ledger", "export", "run_ledger.jsonl", "--view", "run-ledger", "--json")[0])["rows"]
        == 64
    )
    first = json.loads(Path("run_ledger.jsonl").read_text("utf-8").splitlines()[0])
    assert set(first) == {"run_id", "instrument", "candle_interval", "strategy", "timestamp"}
    for words in (
        ["x.xlsx"],
        ["x.csv", "--view", "unheard-of"],
        ["x.csv", "--view", "run-ledger"],
        ["no/folder/x.csv"],
    ):
        assert run_command("ledger", "export", *words, code=2)[1].startswith("error: argument_invalid: ")


@pytest.mark.parametrize(
    ("package", "extra", "words"),
    [
        ("pyarrow", "parquet", ["export", "x.parquet"]),
        ("fastapi", "server", ["serve"]),
        ("uvicorn", "server", ["serve"]),
    ],
)
def test_a_missing_package_names_its_extra(
    run_command: Callable[..., Output],
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    extra: str,
    words: list[str],
) -> None:
    # None in `sys.modules` makes an import fail.
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"needs `pip install openoutcry[{extra}]`" in run_command("ledger", *words, code=2)[1]
