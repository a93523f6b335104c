"""Only one process serves an arena in a file; operator commands still work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from arena_process import served
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("fcntl")

from openoutcry import OpenOutcryError
from openoutcry.arena.store.arena_store import serving_lock

pytestmark = pytest.mark.once

HOLD = "import sys; from pathlib import Path; from openoutcry.arena.store.arena_store import serving_lock\n"
HOLD += "with serving_lock(Path('arena')): print('held', flush=True); sys.stdin.read()"


def test_a_second_server_is_refused_and_operator_commands_are_not(tmp_path: Path) -> None:
    """Two servers would publish two snapshots of one time, with separate rate limits."""
    with served(tmp_path):
        second = typed("arena", "serve", "--port", "0", cwd=tmp_path)
        assert (second.returncode, second.stdout) == (2, "")
        wanted = "a folder that no other process serves is required; received 'arena/served', which process "
        assert second.stderr.startswith(f"error: argument_invalid: {wanted}")
        words = (["season"], ["issue-key", "ada"], ["suspend", "ada", "why"], ["export", "out"], ["backup", "copy"])
        for each in words:
            done = typed("arena", *each, cwd=tmp_path)
            assert (done.returncode, done.stderr) == (0, ""), each
        with served(tmp_path, data="copy") as url:
            assert url, "a copy is another folder"
    with served(tmp_path):
        pass


def test_a_killed_server_releases_the_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(OpenOutcryError, match="no other process serves"), serving_lock(tmp_path / "arena"):
            pass
        process.kill()
        process.wait(30)
    with serving_lock(tmp_path / "arena"):
        pass
