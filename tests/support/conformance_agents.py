"""Small agents with specific faults for conformance tests, and smaller kits."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from typing import Any

from openoutcry.harness import Bounds, CommandAgent
from openoutcry.harness.conformance import Report, check_agent, examine
from openoutcry.harness.conformance.kit import Case, Kit, kit
from openoutcry.harness.conformance.random_market import N_BARS

QUICK = Bounds(start_seconds=5.0, answer_seconds=5.0, end_seconds=1.0)
SEED = 9
"""Fixed seed of the second episode; an examination draws a random one."""
GENERATED = ("huge_history", "long_history", "many_symbols")

AGENT = """
import hashlib, json, os, sys, time
n = 0
{before}
for line in sys.stdin:
    seen = json.loads(line)
    n += 1
    names = [view["symbol"] for view in seen["symbols"]]
    parts = [{{"symbol": name, "action": "buy", "target_weight": 0.5 / len(names)}} for name in names]
    answer = {{"orders": parts}}
    {change}
    text = json.dumps(answer)
    {change_text}
    print(text, flush=True)
{after}
"""


def agent(
    change: str = "", change_text: str = "", *, before: str = "", after: str = "", bounds: Bounds = QUICK
) -> CommandAgent:
    """Return a small agent with extra statements on its `answer` or `text`, or before and after its loop."""
    text = AGENT.format(change=change, change_text=change_text, before=before, after=after)
    return CommandAgent([sys.executable, "-I", "-S", "-c", text], bounds=bounds, show=lambda line: None)


@cache
def small() -> Kit:
    """Return the kit without large observations, and with a shorter second episode."""
    return replace(kit(), cases=tuple(case for case in kit().cases if case.name not in GENERATED), n_drawn=80)


@cache
def tiny() -> Kit:
    """Return the kit with two cases, and with a second episode shorter than the first."""
    return replace(kit(), cases=(case("empty_start"), case("unknown_fields_everywhere")), n_drawn=40)


@cache
def played() -> Kit:
    """Return the kit with two cases and the complete second episode."""
    return replace(tiny(), n_drawn=N_BARS)


def judged(launcher: CommandAgent, of_kit: Kit | None = None, *, deterministic: bool = True) -> Report:
    return examine(launcher, deterministic=deterministic, with_kit=of_kit or small(), seed=SEED)


def case(name: str) -> Case:
    return next(each for each in kit().cases if each.name == name)


@cache
def passed() -> Report:
    """Return the report of an agent that passes the complete kit."""
    return examine(agent(), deterministic=True, seed=SEED)


@cache
def failed() -> Report:
    """Return the report of an agent that exits at its first observation."""
    return judged(agent("sys.exit('no idea')"), kit())


@cache
def in_process() -> Report:
    """Return the report of a callable in this process."""
    return check_agent(hold, seed=SEED)


def hold(observation: dict[str, Any]) -> dict[str, Any]:
    """Keep all positions."""
    return {"orders": []}


def report_of(name: str) -> dict[str, Any]:
    """Return the fields of the report of a `passed`, `failed` or `in_process` agent."""
    reports = {"passed": passed, "failed": failed, "in_process": in_process}
    return reports[name]().to_dict()
