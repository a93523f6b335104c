"""Import of targets by name, and inference of their kind."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from openoutcry.agents import NAMES
from openoutcry.audits.leakcheck.agent_target import AgentTarget
from openoutcry.audits.leakcheck.environment_target import EnvTarget
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.leak_search import TARGET_ERRORS, Target, error_text
from openoutcry.audits.leakcheck.pipeline_target import Pipeline
from openoutcry.backtest.decision_makers import library_agent
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.candidate_file import is_candidate_path
from openoutcry.backtest.strategies.observing_agent import observing_agent
from openoutcry.backtest.strategies.strategy_text import is_strategy_text
from openoutcry.errors import refusal

KINDS = ("pipeline", "env", "agent")
_OBSERVED = ("obs", "seen", "state")

Function = Callable[..., Any]


def load_target(name: str) -> Function:
    """Import the callable at `module:function`, or return one that makes agents.

    The agents are those of a strategy or of a candidate.

    Raises:
        OpenOutcryError: the module, callable or strategy does not exist. Other errors of the module propagate.
    """
    if is_strategy_text(name) or is_candidate_path(name):
        return _agents_of(name)
    module, colon, attribute = name.partition(":")
    if not module or not colon:
        wanted = (
            "a target must be `module:function`, a strategy such as `trend:fast=20,slow=100`, or a candidate's file"
        )
        raise refusal("argument_invalid", f"{wanted}; received {name!r}")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A failed import inside the module is an error of the module and keeps its traceback.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        message = f"a target must be `module:function`; received {name!r}, and no module {error.name!r}"
        raise refusal("argument_invalid", message) from error
    except SystemExit as error:
        message = f"`{module}` must be a module that can be imported; received {error_text(error)}"
        raise refusal("argument_invalid", message) from error
    found = _member(found, attribute)
    if not callable(found):
        raise refusal("argument_invalid", f"`{module}` must have a callable `{attribute}`; received {found!r}")
    function: Function = found
    return function


def _agents_of(name: str) -> Function:
    """Return a function from a frame to a new agent of a strategy or a candidate.

    Raises:
        OpenOutcryError: as `library_agent`; and `argument_invalid`: the name is that of a baseline too.
    """
    if name in NAMES:
        wanted = "a target must be a strategy, since a baseline cannot look ahead"
        raise refusal("argument_invalid", f"{wanted}; received the baseline {name!r}; hint: `{name}:`, the strategy")
    strategy, agent_name = library_agent(name)
    assert isinstance(strategy, Strategy), "the name is that of a strategy"
    return lambda frame: observing_agent(strategy, agent_name)


def reload_target(name: str) -> Function | None:
    """Execute the module of `module:function` again and return its callable.

    The new callable has seen no data.

    Returns None if the module cannot be executed twice. Modules that it imports are not executed again.
    """
    if is_strategy_text(name) or is_candidate_path(name):
        return load_target(name)
    module, _, attribute = name.partition(":")
    try:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.loader is None:
            return None
        again = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(again)
    except TARGET_ERRORS:
        return None
    found = _member(again, attribute)
    return found if callable(found) else None


def _member(found: Any, attribute: str) -> Any:
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return found


def validated_kind(kind: str | None) -> str | None:
    """Validate a kind of target; None means that it is guessed.

    Raises:
        OpenOutcryError: the kind is unknown.
    """
    if kind is not None and kind not in KINDS:
        raise refusal("argument_invalid", f"`kind` must be one of {', '.join(KINDS)}; received {kind!r}")
    return kind


def guess_kind(function: Function, sources: Iterable[Source]) -> str:
    """Infer the kind of a target from its argument name or its result for a frame.

    Tries the frames in order until the target does not raise.
    """
    if _is_agent(function):
        return "agent"
    from gymnasium import Env

    raised: list[BaseException] = []
    for source in sources:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(source.frame())
            break
        except TARGET_ERRORS as error:  # a frame with another layout may work
            raised.append(error)
    else:
        hint = "hint: set `--kind` if the target takes no frame"
        message = f"`target` must run on the unchanged data; received {error_text(raised[0])}; {hint}"
        raise refusal("argument_invalid", message) from raised[0]
    if isinstance(result, Env):
        if callable(result.close):
            result.close()
        return "env"
    return "agent" if callable(result) and not hasattr(result, "shape") else "pipeline"


def target_of(function: Function, kind: str, start: int | None) -> Target:
    """Wrap a function as a target of a kind."""
    if kind == "pipeline":
        return Pipeline(function)
    if kind == "env":
        return EnvTarget(function, start)
    if not _is_agent(function):
        return AgentTarget(function)
    # A class of agents gets a new instance for each run; a function is one agent.
    return AgentTarget((lambda _: function()) if isinstance(function, type) else (lambda _: function))


def same_kind_target(target: Target, function: Function) -> Target:
    """Wrap another function as a target of the same kind."""
    return target.with_factory(function) if isinstance(target, EnvTarget) else target_of(function, target.kind, None)


def _is_agent(function: Function) -> bool:
    """Return whether a callable has the signature of an agent or an agent class."""
    if isinstance(function, type):
        call = vars(function).get("__call__")
        return call is not None and not _arguments(function)
    names = _arguments(function)
    return len(names) == 1 and names[0].lower().startswith(_OBSERVED)


def _arguments(function: Function) -> list[str]:
    """Return the names of the required arguments of a callable."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in kinds and each.default is inspect.Parameter.empty]
