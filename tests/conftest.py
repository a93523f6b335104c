"""Fix how random tests draw, and what Ctrl-C does, so that a run of the suite is the same everywhere."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_llm import fake_llm  # noqa: F401 a fixture
from hypothesis import HealthCheck, settings

# pytest puts this folder on the path, where `tests/gym` is the package `gym` to a library that looks for it.
sys.path[:] = [each for each in sys.path if each != str(Path(__file__).parent)]

if TYPE_CHECKING:
    from arena_in_process import Floor

# A shell that runs the tests in the background has Ctrl-C ignored, and so would every command that they begin.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first to be handed out where files run beside each other: one of a minute that came last would run alone.
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
    """Move the files that take longest to the front."""
    place = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


# Derandomized: the same examples on every machine. A drawn market costs milliseconds, far above hypothesis' own limits.
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
    # What serves it is an extra, which the floor has not.
    from arena_in_process import floor

    with floor(tmp_path / "arena") as found:
        found.publish()
        found.register("one")
        yield found
