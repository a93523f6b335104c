"""The command line, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import openoutcry as oo

COMMAND = Path(sys.executable).with_name("openoutcry")


def call(*words: str, cwd: Path | None = None, code: int = 0) -> str:
    """Run the command, check its exit code, and return what it printed (what it complained of, if it failed)."""
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code else done.stdout


def test_the_demo_ranks_the_baselines_and_writes_one_page(tmp_path: Path) -> None:
    table = call("demo", cwd=tmp_path)
    for name in oo.agents.NAMES:
        assert table.count(name) >= 2
    assert "ecb-fx" in table
    assert "us-treasury" in table
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_demo_prints_the_numbers_of_the_runs_as_json(tmp_path: Path) -> None:
    boards = json.loads(call("demo", "--json", "--windows", "2", cwd=tmp_path))
    assert [board["dataset"] for board in boards] == ["ecb-fx", "us-treasury"]
    for board in boards:
        dataset = oo.data.load(board["dataset"])
        assert board["fingerprint"] == dataset.fingerprint
        sharpes = [agent["metrics"]["sharpe"] for agent in board["agents"]]
        ranked = [sharpe for sharpe in sharpes if sharpe is not None]
        assert ranked == sorted(ranked, reverse=True)
        assert sharpes[: len(ranked)] == ranked
        held = next(agent for agent in board["agents"] if agent["agent"] == "buy-and-hold")
        run = oo.run_backtest(dataset, "buy-and-hold", limits=oo.Limits(allow_short=False))
        assert held["metrics"] == run.metrics
        assert len(held["windows"]) == 2


def test_run_gives_the_numbers_of_a_backtest(tmp_path: Path) -> None:
    printed = json.loads(
        call("run", "--data", "ecb-fx", "--agent", "momentum", "--window", "2010-01-01:2015-01-01", "--json")
    )
    run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", "2010-01-01:2015-01-01")
    assert printed["nav"] == run.nav.tolist()
    assert printed["metrics"] == run.metrics
    page = tmp_path / "run.html"
    table = call("run", "--data", "us-treasury:UST2Y,UST10Y", "--agent", "equal-weight", "--report", str(page))
    assert "equal-weight" in table
    assert "openoutcry run --data" in page.read_text(encoding="utf-8")


def test_run_takes_a_file_and_a_function_of_the_users(tmp_path: Path) -> None:
    rows = [f"2020-01-{day:02d},A,{100 + day}" for day in range(1, 29)]
    (tmp_path / "prices.csv").write_text("\n".join(["date,symbol,close", *rows]) + "\n", encoding="utf-8")
    agent = 'def decide(seen):\n    return {"orders": [{"symbol": "A", "action": "buy", "target_weight": 1}]}\n'
    (tmp_path / "mine.py").write_text(agent, encoding="utf-8")
    printed = json.loads(
        call("run", "--data", "prices.csv", "--agent", "mine:decide", "--window", "0:", "--json", cwd=tmp_path)
    )
    assert printed["agent"] == "mine:decide"
    assert 0.25 < printed["metrics"]["return"] < 128 / 101 - 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "--data", "nothing.csv"], "data must be one of ecb-fx, us-treasury, or a CSV or Parquet file"),
        (["run", "--agent", "nobody"], "an agent must be one of hold-cash"),
        (["run", "--agent", "json:nothing"], "must have a callable `nothing`"),
        (["run", "--window", "2010"], "a window must be `START:END`"),
        (["run", "--window", "5:6"], "window must satisfy"),
        (["run", "--fee-bps", "-1"], "`fee_bps` must be a finite number of at least 0"),
        (["data", "describe", "ecb-fx:everything"], "everything"),
    ],
)
def test_refused_input_is_one_line_and_exit_code_2(words: list[str], complaint: str) -> None:
    printed = call(*words, code=2)
    assert printed.startswith("error: ")
    assert complaint in printed
    assert printed.count("\n") == 1


def test_data_lists_describes_and_checks(tmp_path: Path) -> None:
    assert {item["name"] for item in json.loads(call("data", "list", "--json"))} == set(oo.data.names())
    described = json.loads(call("data", "describe", "ecb-fx:all", "--json"))
    gone = {row["symbol"]: row for row in described["symbols"]}["SIT"]
    assert gone["settled"] == "2007-01-02"
    assert "USD" in call("data", "describe", "ecb-fx")
    file = tmp_path / "prices.csv"
    file.write_text("date,A\n2020-01-01,100\n2020-01-02,10\n", encoding="utf-8")
    assert "a split that is not marked?" in call("data", "check", str(file))
    file.write_text("date,A\n2020-01-01,100\n2020-01-02,-10\n", encoding="utf-8")
    assert 'price_invalid: `close` at row 1 (2020-01-02), column "A"' in call("data", "check", str(file), code=2)


def test_help_teaches_with_examples() -> None:
    assert "openoutcry demo" in call("--help")
    for verb in ("demo", "run", "bench"):
        assert "Examples" in call(verb, "--help")
    assert call("--version").startswith("openoutcry 0.1.0, contract 1.0")


def test_run_says_what_was_not_filled() -> None:
    table = call("run", "--data", "ecb-fx:all", "--agent", "equal-weight", "--long-only")
    assert "unfilled" in table
    assert "delisted" in table


def test_an_impossible_date_is_no_edge_of_a_window() -> None:
    assert "must be a bar or an ISO date" in call("run", "--window", "2010-02-31:", code=2)
