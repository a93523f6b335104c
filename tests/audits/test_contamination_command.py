"""Output, files and exit codes of `openoutcry contamination`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from agent_servers import Post, serving
from typer.testing import CliRunner, Result

from openoutcry.cli.commands import app

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")
SMALL = ["--windows", "1", "--bars", "64", "--repeats", "1", "--twins", "2", "--seed", "0"]
AGENT = """
from openoutcry import data
from openoutcry.audits.contamination.planted_agents import Memoriser

decide = Memoriser(data.load("ecb-fx").head(200), 1.0)
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["contamination", *words])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "remembering.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clean_agent_exits_with_0_and_reports_the_detectable_effect() -> None:
    result = run("--agent", "momentum", *SMALL[:-1], "7")
    assert result.exit_code == 0, result.output
    assert "momentum on ecb-fx, 1 window, 63 bars" in result.output
    assert "seed 7" in result.output
    assert "no contamination of momentum found" in result.output
    assert "is detected with a probability of 80 %" in " ".join(result.output.split())


def test_an_agent_with_memorized_data_exits_with_1_from_its_own_process(folder: Path) -> None:
    picture = folder / "arms.svg"
    words = ["--agent", "remembering:decide", "--sandbox", "none", *SMALL, "--picture", str(picture), "--jobs", "2"]
    result = run(*words, "--json")
    assert result.exit_code == 1, result.output
    verdict = json.loads(result.stdout.splitlines()[-1])
    assert verdict["found"] == ["name", "path"]
    assert verdict["is_contaminated"] is True
    assert verdict["faults"] == {}
    assert verdict["differences"]["name"]["low"] > 0.0
    assert verdict["conclusion"] == "contaminated"
    assert verdict["verdict"].startswith("remembering:decide has memorized this market: it earns")
    svg = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    texts = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "remembering:decide on ecb-fx: has memorized it by name and path" in texts
    assert {"named", "masked", "2 twins"} <= set(texts)


def test_a_single_effect_exits_with_3_in_every_output(tmp_path: Path) -> None:
    """A baseline without memorization earns from a real trend."""
    rng, prices = np.random.default_rng(0), tmp_path / "trends.csv"
    moves = np.repeat(rng.normal(0.0, 0.003, (8, 5)), 40, axis=0) + rng.normal(0.0, 0.006, (320, 5))
    dates = np.datetime_as_string(np.datetime64("2010-01-04") + np.arange(320)).tolist()
    rows = zip(dates, 100.0 * np.exp(np.cumsum(moves, axis=0)), strict=True)
    lines = ["date,A,B,C,D,E", *(",".join([date, *(f"{each:.9g}" for each in row)]) for date, row in rows)]
    prices.write_text("\n".join(lines) + "\n", encoding="utf-8")
    picture, words = tmp_path / "arms.svg", ["--data", str(prices), "--windows", "2", "--twins", "3", "--seed", "0"]
    result = run("--agent", "momentum", *words, "--picture", str(picture))
    assert result.exit_code == 3, result.output
    assert "momentum depends on the order of bars: it earns" in result.output
    assert "momentum on trends: depends on the order of bars" in picture.read_text(encoding="utf-8")
    verdict = json.loads(run("--agent", "momentum", *words, "--json").stdout)
    assert (verdict["conclusion"], verdict["found"], verdict["is_contaminated"]) == ("unclear", ["path"], False)


def test_the_default_seed_is_random_and_reproduces_its_verdict() -> None:
    words = ["--agent", "random", *SMALL[:-2], "--json"]
    first, second = (json.loads(run(*words).stdout) for _ in range(2))
    assert first["design"]["seed"] != second["design"]["seed"]
    again = json.loads(run(*words, "--seed", str(first["design"]["seed"])).stdout)
    assert again == first


