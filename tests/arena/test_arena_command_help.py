"""Every Arena command has an example in its help, and every example parses."""

from __future__ import annotations

import re
import shlex

import pytest

pytest.importorskip("typer")

import typer
from typer.core import TyperCommand, TyperGroup

from openoutcry.cli import arena

pytestmark = pytest.mark.once

GROUP = typer.main.get_command(arena.app)
assert isinstance(GROUP, TyperGroup)
COMMANDS = {name: each for name, each in GROUP.commands.items() if isinstance(each, TyperCommand)}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_example_of_a_command_parses(name: str) -> None:
    found = re.findall(r"`([^`]*openoutcry arena [^`]+)`", COMMANDS[name].epilog or "")
    assert any(f"openoutcry arena {name}" in each for each in found)
    for each in found:
        for line in each.split(" && "):
            words = shlex.split(line.partition("|")[0])
            words = words[words.index("arena") + 1 :]
            assert not any("..." in word for word in words), each
            command = COMMANDS[words[0]]
            with command.make_context(words[0], words[1:]):
                pass
