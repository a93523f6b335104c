"""Test the list of commands of `openoutcry --help`, and errors in their words."""

from __future__ import annotations

import sys

import pytest

from openoutcry.cli import main
from openoutcry.cli.commands import COMMANDS, command_of

pytestmark = pytest.mark.once


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_starts_with_its_summary(name: str) -> None:
    assert (command_of(name).help or "").partition("\n")[0] == COMMANDS[name].summary


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "no such command 'nonsense'"),
        (["run", "--nonsense"], "no such option: --nonsense"),
        (["replay"], "missing argument"),
        (["run", "--trials", "many"], "invalid value for '--trials'"),
        (
            ["run", "--record", "x.txt"],
            "argument_invalid: `--record` must be a name that ends in .json, .json.zst, .jsonl, .jsonl.zst",
        ),
        (["replay", "x", "--data", "ecb-fx"], "argument_invalid: `record` must be a name that ends in .json"),
        (["diff", "x.json", "y.json"], "argument_invalid: `record` must be a readable file; received 'x.json'"),
        (["martingale", "--bars", "40"], "argument_invalid: `--bars` must be at least 41; received 40"),
        (["run", "--data", "nope"], "unknown_dataset: a dataset must be one of ecb-fx"),
        (
            ["run", "--agent", "x", "--agent", "y"],
            "argument_invalid: `--agent` must be given once; received it 2 times",
        ),
        (["report", "compare", "--out=a", "--out", "b"], "argument_invalid: `--out` must be given once; received it 2"),
        (
            ["data", "check", "--symbol=A", "--symbol=A"],
            "argument_invalid: `--symbol` must be given once; received it 2",
        ),
        (
            ["ledger", "top", "--data=a", "--data=b"],
            "argument_invalid: `--data` must be given once; received it 2 times",
        ),
    ],
)
def test_an_invalid_command_line_is_one_line_of_error(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["openoutcry", *words])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    assert (ended.value.code, output.out) == (2, "")
    assert output.err.startswith(f"error: {message}"), output.err
    assert output.err.count("\n") == 1


def test_a_group_without_a_command_prints_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["openoutcry", "data"])
    with pytest.raises(SystemExit):
        main()
    output = capsys.readouterr()
    assert "Usage: openoutcry data" in output.out + output.err
    assert "error: " not in output.err
