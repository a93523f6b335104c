"""Test the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from command_line import typed

import openoutcry as oo
from openoutcry.benchmarks.engine_speed import Row
from openoutcry.cli.bench import check_goals

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")


def call(*words: str, cwd: Path | None = None, code: int = 0) -> str:
    """Run the command, check its exit code, and return standard output, or standard error if it failed."""
    done = typed(*words, cwd=cwd)
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


def test_run_accepts_a_file_and_a_function_of_the_user(tmp_path: Path) -> None:
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
        (["run", "--data", "nothing.csv"], "a dataset must be one of ecb-fx, us-treasury, or a file of prices"),
        (["run", "--agent", "nobody"], "an agent must be one of hold-cash"),
        (["run", "--agent", "json:nothing"], "must have a callable `nothing`"),
        (["run", "--window", "2010"], "a window must be `START:END`"),
        (["run", "--window", "5:6"], "window must satisfy"),
        (["run", "--window", "2010:2012"], "hint: write 2010-01-01:2012-01-01 for years, +2010:+2012 for bars"),
        (["run", "--report", "no/dir/x.html"], "`--report` must be a writable file"),
        (["demo", "--report", "."], "`--report` must be a writable file"),
        (["run", "--data", "tests"], "a dataset must be one of ecb-fx, us-treasury"),
        (["run", "--data", "ecb-fx:USD,USD"], "must be named once"),
        (["run", "--data", "ecb-fx", "--periods-per-year", "12"], "must be left out with ecb-fx"),
        (["run", "--agent", "no_such_module:decide"], "no module 'no_such_module'"),
        (["run", "--seed", "-1"], "`seed` must be an integer from 0"),
        (["run", "--max-weight", "-1"], "`max_weight` must be at least 0"),
        (["run", "--cash-bps", "inf"], "`cash_bps` must be a finite number"),
        (["run", "--agent", "json:dumps"], "unknown_field: fields must be among"),
        (["run", "--fee-bps", "-1"], "`fee_bps` must be a finite number of at least 0"),
        (["data", "describe", "ecb-fx:everything"], "everything"),
        (["run", "--window", "2040-01-01:"], "from 2040-01-01: in 1999-01-04 .. 2026-10-30"),
        (["demo", "--windows", "100000"], "`n_windows` must be an integer from 1 to 7106; received 100000"),
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
    assert "…" not in call("data", "describe", "ecb-fx:all")
    assert "USD    1999-01-04 2026-10-30   7126" in call("data", "describe", "ecb-fx")
    file = tmp_path / "prices.csv"
    file.write_text("date,A\n2020-01-01,100\n2020-01-02,10\n", encoding="utf-8")
    assert "is a split missing?" in call("data", "check", str(file))
    file.write_text("date,A\n2020-01-01,100\n2020-01-02,-10\n", encoding="utf-8")
    assert 'price_invalid: `close` on line 3 (2020-01-02), column "A"' in call("data", "check", str(file), code=2)


def test_help_has_examples() -> None:
    assert "openoutcry demo" in call("--help")
    assert "Exit codes" in call("--help")
    for verb in ("demo", "run", "bench"):
        assert "Examples" in call(verb, "--help")
    assert call("--version").startswith("openoutcry 0.1.0, contract 1.0")


def test_the_help_of_run_truncates_no_option() -> None:
    output = call("run", "--help")
    assert "--long-only" in output
    assert "--maintenance-margin" in output
    assert "--…" not in output


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "openoutcry", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == call("--version")


def test_a_run_that_ended_early_states_it_first(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(
        "date,A\n" + "".join(f"2020-01-{day:02d},{price}\n" for day, price in enumerate([10, 10, 30, 10], 1)),
        encoding="utf-8",
    )
    agent = 'def short(seen):\n    return {"orders": [{"symbol": "A", "action": "sell", "target_weight": -1}]}\n'
    (tmp_path / "mine.py").write_text(agent, encoding="utf-8")
    words = ["run", "--data", "prices.csv", "--agent", "mine:short", "--window", "0:"]
    assert call(*words, cwd=tmp_path).startswith("mine:short: ruined on 2020-01-03\n")
    assert json.loads(call(*words, "--json", cwd=tmp_path))["ending"] == "ruined on 2020-01-03"


def test_undefined_metrics_are_listed_by_reason(tmp_path: Path) -> None:
    (tmp_path / "flat.csv").write_text("date,A\n2020-01-01,1\n2020-01-02,1\n2020-01-03,1\n", encoding="utf-8")
    output = call("run", "--data", "flat.csv", "--agent", "hold-cash", "--window", "0:", cwd=tmp_path)
    assert output.count("undefined") == 4
    assert (
        "  · cagr is undefined: at least 21 returns, one month, are required for annual growth; received 2\n" in output
    )
    assert re.search("  · sharpe, sharpe_se, .* are undefined because the returns are constant\n", output)
    assert "  · calmar is undefined: a drawdown is required; received a return series without one\n" in output


def test_run_prints_unfilled_orders() -> None:
    table = call("run", "--data", "ecb-fx:all", "--agent", "equal-weight", "--long-only")
    assert "unfilled" in table
    assert "delisted" in table


def test_an_impossible_date_is_refused_as_an_edge_of_a_window() -> None:
    assert "must be a bar or an ISO date" in call("run", "--window", "2010-02-31:", code=2)


def test_one_symbol_of_a_bundled_market_is_a_universe() -> None:
    printed = json.loads(call("run", "--data", "ecb-fx:USD", "--json"))
    assert printed["fingerprint"] == oo.data.load("ecb-fx", ["USD"]).fingerprint


def test_every_cost_and_limit_option_applies_to_the_run() -> None:
    costs = {"fee_bps": 1.5, "slippage_bps": 2.5, "impact_bps": 3.5, "cash_bps": 4.5, "financing_bps": 5.5}
    costs |= {"slippage_jitter": 0.25, "capital": 2e6}
    limits = {"max_weight": 0.5, "max_gross": 0.75, "max_participation": 0.25, "maintenance_margin": 0.125}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in (costs | limits).items()]
    words += ["--borrow-bps=6.5", "--long-only", "--data=ecb-fx:USD,JPY", "--json"]
    printed = json.loads(call("run", *words))
    assert printed["costs"] == oo.CostModel(**costs, borrow_bps=6.5).to_dict()
    assert printed["limits"] == oo.Limits(**limits, allow_short=False).to_dict()
    printed = json.loads(call("run", "--max-gross", "inf", "--json"), parse_constant=pytest.fail)
    assert (printed["limits"]["max_gross"], printed["limits"]["allow_short"]) == (None, True)


def test_periods_per_year_applies_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(
        "date,A\n" + "".join(f"2020-01-{day:02d},{100 + day % 7}\n" for day in range(1, 29)), encoding="utf-8"
    )
    sharpes = []
    for words, bars in (([], 365.0), (["--periods-per-year", "12"], 12.0)):
        printed = json.loads(call("run", "--data", str(file), "--window", "0:", "--json", *words))
        run = oo.run_backtest(oo.Dataset.from_csv(file, bars), "buy-and-hold", "0:")
        assert printed["metrics"] == run.metrics
        sharpes.append(printed["metrics"]["sharpe"])
    assert sharpes[0] != sharpes[1]


FAILING = """
import openoutcry

