"""Options that several commands share, passed to a command as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any


def with_added_options(
    command: Callable[..., None],
    parameter: str,
    options: Mapping[str, tuple[Any, Any]],
    value_of: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Return a command with more options, which it receives as one parameter.

    Args:
        command: The command.
        parameter: Its parameter for the value of the options.
        options: Type and default of each option, by name.
        value_of: Returns the value of the given options; None for one that is absent.
    """
    own = inspect.signature(command, eval_str=True)

    @wraps(command)
    def with_options(**given: Any) -> None:
        value = value_of({name: given.pop(name, None) for name in options})
        command(**given, **{parameter: value})

    kept = [each for name, each in own.parameters.items() if name != parameter]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)
        for name, (kind, option) in options.items()
    ]
    shown: Any = with_options
    # Typer reads both.
    shown.__signature__ = own.replace(parameters=[*kept, *added])
    shown.__annotations__ = {each.name: each.annotation for each in (*kept, *added)}
    return with_options
