"""A real Chromium for tests, driven by Playwright: the system's, never a download."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """Return what a browser test lacks here, empty if nothing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        return "not run: needs playwright; hint: pip install -r constraints.txt"
    return "" if executable() else "not run: needs chromium; hint: scripts/install-system tests"


def executable() -> str | None:
    """Return the path of the system's Chromium; `OPENOUTCRY_CHROMIUM` names another."""
    named = os.environ.get("OPENOUTCRY_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser, or skip; where `CI` is set, a browser that is missing is a failure."""
    if lacking := missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(lacking)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable())
        yield browser
        browser.close()
