"""Many concurrent rollouts: none fails, and memory use stays flat."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import verifiers.v1 as vf
from builders import count
from model_endpoint import serve_apart
from verifiers_rollouts import MODEL, client, environment

AT_ONCE = 64
# Allowance for allocator and connections after the first fifth of the rollouts.
SLACK_BYTES = 16 * 2**20


def n_bytes() -> int:
    """Return the memory use of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def loaded(url: str, n_rollouts: int, folder: Path) -> dict[str, object]:
    """Play rollouts, 64 concurrently, and return the completed ones and the memory use over time."""
    env = environment(folder, num_tasks=n_rollouts, style="tools")
    context = vf.ModelContext(model=MODEL, client=client(url), sampling=vf.SamplingConfig())
    tasks, memory, faults, n_done = iter(env.taskset.take(n_rollouts)), [], [], 0

    async def work() -> None:
        nonlocal n_done
        for task in tasks:
            (slot,) = env.slots(task, 1)
            episode = await env.run_slot(slot, context, None)
            if not episode.ok or episode.traces[0].num_turns != 10:
                faults.append(repr(episode.errors or episode.traces[0].errors))
            n_done += 1
            if n_done % (n_rollouts // 5) == 0:
                gc.collect()
                memory.append(n_bytes())

    async with env.serving():
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return {"n_done": n_done, "faults": faults, "memory": memory}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_many_concurrent_rollouts_complete_with_flat_memory(tmp_path: Path) -> None:
    n_rollouts = count(1_000, 50)
    with serve_apart() as url:
        command = [sys.executable, __file__, url, str(n_rollouts), str(tmp_path / "runs")]
        # The process imports the helpers of the tests, as this one does.
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environ)
    assert ran.returncode == 0, ran.stderr[-4_000:]
    summary = json.loads(ran.stdout)
    assert summary["faults"] == []
    assert summary["n_done"] == n_rollouts == len(list((tmp_path / "runs").glob("*.json")))
    assert summary["memory"][-1] - summary["memory"][0] < SLACK_BYTES, summary


if __name__ == "__main__":
    print(json.dumps(asyncio.run(loaded(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))))
