"""Agent names on the command line: suggestions, errors, and modules of the working directory."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import openoutcry as oo
from openoutcry.cli import main
from openoutcry.cli.name_suggestions import suggested_name
from openoutcry.cli.run_table import metrics_table

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")

NAMED = {
    "agent.py": '`"cmd:python agent.py"`, or `agent:decide` to call a function in it',
    "python agent.py": '`"cmd:python agent.py"`',
    "sh -c true": '`"cmd:sh -c true"`',
    "no-such-program agent.py --port 1:2": '`"cmd:no-such-program agent.py --port 1:2"`',
    "'my agent.py'": None,
    "inner/agent.py": '`"cmd:python inner/agent.py"`, or `inner.agent:decide` to call a function in it',
    "inner/two words.py": None,
    "inner.agent": "`inner.agent:decide`",
    "agent": "`agent:decide`",
    "agent.py:trade": "`agent:trade`",
    "agent.js": '`"cmd:node agent.js"`',
    "agent.txt": None,
    "localhost:8000": "`http://localhost:8000`",
    ":8000": "`http://127.0.0.1:8000`",
    "momentum": None,
    "cmd:agent.py": '`"cmd:python agent.py"`',
    "cmd:./agent.js --fast": '`"cmd:node ./agent.js --fast"`',
    "cmd:none.py": None,
    "cmd:agent.txt": None,
    "cmd: ": None,
    "http://agent.py": None,
    "momentm": "`momentum`",
    "mean_reversion": "`mean-reversion`",
    "unheard-of": None,
    "unheard_of:decide": None,
    "a'b": None,
    "": None,
    "x" * 5_000: None,
    "a\0b": None,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    for name in ("agent.py", "agent.js", "agent.txt", "inner/agent.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    return tmp_path


@pytest.fixture
def ran(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command in this process, and return its standard error."""

    def run(*words: str, code: int = 2) -> str:
        monkeypatch.setattr(sys, "argv", ["openoutcry", *words])
        monkeypatch.setattr(sys, "path", list(sys.path))
        ended = 0
        try:
            main()
        except SystemExit as error:
            ended = int(error.code or 0)
        output = capsys.readouterr()
        assert ended == code, output.out + output.err
        return output.err

    return run


@pytest.mark.parametrize(("name", "suggestion"), NAMED.items(), ids=lambda each: str(each)[:30])
def test_an_unknown_name_has_a_suggestion(folder: Path, name: str, suggestion: str | None) -> None:
    assert suggested_name(name) == suggestion


@pytest.mark.parametrize("command", [["run", "--agent"], ["conformance"]])
@pytest.mark.parametrize(
    "name", ["python agent.py", "agent.py", "localhost:8000", "agent.py:trade", "cmd:agent.py", "momentm"]
)
def test_an_unknown_agent_is_refused_with_a_suggestion(ran: Callable[..., str], command: list[str], name: str) -> None:
    output = ran(*command, name)
    assert "error: unknown_agent: " in output
    assert output.endswith(f"; hint: {suggested_name(name)}\n")


@pytest.mark.parametrize("command", [["run", "--agent"], ["conformance"]])
def test_a_missing_program_has_a_hint(ran: Callable[..., str], command: list[str]) -> None:
    output = ran(*command, "cmd:no-such-program --fast", "--sandbox", "none")
    assert output.endswith("; hint: install `no-such-program`, or give the path of the program\n")


@pytest.mark.parametrize("command", [["run", "--agent"], ["conformance"]])
def test_a_program_that_exits_early_is_reported_with_its_output(
    ran: Callable[..., str], folder: Path, command: list[str]
) -> None:
    (folder / "early.py").write_text("raise ValueError('no idea')\n", encoding="utf-8")
    output = ran(*command, f"cmd:{sys.executable} early.py", "--sandbox", "none", code=1).splitlines()
    assert output[-1].startswith("error: agent_died: ")
    assert output[-2].strip() == "ValueError: no idea"


@pytest.mark.parametrize("agent", ["momentum", "cmd:true", "http://127.0.0.1:1", "agent:decide"])
@pytest.mark.parametrize("option", ["--timeout", "--start-timeout"])
def test_an_invalid_timeout_is_refused_with_its_option(ran: Callable[..., str], agent: str, option: str) -> None:
    for value, shown in (("0", "0.0"), ("-5", "-5.0"), ("nan", "nan"), ("inf", "inf")):
        output = ran("run", "--agent", agent, option, value)
        assert output == f"error: argument_invalid: `{option}` must be a number above 0; received {shown}\n"


@pytest.mark.parametrize(
    "command", [["run", "--window", ":+60", "--agent"], ["leakcheck", "--cuts", "1", "--bars", "40"]], ids=" ".join
)
def test_the_working_directory_is_searched_first_for_the_agent_and_last_otherwise(
    folder: Path, command: list[str]
) -> None:
    (folder / "sched.py").write_text("open('mark', 'w').close()\n", encoding="utf-8")
    # Also an installed module.
    (folder / "pluggy.py").write_text("MINE = True\n", encoding="utf-8")
    text = "from pluggy import MINE\n\ndef decide(seen):\n    import sched\n    return {'orders': []}\n"
    (folder / "mine.py").write_text(text, encoding="utf-8")
    done = subprocess.run([COMMAND, *command, "mine:decide"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "mark").exists()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("ranked", [False, True])
def test_a_long_name_truncates_no_number(width: int, ranked: bool) -> None:
    name = "cmd:/somewhere/bin/python examples/reference-agent.py --with [bold]many[/bold] --arguments \x1b[2J"
    run = oo.run_backtest(oo.data.load("us-treasury"), "random", "+300:+400", name=name)
    shown = io.StringIO()
    Console(file=shown, width=width).print(metrics_table("title", [run], ranked=ranked))
    text = shown.getvalue()
    assert "…" not in text
    metrics = run.metrics
    assert metrics["sharpe"] is not None
    assert f"{metrics['sharpe']:.2f} ± {metrics['sharpe_se']:.2f}" in text
    assert f"{metrics['turnover']:.1f}x" in text
    assert "[bold]many[/bold]" in text
    assert "\x1b" not in text
