"""The reference agent with brackets: exits for a harness of contract 1.1, plain orders for others."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from example_agents import EXAMPLES, ROOT

import openoutcry as oo
from openoutcry.harness import connect
from openoutcry.harness.child_environment import agent_environment
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.harness.stdio_transport import StdioSession
from openoutcry.scenarios.scenario import Scenario

pytestmark = pytest.mark.once

AGENT = EXAMPLES / "reference-agent-bracket.py"
FIXTURES = sorted((ROOT / "contract/conformance").glob("*.json"))
OBSERVATION = json.dumps(
    {
        "symbols": [{"symbol": "A", "close_history": [90, 100]}, {"symbol": "B", "close_history": [3.5]}],
        "portfolio": [],
    }
)
PLAIN = [{"action": "buy", "symbol": name, "target_weight": 0.5} for name in ("A", "B")]
EXITS = [
    {"stop_loss": 0.98 * 100.0, "take_profit": 1.04 * 100.0},
    {"stop_loss": 0.98 * 3.5, "take_profit": 1.04 * 3.5},
]


def answered(observations: list[str], version: str | None) -> list[Any]:
    """Return the decisions of the agent in an environment that states a version."""
    stated = {} if version is None else {"OPENOUTCRY_CONTRACT": version}
    with StdioSession([sys.executable, str(AGENT)], agent_environment() | stated) as session:
        return [json.loads(str(session.answer(each))) for each in observations]


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.10"])
def test_a_harness_of_contract_1_1_gets_exits_around_the_last_close(version: str) -> None:
    (decision,) = answered([OBSERVATION], version)
    assert decision["orders"] == [order | exits for order, exits in zip(PLAIN, EXITS, strict=True)]


@pytest.mark.parametrize("version", [None, "", "1.0", "0.9", "1", "1.x", "2.0", "one"])
def test_another_harness_gets_plain_orders(version: str | None) -> None:
    assert answered([OBSERVATION], version) == [{"orders": PLAIN}]


def test_every_observation_of_the_kit_gets_a_valid_decision() -> None:
    fixtures = [json.loads(path.read_text(encoding="utf-8")) for path in FIXTURES]
    seen = [json.dumps(each["observation"]) for each in fixtures if isinstance(each, dict)]
    for version in ("1.0", "1.1"):
        decisions = answered(seen, version)
        for decision in decisions:
            oo.openoutcry_py.read_decision(json.dumps(decision))
        priced = [order for decision in decisions for order in decision["orders"] if "stop_loss" in order]
        assert bool(priced) == (version == "1.1")


def test_an_invalid_observation_gets_a_hold() -> None:
    got = answered(["{", "[]", '{"symbols":1}', '{"symbols":[{"symbol":"A","close_history":[]}]}', OBSERVATION], "1.0")
    assert got == [{"orders": []}] * 4 + [{"orders": PLAIN}]


@pytest.mark.parametrize("tier", [None, *(tier for tier in (Tier.T2, Tier.T3) if tier <= this_host().tier)])
def test_its_exits_trade_in_a_run(tier: Tier | None, tmp_path: Path) -> None:
    market = Scenario("hard", 3).dataset()
    shutil.copy(AGENT, tmp_path)
    sandbox = None if tier is None else Sandbox.open(Profile(tmp_path), min_tier=tier, max_tier=tier)
    with connect(f"cmd:{sys.executable} {tmp_path / AGENT.name}", sandbox=sandbox).start() as session:
        run = oo.run_backtest(market, session, (19, 60), capture=True)
    reasons = {event["reason"] for event in run.events if event["slug"] == "exited"}
    assert reasons == {"stop_loss", "take_profit"}
    assert oo.replay(run.record, market, run.cost_model, run.limits).verified


def test_the_docs_show_its_exits() -> None:
    page = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python3\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert block in AGENT.read_text(encoding="utf-8")
