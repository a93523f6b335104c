"""Settings of all tests: deterministic hypothesis, Ctrl-C in child processes, and the order of files."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_llm import fake_llm  # noqa: F401 a fixture
from hypothesis import HealthCheck, settings

# pytest puts this folder on the path, where a library that imports `gym` would find `tests/gym`.
sys.path[:] = [each for each in sys.path if each != str(Path(__file__).parent)]

if TYPE_CHECKING:
    from arena_in_process import Floor

# A shell that runs the tests in the background ignores Ctrl-C, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Commands of tests, also in child processes, leave the cache of the user alone.
os.environ["OPENOUTCRY_CACHE"] = "off"

# Started first when files run in parallel: a file of a minute that starts last would run alone.
LONGEST = (
    "martingale_planted",
    "leakcheck_command",
    "realism_tiers",
    "docs",
    "leakcheck",
    "leakcheck_episodes",
    "engine_against_reference",
    "verifiers_cli",
    "verifiers_load",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the slowest files to the front."""
    place = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


# Derandomized: the same examples on every machine. Drawing a market takes milliseconds, above the limits of hypothesis.
settings.register_profile(
    "openoutcry",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("openoutcry")


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    """An arena with a snapshot and the agent `one`."""
    # The floor environment lacks the extra of the server.
    from arena_in_process import floor

    with floor(tmp_path / "arena") as arena:
        arena.publish()
        arena.register("one")
        yield arena
