"""No text of unknown origin controls the terminal: names, errors, warnings, tracebacks and file names."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import typed
from rich.table import Table
from rich.text import Text

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.data.snapshots.snapshot_files import freeze
from openoutcry.errors import refusal
from openoutcry.harness.agent_faults import AgentError
from openoutcry.scoring import scorer
from openoutcry.untrusted import terminal
from openoutcry.untrusted.rich_console import Console, Progress, description_column

pytestmark = pytest.mark.once

# A new title of the window, hidden text, a C1 control, an override, line ends, zero width, an invisible letter and
# markup.
HOSTILE = "\x1b]0;PWNED\x07\x1b[8m\x9b31m\u202e\u2028\u2029\u200b\u2060\ufeff\u3164\ufe0f\r\n\x7f[red]:smile:"
SHOWN = r"\x1b]0;PWNED\x07\x1b[8m\x9b31m\u202e\u2028\u2029\u200b\u2060\ufeff\u3164\ufe0f\r\n\x7f[red]:smile:"


def controls_of(text: str) -> list[str]:
    """Return the characters of an output that could control the terminal."""
    return [each for each in text if each != "\n" and terminal.readable(each) != each]


@pytest.fixture(scope="module")
def market() -> oo.Dataset:
    dates = [f"2024-01-{day:02}" for day in range(1, 25)]
    closes = [[100.0 + (day * 7) % 5, 50.0 + (day * 3) % 4] for day in range(24)]
    return oo.Dataset.from_arrays(dates, ["A", "[red]B"], closes, periods_per_year=252, name=HOSTILE, notices=[HOSTILE])


@pytest.fixture(scope="module")
def run_of(market: oo.Dataset) -> Callable[..., oo.RunRecord]:
    def run(agent: str = "momentum", name: str = HOSTILE) -> Any:
        return oo.run_backtest(market, agent, "+2:+20", name=name, capture=True)

    return run


@pytest.fixture
def folder(market: oo.Dataset, run_of: Any, tmp_path: Path) -> Path:
    freeze(market, tmp_path, HOSTILE)
    run_of().record.save(tmp_path / "x.json")
    run_of("equal-weight", HOSTILE + "2").record.save(tmp_path / "y.json")
    return tmp_path


COMMANDS = {
    "diff": ["diff", "x.json", "y.json"],
    "replay": ["replay", "x.json", "--data", "."],
    "replay of another market": ["replay", "x.json", "--data", "ecb-fx"],
    "score": ["score", "x.json", "y.json", "--data", "."],
    "report": ["report", "x.json", "--data", ".", "--out", "r.html"],
    "report compare": ["report", "compare", "x.json", "y.json", "--data", ".", "--out", "r.html"],
    "a run to compare": ["report", "compare", HOSTILE, "x.json"],
    "run": ["run", "--data", ".", "--agent", "momentum"],
    "an agent name": ["run", "--data", ".", "--agent", HOSTILE],
    "a file name": ["replay", f"{HOSTILE[:12]}.json", "--data", "."],
    "a market name": ["run", "--data", HOSTILE, "--agent", "momentum"],
    "describe": ["data", "describe", "."],
    "check": ["data", "check", "."],
    "check of a file": ["data", "check", "prices.csv"],
    "an option": ["data", "list", f"--{HOSTILE}"],
    "a command": [HOSTILE],
    "a choice": ["bench", "--only", HOSTILE],
    "a number": ["run", "--data", ".", "--agent", "momentum", "--seed", HOSTILE],
    "sandbox": ["sandbox", "doctor", "--tier", HOSTILE],
    "ledger": ["ledger", "show", HOSTILE],
    "arena": ["arena", "verify", HOSTILE],
    "suite": ["suite", "show", HOSTILE],
    "power": ["power", "--agents", HOSTILE],
    "conformance": ["conformance", HOSTILE],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_shows_no_control_character(words: list[str], folder: Path) -> None:
    table = f"date,symbol,close\n2024-01-02,{HOSTILE[:12]},1\n2024-01-03,{HOSTILE[:12]},oops\n"
    (folder / "prices.csv").write_text(table, encoding="utf-8", newline="")
    done = typed(*words, cwd=folder)
    assert controls_of(done.stdout) == []
    assert controls_of(done.stderr) == []
    assert done.stdout + done.stderr != ""


def test_leakcheck_shows_no_control_character(tmp_path: Path) -> None:
    # In a process of its own: it forks.
    command = [sys.executable, "-m", "openoutcry", "leakcheck", HOSTILE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert controls_of(done.stderr) == []


@pytest.mark.parametrize("words", [COMMANDS["diff"], COMMANDS["run"], COMMANDS["describe"]], ids=lambda words: words[0])
def test_json_of_a_command_has_the_exact_text_without_controls(words: list[str], folder: Path) -> None:
    done = typed(*words, "--json", cwd=folder)
    assert controls_of(done.stdout) == []
    assert json.dumps(HOSTILE)[1:-1].replace("\x7f", "\\u007f") in done.stdout
    json.loads(done.stdout)


def test_a_name_is_shown_with_its_escapes_and_markup(folder: Path) -> None:
    assert SHOWN in typed(*COMMANDS["diff"], cwd=folder).stdout


def test_a_repr_shows_no_control_character(market: oo.Dataset, run_of: Any) -> None:
    run = run_of()
    for shown in (repr(market), repr(run), repr(run.record), str(oo.replay(run.record, oo.data.load("ecb-fx")))):
        assert controls_of(shown) == []


def test_a_traceback_of_a_command_shows_no_control_character(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(oo.Dataset, "notices", property(lambda self: 1 / 0 if self else HOSTILE))
    (folder / "mine.py").write_text(f"def decide(seen):\n    raise RuntimeError({HOSTILE!r})\n", encoding="utf-8")
    for words in (["run", "--agent", "mine:decide", "--window", ":+30"], ["data", "describe", "."]):
        done = typed(*words, cwd=folder)
        assert done.returncode == 1
        assert "Traceback" in done.stderr
        assert controls_of(done.stderr) == []


def test_warnings_and_log_messages_of_a_command_show_no_control_character() -> None:
    code = f"""
