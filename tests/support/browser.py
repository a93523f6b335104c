"""The system's Chromium, driven by Playwright, for browser tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """Return the missing requirement of browser tests as a skip reason; empty if there is none."""
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        return "not run: needs playwright; hint: pip install -r constraints.txt"
    return "" if executable() else "not run: needs chromium; hint: scripts/install-system tests"


def executable() -> str | None:
    """Return the path of Chromium: `OPENOUTCRY_CHROMIUM`, or the system's."""
    named = os.environ.get("OPENOUTCRY_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser. Without one, skip the test, or fail it if `CI` is set."""
    if reason := missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable())
        yield browser
        browser.close()
