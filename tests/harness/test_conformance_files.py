"""SHA-256 of agent files in a conformance report."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

import pytest
from conformance_agents import SEED, hold, tiny

from openoutcry.harness import CommandAgent, HttpAgent, PythonAgent
from openoutcry.harness.conformance import examine, launcher_of
from openoutcry.harness.conformance.agent_files import files_of
from openoutcry.harness.conformance.report_summary import summary

pytestmark = pytest.mark.once


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("good", "bad"):
        (tmp_path / f"{name}.py").write_text(f"# {name}", encoding="utf-8")
    return tmp_path


def test_a_report_contains_digests_of_the_program_and_of_file_arguments(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "agent.py").write_text("def decide(seen): ...", encoding="utf-8")
    command = CommandAgent([sys.executable, "good.py", "--like", "bad.py", "no.py", "inner", "x" * 5_000])
    assert files_of(command) == {
        sys.executable: sha256(Path(sys.executable)),
        "bad.py": sha256(folder / "bad.py"),
        "good.py": sha256(folder / "good.py"),
    }
    assert files_of(CommandAgent("sh agent.sh")) == {"sh": sha256(Path(shutil.which("sh") or ""))}
    assert files_of(PythonAgent("good:decide")) == {"good": sha256(folder / "good.py")}
    assert files_of(PythonAgent("inner.agent:decide")) == {"inner.agent": sha256(folder / "inner" / "agent.py")}
    assert files_of(PythonAgent("sys:decide")) == files_of(PythonAgent("unheard.of:decide")) == {}
    assert "inner" not in sys.modules
    assert files_of(HttpAgent("http://127.0.0.1:8000")) is None
    assert files_of(launcher_of(hold)) is None


def test_a_file_changed_during_the_examination_has_no_digest(folder: Path) -> None:
    answering = "for line in sys.stdin: print('{\"orders\": []}', flush=True)"
    lines = ("import sys", "open('good.py', 'a').write('#')", answering)
    (folder / "good.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = examine(CommandAgent([sys.executable, "good.py"]), with_kit=tiny(), seed=SEED).to_dict()
    assert found["conforms"]
    digests = {each["name"]: each["sha256"] for each in found["harness"]["files"]}
    assert digests == {sys.executable: sha256(Path(sys.executable)), "good.py": None}
    assert "  changed during the examination  good.py" in summary(found)