import logging, warnings
from openoutcry.untrusted.diagnostics import readable_reports
with readable_reports():
    warnings.warn({HOSTILE!r}, stacklevel=1)
    logging.getLogger("x").error({HOSTILE!r})
"""
    # pytest records warnings instead of printing them, so the text comes from another process.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    # Both keep their line breaks.
    assert done.stderr.count(SHOWN.partition(r"\n")[0]) == 2
    assert controls_of(done.stderr) == []


def test_a_warning_of_the_scorer_shows_no_control_character() -> None:
    dates = [f"2024-{month:02}-01" for month in range(1, 13)]
    with pytest.warns(UserWarning, match="PWNED") as found:
        scorer.submit_returns(HOSTILE, [0.01, -0.01] * 6, dates=dates, periods_per_year=252)
    assert [controls_of(str(each.message)) for each in found] == [[]] * len(found)
    assert SHOWN in str(found[0].message)


def test_a_console_shows_text_as_it_is() -> None:
    file = io.StringIO()
    console = Console(file=file, width=200, force_terminal=True, color_system=None)
    table = Table(HOSTILE, title=HOSTILE, caption=Text(HOSTILE))
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))
    console.print(table)
    console.print(HOSTILE, Text(HOSTILE))
    with Progress(description_column(), console=console) as progress:
        progress.add_task(HOSTILE, total=1)
    shown = file.getvalue()
    assert shown.count("[red]:smile:") >= 6
    # Rich moves the cursor for its bar.
    for own in ("\x1b[?25l", "\x1b[?25h", "\x1b[1A", "\x1b[2K", "\r"):
        shown = shown.replace(own, "")
    assert controls_of(shown) == []


def test_a_stream_of_ascii_shows_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.echo("é …\ud800")
    assert stream.buffer.getvalue() == b"\\xe9 \\u2026\\ud800\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_keeps_its_value_on_every_stream(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"name": f"café 日本語 😀 {HOSTILE}"}
    for value in (content, json.dumps(content, ensure_ascii=False)):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
        monkeypatch.setattr(sys, "stdout", stream)
        terminal.echo_json(value)
        assert json.loads(stream.buffer.getvalue().decode(encoding)) == content  # type: ignore[attr-defined]


def test_json_with_controls_keeps_its_value() -> None:
    text = json.dumps({"name": HOSTILE, "é": "日本\U000e0041"}, ensure_ascii=False, indent=1)
    shown = terminal.readable_json(text)
    assert json.loads(shown) == json.loads(text)
    assert controls_of(shown) == []
    assert "日本" in shown


LONG = "," * 4_000_000
REFUSALS: dict[str, Callable[[], Any]] = {
    "Python": lambda: refusal("argument_invalid", f"a text is required; received {LONG}; hint: end"),
    "an agent": lambda: AgentError("agent_died", LONG),
    "a CSV text": lambda: oo.Dataset.from_csv(f"date,symbol,close\n{LONG}\n"),
    "a JSON text": lambda: native.read_decision(f'{{"orders": [], "{LONG}": 1}}'),
    "a name": lambda: native.Baseline(LONG),
    "a scenario": lambda: oo.data.load(LONG),
    "a record": lambda: oo.RunRecord.from_json(json.dumps({LONG: 1})),
    "controls": lambda: native.Baseline(HOSTILE * 10_000),
}


@pytest.mark.parametrize("refuse", REFUSALS.values(), ids=REFUSALS)
def test_a_message_is_cut_to_two_kilobytes(refuse: Callable[[], Any]) -> None:
    try:
        error = refuse()
    except oo.OpenOutcryError as raised:
        error = raised
    assert isinstance(error, oo.OpenOutcryError)
    assert str(error).startswith(f"{error.slug}: ")
    assert len(str(error).encode()) <= 2000
    assert controls_of(str(error)) == []


def test_the_command_line_cuts_its_errors(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(f"date,symbol,close\n{LONG}\n", encoding="utf-8")
    for words in (["data", "check", "wide.csv"], ["run", "--agent", "x" * 100_000], ["y" * 100_000]):
        done = typed(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.encode()) <= 2048


def test_the_verifier_of_an_export_shows_no_control_character(tmp_path: Path) -> None:
    from openoutcry.arena import verifier

    for words in (
        ["export", str(tmp_path), f"--{HOSTILE}"],
        ["export", str(tmp_path), "--vkey", f"{HOSTILE[:5]}+{'0' * 8}+A"],
        [HOSTILE, "x"],
        ["receipt", HOSTILE, "--vkey", HOSTILE],
    ):
        done = subprocess.run([sys.executable, verifier.__file__, *words], capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2)
        assert (done.stdout + done.stderr).replace("\n", "").isprintable()
