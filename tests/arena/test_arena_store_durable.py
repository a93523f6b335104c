"""What is acknowledged is on the disk before: R-28, as the kernel sees it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import Floor

pytestmark = pytest.mark.once

# Says on standard output, in calls that strace sees, when it asks and when it was answered.
ASKING = """
import os
import sys
from pathlib import Path
from arena_in_process import floor

with floor(Path(sys.argv[1])) as ground:
    ground.publish()
    for slug in ("one", "two"):
        os.write(1, b"asked")
        ground.register(slug)
        os.write(1, b"told")
        os.write(1, b"asked")
        assert ground.submit(slug, (ground.markets()[0], 0.5)).status_code == 200
        os.write(1, b"told")
"""


def test_a_transaction_waits_for_the_disk(ground: Floor) -> None:
    """R-28: NORMAL may lose what was acknowledged when the power goes."""
    connection = ground.arena.writer.connection()
    told = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "journal_mode")]
    connection.rollback()
    assert told == [2, "wal"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_nobody_is_told_before_the_disk_has_it(tmp_path: Path) -> None:
    """R-28: between a request and its answer the log of the database is synced."""
    if subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    traced = tmp_path / "calls"
    words = ["strace", "-f", "-y", "-o", traced, "-e", "trace=fdatasync,fsync,write", sys.executable, "-c", ASKING]
    paths = [str(Path(__file__).parents[1] / "support"), *filter(None, sys.path)]
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [*words, tmp_path / "arena"], env=surroundings, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(re.findall(r"asked|told|sync\(\d+<[^>]*arena\.sqlite-wal>", traced.read_text(errors="replace")))
    spans = re.findall(r"asked((?: sync\S*)*) told", told)
    assert len(spans) == 4
    assert all(spans), "each of them is on the disk before it is told"
