"""A folder in place of a file is refused with a hint by every command and option with a path."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from ledger_runs import id_of, ledger_at, ledger_run

import openoutcry as oo
from openoutcry import cli
from openoutcry.cli.commands import app
from openoutcry.scoring.suite import Suite

pytestmark = pytest.mark.once

TEXTS = {"source", "sources", "old", "new", "suite", "public_key"}
"""Parameters of the type `str` that may name a file."""
FOLDERS = {"output_dir", "ledger_dir", "data_dir", "tables", "records", "folder", "out", "dir"}
"""Parameters that name a folder, or a new file or folder of some commands."""
NEED_A_SESSION = ("resume", "replay", "report")
"""Commands of research that read a market after their journal, as `research run` does."""
RECORD, RUN = "record.json", ["run", "--agent", "momentum", "--window", "19:24"]
SUITE = ["suite", "run", "sealed.json", "--agent", "momentum", "--record", "new.json"]
# Command lines with a folder `folder`, or one with the suffix that the command requires.
LINES: dict[str, list[list[str]]] = {
    "demo report": [["demo", "--report", "folder"]],
    "run source": [[*RUN, "--data", "folder"], [*RUN, "--data", "folder.csv"]],
    "run report": [[*RUN, "--report", "folder"]],
    "run record": [[*RUN, "--record", "folder.json"]],
    "replay record": [["replay", "folder.json", "--data", "ecb-fx"]],
    "replay source": [["replay", RECORD, "--data", "folder"]],
    "replay public_key": [["replay", RECORD, "--data", "ecb-fx", "--public-key", "folder"]],
    "diff left": [["diff", "folder.json", RECORD]],
    "diff right": [["diff", RECORD, "folder.json"]],
    "report record": [["report", "folder.json"], ["report", "--out=new.html", "folder.json"]],
    "report source": [["report", RECORD, "--data", "folder"]],
    "report public_key": [["report", RECORD, "--public-key", "folder"]],
    "report factors": [["report", RECORD, "--factors", "folder"]],
    "report groups": [["report", RECORD, "--groups", "folder.csv"]],
    "conformance report": [["conformance", "momentum", "--report", "folder"]],
    "conformance private_key": [["conformance", "momentum", "--private-key", "folder"]],
    "conformance verify": [["conformance", "--verify", "folder"]],
    "conformance public_key": [["conformance", "--verify", RECORD, "--public-key", "folder"]],
    "score files": [["score", "folder.json"], ["score", "folder.csv"]],
    "score suite": [["score", RECORD, "--suite", "folder"]],
    "score keys": [["score", RECORD, "--suite", "default", "--keys", "folder"]],
    "score source": [["score", RECORD, "--data", "folder"]],
    "score public_key": [["score", RECORD, "--public-key", "folder"]],
    "score report": [["score", RECORD, "--report", "folder"]],
    "leakcheck source": [["leakcheck", "trend:", "--data", "folder"]],
    "leakcheck picture": [["leakcheck", "trend:", "--picture", "folder.svg"]],
    "realism source": [["realism", "folder"]],
    "contamination source": [["contamination", "--agent", "momentum", "--data", "folder"]],
    "contamination picture": [["contamination", "--agent", "momentum", "--picture", "folder.svg"]],
    "mcp source": [["mcp", "--data", "folder"]],
    "data import files": [["data", "import", "folder.csv", "--out", "new.json"]],
    "data freeze source": [["data", "freeze", "folder", "--out", "new"]],
    "data export source": [["data", "export", "folder", "--out", "new.csv"]],
    "data diff old": [["data", "diff", "folder", "ecb-fx"]],
    "data diff new": [["data", "diff", "ecb-fx", "folder"]],
    "data reidentify source": [["data", "reidentify", "folder"]],
    "data describe source": [["data", "describe", "folder"]],
    "data check sources": [["data", "check", "folder"], ["data", "check", "folder.parquet"]],
    "suite show source": [["suite", "show", "folder"]],
    "suite seal source": [["suite", "seal", "folder", "new.json", "--keys", "new.keys"]],
    "suite seal sealed": [["suite", "seal", "default", "folder", "--keys", "new.keys"]],
    "suite seal keys": [["suite", "seal", "default", "new.json", "--keys", "folder"]],
    "suite run source": [["suite", "run", "folder", "--agent", "momentum", "--record", "new.json"]],
    "suite run record": [[*SUITE[:-1], "folder.json", "--keys", "keys.json"]],
    "suite run keys": [[*SUITE, "--keys", "folder"]],
    "suite run data": [[*SUITE, "--keys", "keys.json", "--data", "folder"]],
    "ledger list source": [["ledger", "list", "--data", "folder"]],
    "ledger top source": [["ledger", "top", "--data", "folder"]],
    "ledger export path": [["ledger", "export", "folder.csv"]],
    "ledger compare out": [["ledger", "compare", id_of(1), "--out", "folder.csv"]],
    "research run source": [["research", "run", "--provider", "random", "--data", "folder"]],
    "research resume journal": [["research", "resume", "folder"]],
    "research replay journal": [["research", "replay", "folder"]],
    "research report journal": [["research", "report", "folder"]],
    "research prompt journal": [["research", "prompt", "folder"]],
    "arena submit decisions": [["arena", "submit", "mine", "folder"]],
    # Files in folders that a command names.
    "ledger files": [
        [*words, "--ledger-dir", folder]
        for folder in ("log", "lock", "index")
        for words in (["ledger", "top"], ["ledger", "verify"], ["ledger", "rebuild"], RUN)
        if (words[-1], folder) not in {("verify", "lock"), ("verify", "index")}
    ],
    "run list": [[*RUN, "--ledger-dir", "new", "--output-dir", "list"]],
}


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its words."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        if hasattr(command, "commands"):
            waiting += [((*words, name), command.get_command(None, name)) for name in command.list_commands(None)]
        elif command.callback is not None:
            yield " ".join(words), command


def parameters() -> Iterator[str]:
    """Yield command and name of every parameter with the path of a file."""
    for words, command in commands():
        for name, each in inspect.signature(command.callback).parameters.items():
            if (name in TEXTS or re.search(r"\bPath\b", str(each.annotation))) and name not in FOLDERS:
                yield f"{words} {name}"


def test_every_parameter_with_a_path_has_a_command_line() -> None:
    named = {each for each in parameters() if not each.startswith("arena ")}
    assert named - set(LINES) == {f"research {each} source" for each in NEED_A_SESSION}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with folders in place of files."""
    folder = tmp_path_factory.mktemp("place")
    oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (19, 24), capture=True).record.save(folder / RECORD)
    for name in ("", ".json", ".csv", ".svg", ".parquet"):
        (folder / f"folder{name}").mkdir()
    for name in ("log/00000.jsonl", "lock/lock", "index/index.sqlite", "list/run_ledger.jsonl"):
        (folder / name).mkdir(parents=True)
    market = {"name": "hidden", "scenario": "calm", "windows": [[20, 23]]}
    suite = {"suite_version": "1.0", "name": "sealed", "edition": "1", "markets": [market], "seeds": [1]}
    sealed, keys = Suite.from_json(json.dumps(suite)).seal()
    (folder / "sealed.json").write_text(sealed.to_json())
    (folder / "keys.json").write_text(json.dumps({"suite": sealed.digest, "keys": keys}))
    with ledger_at(folder / "ledger") as ledger:
        ledger.add([ledger_run(1)])
    return folder


@pytest.mark.parametrize("words", [each for lines in LINES.values() for each in lines], ids=" ".join)
def test_a_folder_in_place_of_a_file_is_refused_with_a_hint(
    words: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("OPENOUTCRY_LEDGER", "ledger")
    if words[0] == "leakcheck":
        # It forks.
        command = [sys.executable, "-m", "openoutcry", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        code, error = done.returncode, done.stderr
    else:
        monkeypatch.setattr(sys, "argv", ["openoutcry", *words])
        with pytest.raises(SystemExit) as ended:
            cli._run()
        code, error = ended.value.code, capsys.readouterr().err
    assert code == 2, error
    assert "hint:" in error
    assert re.search(r"received .*(folder|'(log|lock|index|list)/)", error), error
