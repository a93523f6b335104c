"""The `openoutcry` command: `commands` lists the verbs, one module each.

The other modules are shared by several verbs. A command may import every folder of the package, and defers slow
imports. No other folder imports this one.
"""

from __future__ import annotations

import sys

from openoutcry.openoutcry_py import OpenOutcryError


def main() -> None:
    """Run the command.

    A refused input is one line on stderr and exit code 2, and any other error a traceback.
    """
    if sys.argv[1:] in (["--version"], ["--version", "--json"]):
        from openoutcry.cli import version_info

        # Typer takes longer to import than this takes to print.
        print(version_info.version_text("--json" in sys.argv))
        return
    from openoutcry.cli.commands import app

    try:
        app()
    except OpenOutcryError as error:
        # Notes that start with `in` name a bar or a file; others repeat the argument of the message.
        places = [note for note in getattr(error, "__notes__", []) if note.startswith("in ")]
        print("; ".join([f"error: {error}", *places]), file=sys.stderr)
        sys.exit(2)
