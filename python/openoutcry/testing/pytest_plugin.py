"""The pytest plugin: `assert_no_lookahead` as a fixture.

pytest loads this module wherever the package is installed, so the check is imported when a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def assert_no_lookahead() -> Callable[..., Any]:
    """Return `openoutcry.audits.leakcheck.assert_no_lookahead`."""
    from openoutcry.audits.leakcheck import assert_no_lookahead as checked

    return checked