def test_a_server_runs_each_path_once_and_the_verdict_notes_that_it_is_not_restarted() -> None:
    with serving(Post.answer) as server:
        words = ["--agent", server.url, "--windows", "1", "--bars", "64", "--twins", "2", "--seed", "0"]
        result = run(*words, "--json")
    verdict = json.loads(result.stdout)
    assert verdict["design"]["n_repeats"] == 1
    assert len(verdict["means"]["named"]) == len(verdict["means"]["masked"]) == 1
    assert verdict["notices"] == ["a server is not restarted between runs: it may carry state from one run to the next"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--window", "2010-01-01:2010-02-01"], "at least 60 bars in total are required; received 19"),
        (["--windows", "3", "--bars", "20"], "at least 60 bars in total are required; received 57"),
    ],
)
def test_too_few_bars_are_refused_before_an_agent_starts(tmp_path: Path, arguments: list[str], message: str) -> None:
    mark = tmp_path / "started"
    result = run("--agent", f"cmd:touch {mark}", "--sandbox", "none", *arguments)
    assert result.exit_code != 0
    assert message in str(result.exception)
    assert not mark.exists()


def test_an_unknown_agent_is_refused_before_the_first_run() -> None:
    result = run("--agent", "nobody", *SMALL)
    assert "unknown_agent" in str(result.exception)
    # An error within a run would have a note about the run.
    assert getattr(result.exception, "__notes__", []) == []


@pytest.mark.parametrize("agent", ["plain:decide", "cmd:python3 plain.py"])
def test_no_code_of_the_agents_folder_runs_outside_its_process(tmp_path: Path, agent: str) -> None:
    """A module of the agent that shadows one of the standard library could change the verdict."""
    mark = tmp_path / "mark"
    for name in ("statistics", "secrets", "resource"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\nraise SystemExit(9)\n", encoding="utf-8")
    text = "import sys\ndef decide(seen): return {'orders': []}\n"
    loop = "if __name__ == '__main__':\n    for line in sys.stdin: print('{\"orders\":[]}', flush=True)\n"
    (tmp_path / "plain.py").write_text(text + loop, encoding="utf-8")
    command = [COMMAND, "contamination", "--agent", agent, "--sandbox", "none", *SMALL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
    assert "the harness would import modules from the agent's folder" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "momentum", "--masking", "none"], "`masking` must be one of names, levels, calendar, full"),
        (["--agent", "momentum", "--picture", "arms.png"], "`--picture` must be a path that ends in `.svg`"),
        (["--agent", "momentum", "--window", "2010:2012"], "a window must be unambiguous"),
        (["--agent", "momentum", "--jobs", "2"], "`n_jobs` must be 1"),
    ],
)
def test_invalid_arguments_exit_with_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in str(result.exception) + result.output


def test_an_agent_with_malformed_decisions_is_not_judged(folder: Path) -> None:
    (folder / "nonsense.sh").write_text("while read -r line; do echo no; done", encoding="utf-8")
    result = run("--agent", "cmd:sh nonsense.sh", "--sandbox", "none", *SMALL)
    assert "at most 5 % of the decisions in each arm may default to hold after a fault; received 63 of 63" in str(
        result.exception
    )
    assert "named: decisions that defaulted to hold: 63 malformed" in result.output
    assert "sh nonsense.sh cannot be judged" in result.output


def test_an_agent_that_never_trades_has_a_picture_and_no_contamination(folder: Path) -> None:
    """An error exits with code 1, which means contamination; its differences are all 0."""
    result = run("--agent", "hold-cash", *SMALL, "--picture", "arms.svg")
    assert result.exit_code == 0, result.output
    ElementTree.parse(folder / "arms.svg")


def test_a_picture_that_cannot_be_written_exits_with_2(folder: Path) -> None:
    (folder / "arms.svg").symlink_to(folder / "no" / "folder.svg")
    assert run("--agent", "hold-cash", *SMALL, "--picture", "arms.svg").exit_code == 2
