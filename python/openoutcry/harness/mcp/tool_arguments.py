"""What clients may say: the arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, TypeVar

from openoutcry import openoutcry_py as native
from openoutcry.agents.decision_codec import decision_text
from openoutcry.arguments import checked_integer, checked_text
from openoutcry.backtest.settings import settings_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Window
from openoutcry.errors import refusal
from openoutcry.harness.mcp.decision_backtest import Rules
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scenarios.scenario import NAMES

# Past it, numbers of JSON are not whole in every language.
MOST_SEED = 2**53 - 1
MOST_LOOKBACK = 5_000
MOST_AGENT = 200
AGENT = "mcp client"
RESET = ("dataset", "scenario", "window", "seed", "lookback", "costs", "limits", "agent", "replaces")
UNBOUND = ("max_weight", "max_gross")
NULLABLE = (*UNBOUND, "max_participation")

Made = TypeVar("Made", CostModel, Limits)


def taken(tool: str, given: Mapping[str, Any], required: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuse arguments of a tool that are missing or unknown."""
    for name in required:
        if name not in given:
            raise refusal("argument_invalid", f"`{tool}` must be given `{name}`; received {_names(given)}")
    known = (*required, *optional)
    for name in given:
        if name not in known:
            wanted = f"arguments of `{tool}` must be among {', '.join(known)}"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}")


def rules(dataset: Dataset, given: Mapping[str, Any], hides_dates: bool) -> Rules:
    """Return what an episode is traded under, by the arguments of `reset`.

    Where dates are made up, anew in each session, a window is of indices.
    """
    window = Window.parse(checked_text("window", given["window"])) if "window" in given else None
    if hides_dates and window is not None and any(isinstance(edge, str) for edge in (window.start, window.end)):
        wanted = "a window of a market whose dates are made up must be of indices, such as `+100:+140`"
        raise refusal("window_invalid", f"{wanted}; received {given['window']!r}")
    costs, limits = _object("costs", CostModel, given), _object("limits", Limits, given)
    lookback = checked_integer("lookback", given.get("lookback", native.DEFAULT_LOOKBACK), 1, MOST_LOOKBACK)
    agent = checked_text("agent", given.get("agent", AGENT))
    if not 0 < len(agent) <= MOST_AGENT:
        wanted = f"`agent` must be a name of at most {MOST_AGENT} characters"
        raise refusal("argument_invalid", f"{wanted}; received {len(agent)} characters")
    if any("\ud800" <= letter <= "\udfff" for letter in agent):
        raise refusal("argument_invalid", f"`agent` must be a text of Unicode; received {agent!r}, with half a pair")
    return Rules(agent, settings_of(dataset, window, (costs, limits), seed(given), lookback))


def seed(given: Mapping[str, Any]) -> int:
    """Return the seed that is given, or 0."""
    return checked_integer("seed", given.get("seed", 0), 0, MOST_SEED)


def choice(given: Mapping[str, Any], markets: Sequence[str]) -> tuple[str, bool]:
    """Return which market is meant, and whether it is synthetic."""
    if "dataset" in given and "scenario" in given:
        raise refusal("argument_invalid", "`dataset` must be left out beside `scenario`; received both")
    name, known = ("scenario", NAMES) if "scenario" in given else ("dataset", tuple(markets))
    chosen = given.get(name, known[0])
    if chosen not in known:
        raise refusal("unknown_dataset", f"a {name} must be one of {', '.join(known)}; received {chosen!r}")
    return chosen, name == "scenario"


def decision(given: Any, most_bytes: int) -> str:
    """Return a decision as the JSON text that the engine reads."""
    # A text would be read as JSON; here it stands where an object must.
    told = json.dumps(given) if isinstance(given, str) else decision_text(given)
    if len(told) > most_bytes:
        message = f"an answer must be a line of at most {most_bytes:,} bytes; received {len(told):,}"
        raise refusal("answer_too_long", message)
    return told


def _object(name: str, make: Callable[..., Made], given: Mapping[str, Any]) -> Made:
    fields = given.get(name, {})
    if not isinstance(fields, dict):
        raise refusal("argument_invalid", f"`{name}` must be an object; received {type(fields).__name__}")
    known = tuple(make().to_dict())
    for field in fields:
        if field not in known:
            message = f"fields of `{name}` must be among {', '.join(known)}; received {field!r}"
            raise refusal("argument_invalid", message)
        if fields[field] is None and field not in NULLABLE:
            raise refusal("argument_invalid", f"`{field}` of `{name}` must be left out or be given; received null")
    # JSON has no infinity, and to Python None is the default; here null is a limit that cuts nothing.
    return make(**fields | {each: inf for each in UNBOUND if each in fields and fields[each] is None})


def _names(given: Mapping[str, Any]) -> str:
    return ", ".join(given) or "no argument"