def slip(seen):
    return {"orders": []} if seen["date"] < "2010" else 1 / 0

def refuse(seen):
    raise openoutcry.OpenOutcryError("of the agent")

def broken():
    import no_such_module_of_mine
"""


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        ("slip", ["ZeroDivisionError", "1 / 0", "in the decision at the close of bar", "(2010-01-04)"]),
        ("refuse", ["OpenOutcryError: of the agent", "in refuse\n", "(1999-01-29)"]),
        ("broken:", ["ModuleNotFoundError", "no_such_module_of_mine"]),
    ],
)
def test_an_error_of_the_users_agent_keeps_its_traceback(agent: str, shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAILING + ("broken()\n" if ":" in agent else ""), encoding="utf-8")
    command = [COMMAND, "run", "--agent", f"mine:{agent.rstrip(':')}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert [each for each in shown if each not in done.stderr] == [], done.stderr


def test_a_refused_decision_states_its_bar() -> None:
    assert "; in the decision at the close of bar 19 (1999-01-29)" in call("run", "--agent", "json:dumps", code=2)


def row(value: float, bound: float, *, at_least: bool = False) -> Row:
    return Row("steps", value, bound, " ms", at_least=at_least)


def test_a_missed_goal_of_the_bench_is_printed_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    met = [row(0.4, 0.5), row(300_000.0, 3e5, at_least=True)]
    check_goals(met)
    assert capsys.readouterr().err == ""
    for missed in (row(0.5, 0.5), row(299_999.0, 3e5, at_least=True), row(float("nan"), 0.5)):
        with pytest.raises(typer.Exit) as left:
            check_goals([*met, missed])
        assert left.value.exit_code == 1
        assert capsys.readouterr().err == f"missed: steps: {missed.here}, goal {missed.goal}\n"
        assert not missed.to_dict()["is_met"]


def test_the_bench_prints_measurements_and_goals_as_json() -> None:
    done = subprocess.run([COMMAND, "bench", "--check", "--json"], capture_output=True, text=True, check=False)
    rows = json.loads(done.stdout)
    missed = [each["what"] for each in rows if not each["is_met"]]
    assert done.returncode == (1 if missed else 0), done.stderr
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == missed
    assert {"what", "value", "bound", "unit", "here", "goal", "peer", "ratio"} <= rows[0].keys()


def test_the_bench_refuses_a_build_that_is_not_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openoutcry.cli.bench.BUILD_PROFILE", "quick")
    done = typed("bench")
    assert done.returncode == 2
    assert "hint: `make build`" in done.stderr
