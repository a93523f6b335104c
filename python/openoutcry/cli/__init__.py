"""The `openoutcry` command: `commands` lists the commands, one module each.

The other modules are shared by several commands. Imports the core, `harness`, `scoring`, `audits` and `ledger`, and
when a command runs `arena`, `benchmarks`, `report` and `research`. No other folder imports this one.
"""

from __future__ import annotations

import sys
from typing import Any

from openoutcry.errors import without_passwords
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.diagnostics import readable_reports
from openoutcry.untrusted.terminal import echo_error, echo_exception, echo_json, echo_lines


def main() -> None:
    """Run the command.

    A refused input is one line on stderr and exit code 2, and any other error a traceback. Neither they nor warnings
    contain a character that controls the terminal.
    """
    with readable_reports():
        try:
            _run()
        # A traceback printed by the interpreter shows the text of the exception as it is.
        except Exception as error:  # noqa: BLE001
            echo_exception(error)
            sys.exit(1)


def _run() -> None:
    if sys.argv[1:] in (["--version"], ["--version", "--json"]):
        from openoutcry.cli import version_info

        # Typer takes longer to import than this takes to print.
        (echo_json if "--json" in sys.argv else echo_lines)(version_info.version_text("--json" in sys.argv))
        return
    import typer

    from openoutcry.cli.commands import app

    # Typer exports only subclasses of this error.
    usage_error: Any = typer.BadParameter.__base__
    try:
        sys.exit(app(prog_name="openoutcry", standalone_mode=False))
    except usage_error as error:
        sys.exit(_show_usage_error(error))
    except typer.Abort:
        sys.exit(1)
    except OSError as error:
        from openoutcry.cli.path_refusals import refused_path
        from openoutcry.harness.command_secrets import without_secrets

        refused = refused_path(error, sys.argv[1:])
        if refused is None:
            raise
        echo_error(without_secrets(str(refused), sys.argv[1:]))
        sys.exit(2)
    except OpenOutcryError as error:
        from openoutcry.cli.path_refusals import with_folder_hint
        from openoutcry.harness.command_secrets import without_secrets

        # Notes that start with `in` name a bar or a file; others repeat the argument of the message.
        places = [note for note in getattr(error, "__notes__", []) if note.startswith("in ")]
        # A URL in the wrong place is quoted by whatever refuses it.
        message = "; ".join([with_folder_hint(str(error), sys.argv[1:]), *places])
        echo_error(without_passwords(without_secrets(message, sys.argv[1:])))
        sys.exit(2)


def _show_usage_error(error: Any) -> int:
    """Print an unknown command or an invalid argument, and return the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    message = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx is not None else "openoutcry"
    message = without_passwords(f"{message[:1].lower()}{message[1:]}")
    echo_error(f"{message}; hint: `{path} --help`")
    return 2
