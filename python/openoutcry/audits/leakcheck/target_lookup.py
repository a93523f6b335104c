"""Targets by name, and what kind of target a function is."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from openoutcry.audits.leakcheck.agent_target import AgentTarget
from openoutcry.audits.leakcheck.environment_target import EnvTarget
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.leak_search import RAISED, Target, said
from openoutcry.audits.leakcheck.pipeline_target import Pipeline
from openoutcry.errors import refusal

KINDS = ("pipeline", "env", "agent")
_OBSERVED = ("obs", "seen", "state")

Function = Callable[..., Any]


def load(name: str) -> Function:
    """Return the callable at `module:function`.

    Raises:
        OpenOutcryError: there is no such module or callable. What else a module raises passes.
    """
    module, colon, attribute = name.partition(":")
    if not module or not colon:
        raise refusal("argument_invalid", f"a target must be `module:function`; received {name!r}")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # What the module itself imports in vain is its own fault, and keeps its traceback.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f"a target must be `module:function`; received {name!r}, and no module {error.name!r}"
        raise refusal("argument_invalid", message) from error
    except SystemExit as error:
        message = f"`{module}` must be a module that can be imported; received {said(error)}"
        raise refusal("argument_invalid", message) from error
    found = _member(found, attribute)
    if not callable(found):
        raise refusal("argument_invalid", f"`{module}` must have a callable `{attribute}`; received {found!r}")
    function: Function = found
    return function


def reloaded(name: str) -> Function | None:
    """Return the callable at `module:function` of its module executed anew.

    It has seen no data yet. None where the module cannot be executed twice. What it imports is not executed again.
    """
    module, _, attribute = name.partition(":")
    try:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.loader is None:
            return None
        again = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(again)
    except RAISED:
        return None
    found = _member(again, attribute)
    return found if callable(found) else None


def _member(found: Any, attribute: str) -> Any:
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return found


def checked_kind(kind: str | None) -> str | None:
    """Return a kind of target, None to guess it.

    Raises:
        OpenOutcryError: it is not known.
    """
    if kind is not None and kind not in KINDS:
        raise refusal("argument_invalid", f"`kind` must be one of {', '.join(KINDS)}; received {kind!r}")
    return kind


def guess(function: Function, sources: Iterable[Source]) -> str:
    """Return the kind of a target by its argument, or by what it makes of a frame.

    Frames are tried in their order until one does not make the target raise.
    """
    if _is_agent(function):
        return "agent"
    from gymnasium import Env

    raised: list[BaseException] = []
    for source in sources:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = function(source.frame())
            break
        except RAISED as error:  # a frame of another layout may do
            raised.append(error)
    else:
        hint = "hint: `--kind` says what it is, if it takes no frame"
        message = f"`target` must run on the data as it is; received {said(raised[0])}; {hint}"
        raise refusal("argument_invalid", message) from raised[0]
    if isinstance(made, Env):
        if callable(made.close):
            made.close()
        return "env"
    return "agent" if callable(made) and not hasattr(made, "shape") else "pipeline"


def target_of(function: Function, kind: str, start: int | None) -> Target:
    """Return a function as a target of a kind."""
    if kind == "pipeline":
        return Pipeline(function)
    if kind == "env":
        return EnvTarget(function, start)
    if not _is_agent(function):
        return AgentTarget(function)
    # A class of agents is made anew for each run; a function is one agent.
    return AgentTarget((lambda _: function()) if isinstance(function, type) else (lambda _: function))


def renewed(target: Target, function: Function) -> Target:
    """Return a target of the same kind for another function."""
    return target.of(function) if isinstance(target, EnvTarget) else target_of(function, target.kind, None)


def _is_agent(function: Function) -> bool:
    """Return whether a callable is an agent, or a class of them, by its signature."""
    if isinstance(function, type):
        call = vars(function).get("__call__")
        return call is not None and not _arguments(function)
    names = _arguments(function)
    return len(names) == 1 and names[0].lower().startswith(_OBSERVED)


def _arguments(function: Function) -> list[str]:
    """Return the names of the arguments that a callable needs."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in kinds and each.default is inspect.Parameter.empty]
