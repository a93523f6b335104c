"""Test the list of verbs of `openoutcry --help`."""

from __future__ import annotations

import pytest

from openoutcry.cli.commands import VERBS, command_of

pytestmark = pytest.mark.once


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_starts_with_its_summary(verb: str) -> None:
    assert (command_of(verb).help or "").partition("\n")[0] == VERBS[verb].summary
