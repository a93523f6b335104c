"""Validation of the arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, TypeVar

from openoutcry import openoutcry_py as native
from openoutcry.agents.decision_codec import decision_text
from openoutcry.arguments import checked_integer, checked_text, rule_fields
from openoutcry.backtest.settings import settings_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Window
from openoutcry.errors import refusal
from openoutcry.harness.mcp.decision_backtest import EpisodeRules
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scenarios.scenario import NAMES

# Above this value, some languages do not represent JSON integers exactly.
MOST_SEED = 2**53 - 1
MOST_LOOKBACK = 5_000
MOST_AGENT = 200
AGENT = "mcp client"
RESET = ("dataset", "scenario", "window", "seed", "lookback", "costs", "limits", "agent", "replaces")
UNBOUND = ("max_weight", "max_gross")
NULLABLE = (*UNBOUND, "max_participation")

Made = TypeVar("Made", CostModel, Limits)


def check_arguments(
    tool: str, arguments: Mapping[str, Any], required: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Refuse missing and unknown arguments of a tool."""
    for name in required:
        if name not in arguments:
            raise refusal("argument_invalid", f"`{tool}` needs the argument `{name}`; received {_names(arguments)}")
    known = (*required, *optional)
    for name in arguments:
        if name not in known:
            wanted = f"arguments of `{tool}` must be among {', '.join(known)}"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}")


def rules(dataset: Dataset, arguments: Mapping[str, Any], hides_dates: bool) -> EpisodeRules:
    """Return the settings of an episode from the arguments of `reset`.

    For a market with masked dates the window must consist of indices.
    """
    window = Window.parse(checked_text("window", arguments["window"])) if "window" in arguments else None
    if hides_dates and window is not None and any(isinstance(edge, str) for edge in (window.start, window.end)):
        wanted = "a window of a market with masked dates must consist of indices, such as `+100:+140`"
        raise refusal("window_invalid", f"{wanted}; received {arguments['window']!r}")
    costs, limits = _object("costs", CostModel, arguments), _object("limits", Limits, arguments)
    lookback = checked_integer("lookback", arguments.get("lookback", native.DEFAULT_LOOKBACK), 1, MOST_LOOKBACK)
    agent = checked_text("agent", arguments.get("agent", AGENT))
    if not 0 < len(agent) <= MOST_AGENT:
        wanted = f"`agent` must be a name of at most {MOST_AGENT} characters"
        raise refusal("argument_invalid", f"{wanted}; received {len(agent)} characters")
    if any("\ud800" <= letter <= "\udfff" for letter in agent):
        raise refusal(
            "argument_invalid", f"`agent` must be a text of Unicode; received {agent!r}, with a lone surrogate"
        )
    return EpisodeRules(agent, settings_of(dataset, window, (costs, limits), seed(arguments), lookback))


def seed(arguments: Mapping[str, Any]) -> int:
    """Return the seed, 0 by default."""
    return checked_integer("seed", arguments.get("seed", 0), 0, MOST_SEED)


def choice(arguments: Mapping[str, Any], markets: Sequence[str]) -> tuple[str, bool]:
    """Return the name of the market and whether it is synthetic."""
    if "dataset" in arguments and "scenario" in arguments:
        raise refusal("argument_invalid", "`dataset` and `scenario` are mutually exclusive; received both")
    name, known = ("scenario", NAMES) if "scenario" in arguments else ("dataset", tuple(markets))
    chosen = arguments.get(name, known[0])
    if chosen not in known:
        raise refusal("unknown_dataset", f"a {name} must be one of {', '.join(known)}; received {chosen!r}")
    return chosen, name == "scenario"


def decision(value: Any, most_bytes: int) -> str:
    """Return a decision as the JSON text that the engine reads."""
    # The argument must be an object: a string is encoded, so that the engine refuses it.
    text = json.dumps(value) if isinstance(value, str) else decision_text(value)
    if len(text) > most_bytes:
        message = f"an answer must be a line of at most {most_bytes:,} bytes; received {len(text):,}"
        raise refusal("answer_too_long", message)
    return text


def _object(name: str, make: Callable[..., Made], arguments: Mapping[str, Any]) -> Made:
    fields = arguments.get(name, {})
    if not isinstance(fields, dict):
        raise refusal("argument_invalid", f"`{name}` must be an object; received {type(fields).__name__}")
    known = tuple(rule_fields(make))
    for field in fields:
        if field not in known:
            message = f"fields of `{name}` must be among {', '.join(known)}; received {field!r}"
            raise refusal("argument_invalid", message)
        if fields[field] is None and field not in NULLABLE:
            raise refusal("argument_invalid", f"`{field}` of `{name}` must be omitted or have a value; received null")
    # JSON has no infinity, so null stands for no limit; in Python None would select the default.
    return make(**fields | {each: inf for each in UNBOUND if each in fields and fields[each] is None})


def _names(arguments: Mapping[str, Any]) -> str:
    return ", ".join(arguments) or "no argument"
