"""The contract version that agents find outside observations."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from agent_servers import serving

import openoutcry as oo
from openoutcry.harness import CommandAgent, HttpAgent, PythonAgent
from openoutcry.harness.contract_statement import ACCEPTED_CONTRACT
from openoutcry.harness.process_agent import ProcessAgent
from openoutcry.harness.sandbox import Profile, Sandbox, Tier
from openoutcry.harness.sandbox.host_features import this_host
from openoutcry.scenarios.scenario import Scenario

pytestmark = pytest.mark.once

SUPPORT = Path(__file__).parents[1] / "support"
PROGRAM = """\
import json, os, sys
for line in sys.stdin:
    print(json.dumps({"orders": [], "reasoning": os.environ.get("OPENOUTCRY_CONTRACT", "none")}), flush=True)
"""


def stated_to(agent: ProcessAgent) -> str:
    """Return the version that an agent finds in its environment."""
    with agent.start() as session:
        return str(json.loads(session.answer("{}"))["reasoning"])


def program(folder: Path) -> str:
    (folder / "agent.py").write_text(PROGRAM, encoding="utf-8")
    return f"{sys.executable} {folder / 'agent.py'}"


def test_a_program_finds_the_version_in_its_environment(tmp_path: Path) -> None:
    assert stated_to(CommandAgent(program(tmp_path))) == "1.1"


def test_a_python_agent_finds_the_version_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    assert stated_to(PythonAgent("process_agents:contract")) == "1.1"


def test_a_version_in_the_environment_of_the_harness_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENOUTCRY_CONTRACT", "0.9")
    assert stated_to(CommandAgent(program(tmp_path))) == "1.1"
    assert stated_to(CommandAgent(program(tmp_path), pass_on=["OPENOUTCRY_CONTRACT"])) == "1.1"
    assert os.environ["OPENOUTCRY_CONTRACT"] == "0.9"


@pytest.mark.parametrize("tier", [tier for tier in Tier if Tier.T0 < tier <= this_host().tier])
def test_an_agent_in_the_sandbox_finds_the_version(tmp_path: Path, tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENOUTCRY_CONTRACT", "0.9")
    (tmp_path / "own.py").write_text(
        "import os\n\n\ndef agent(observation):\n"
        '    return {"orders": [], "reasoning": os.environ.get("OPENOUTCRY_CONTRACT", "none")}\n',
        encoding="utf-8",
    )
    for pass_on in ([], ["OPENOUTCRY_CONTRACT"]):
        sandbox = Sandbox.open(Profile(tmp_path, pass_on=pass_on), min_tier=Tier.T1, max_tier=tier)
        assert stated_to(PythonAgent("own:agent", sandbox=sandbox)) == "1.1"


def test_every_request_to_a_server_has_the_version_in_a_header() -> None:
    with serving() as server:
        with HttpAgent(server.url).start() as session:
            for bar in range(3):
                session.answer(f'{{"bar":{bar}}}')
        headers = [{name.lower(): value for name, value in head.items()} for _, head, _, _ in server.posts]
    assert [head["openoutcry-contract"] for head in headers] == ["1.1"] * 3


def test_the_stated_version_is_that_of_a_record_with_a_day_order() -> None:
    market = Scenario("calm", 0).dataset()

    def at_the_close(observation: dict[str, object]) -> dict[str, object]:
        return {"orders": [{"symbol": market.symbols[0], "action": "buy", "target_weight": 0.1, "at": "close"}]}

    record = oo.run_backtest(market, at_the_close, (19, 21), capture=True).record
    assert record is not None
    (run,) = json.loads(record.to_json())["runs"]
    assert run["steps"][0]["contract_version"] == ACCEPTED_CONTRACT
