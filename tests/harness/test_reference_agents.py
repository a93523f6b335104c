"""The reference agents of `examples/`: five languages, one strategy, identical bytes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import count
from example_agents import EXAMPLES, LANGUAGES, ROOT, command_of, served

import openoutcry as oo
from openoutcry.agents import Answer
from openoutcry.harness import Launcher, Session, connect
from openoutcry.harness.child_environment import agent_environment
from openoutcry.harness.conformance import examine
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.harness.stdio_transport import StdioSession

pytestmark = pytest.mark.once

HOST = this_host()
WINDOW = "2015-01-01:2016-01-01"
FIXTURES = sorted((ROOT / "contract/conformance").glob("*.json"))
HOLD = '{"orders":[]}'


def view(symbol: str, *closes: object) -> dict[str, object]:
    return {"symbol": symbol, "close_history": list(closes)}


ODD = [
    {
        "symbols": [view("A", 1e-300, 2e-300), view("B", 5, 4)],
        "portfolio": [{"symbol": "B"}],
        "regime": [1, {"x": None}],
    },
    {"symbols": [view('\u2028\U0001f600é"\\', 1, 3)], "portfolio": [], "news": ["two\u2028lines\u0085or\u2029three"]},
    {"symbols": [view(f"N{k}", 100, 101 + k) for k in range(300)], "portfolio": []},
    {"symbols": [view("A", *(100 + (k * 7919 % 101) / 7 for k in range(100_000)))], "portfolio": []},
    # Ten equal closes exceed their mean only if doubles are summed from left to right.
    {"symbols": [view("A", *[0.1] * 10), view("B", *[0.1] * 3)], "portfolio": [{"symbol": "B"}]},
    {"symbols": [view("A", 2, 2)], "portfolio": [{"symbol": "gone"}]},
]
BAD = [
    "",
    " ",
    "{",
    "[]",
    "null",
    "{}",
    '"text"',
    HOLD,
    '{"symbols":[],"portfolio":[]} {}',
    '{"symbols":1,"portfolio":[]}',
    '{"symbols":[]}',
    '{"symbols":[{"symbol":"A"}],"portfolio":[]}',
    '{"symbols":[{"symbol":"A","close_history":[]}],"portfolio":[]}',
    '{"symbols":[{"symbol":"A","close_history":["1","2"]}],"portfolio":[]}',
    '{"symbols":[{"symbol":"A","close_history":[null]}],"portfolio":[]}',
    "[" * 5000,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module", params=LANGUAGES)
def command(request: pytest.FixtureRequest, folder: Path) -> list[str]:
    return command_of(request.param, folder / request.param)


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served(folder / "http") as where:
        yield where


@pytest.fixture
def posted(address: str) -> Iterator[Session]:
    with connect(address).start() as session:
        yield session


def answers(agent: Session, observations: list[str]) -> list[str | Answer]:
    return [agent.answer(each) for each in observations]


def odd() -> list[str]:
    fixtures = [json.loads(path.read_text(encoding="utf-8")) for path in FIXTURES]
    seen = [each["observation"] for each in fixtures if isinstance(each, dict)]
    return [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in [*seen, *ODD]]


def digest_of(launcher: Launcher) -> str | None:
    with launcher.start() as session:
        return record_of(session).digest


def record_of(agent: Any) -> oo.RunRecord:
    made = oo.run_backtest(oo.data.load("ecb-fx"), agent, WINDOW, name="reference", capture=True).record
    assert made is not None
    return made


@pytest.fixture(scope="module")
def wanted() -> oo.RunRecord:
    """The decisions of the strategy, computed from its description rather than by an agent."""

    def decide(observation: dict) -> str:
        above = [each["symbol"] for each in observation["symbols"] if is_above(each["close_history"])]
        held = {each["symbol"] for each in observation["portfolio"]}
        weight = max(2.0**-k for k in range(1, 9) if 2.0**-k * len(above) <= 1)
        orders = [
            {"action": "buy", "symbol": name, "target_weight": weight}
            if name in above
            else {"action": "close", "symbol": name, "target_weight": 0}
            for name in (each["symbol"] for each in observation["symbols"])
            if name in above or name in held
        ]
        return json.dumps({"orders": orders}, separators=(",", ":"))

    return record_of(decide)


def is_above(closes: list[float]) -> bool:
    total = closes[0]
    for close in closes[1:]:
        total += close
    return closes[-1] > total / len(closes)


def test_the_strategy_trades(wanted: oo.RunRecord) -> None:
    (texts,) = wanted.decisions
    assert len(texts) > 250
    assert len(set(texts)) > 50
    orders = [order for text in texts for order in json.loads(text)["orders"]]
    assert {order["target_weight"] for order in orders} == {0, 0.0625, 0.125, 0.25, 0.5}
    assert {order["action"] for order in orders} == {"buy", "close"}


def test_a_command_makes_the_reference_decisions(command: list[str], wanted: oo.RunRecord) -> None:
    message: list[str] = []
    assert digest_of(connect(f"cmd:{shlex.join(command)}", show=message.append)) == wanted.digest
    assert message == []


def test_an_http_agent_makes_the_reference_decisions(address: str, wanted: oo.RunRecord) -> None:
    assert digest_of(connect(address)) == wanted.digest


def test_unusual_observations_get_identical_bytes(command: list[str], posted: Session) -> None:
    observations, message = odd(), list[str]()
    with StdioSession(command, agent_environment(), show=message.append) as session:
        got = answers(session, observations)
    assert got == answers(posted, observations)
    assert message == []
    orders = [[(each["symbol"], each["target_weight"]) for each in json.loads(text)["orders"]] for text in got[-6:]]
    assert orders[0] == [("A", 0.5), ("B", 0)]
    assert orders[1] == [('\u2028\U0001f600é"\\', 0.5)]
    assert len(orders[2]) == 300
    assert {weight for _, weight in orders[2]} == {2**-9}
    assert orders[4] == [("A", 0.5), ("B", 0)]
    assert orders[5] == []


def test_an_invalid_observation_gets_a_hold_and_a_message(command: list[str], posted: Session) -> None:
    good = odd()[-6]
    texts = [each for bad in BAD for each in (bad, good)]
    message: list[str] = []
    with StdioSession(command, agent_environment(), show=message.append) as session:
        got = answers(session, texts)
        assert got == answers(posted, texts)
    assert got[::2] == [HOLD] * len(BAD)
    assert set(got[1::2]) == {got[1]} != {HOLD}
    words = "\n".join(message).split("\n")
    assert len(words) == len(BAD)
    assert all("invalid observation, holds all positions" in each for each in words)


def test_invalid_utf8_does_not_end_an_agent(command: list[str]) -> None:
    good = odd()[-6].encode()
    done = subprocess.run(command, input=b"\xff\xfe\n\x00\n" + good + b"\n", capture_output=True, check=True)
    first, second, third = done.stdout.splitlines()
    assert first == second == HOLD.encode()
    assert third.startswith(b'{"orders":[{')


@pytest.mark.parametrize("tier", [Tier.T2, Tier.T3], ids=lambda tier: tier.name)
def test_a_command_makes_the_same_decisions_in_the_sandbox(
    command: list[str], wanted: oo.RunRecord, tier: Tier
) -> None:
    if HOST.tier < tier:
        pytest.skip(f"{tier.name}: {dict(HOST.missing)}")
    sandbox = Sandbox.open(Profile(Path(command[-1]).parent), min_tier=tier, max_tier=tier)
    assert digest_of(connect(f"cmd:{shlex.join(command)}", sandbox=sandbox)) == wanted.digest


def conforms(launcher: Launcher, *, deterministic: bool) -> bool:
    report = examine(launcher, deterministic=deterministic, seed=1)
    assert report.failure is None
    assert [each.did for each in report.advice if not each.is_hold] == []
    return report.conforms


def test_a_command_conforms(command: list[str]) -> None:
    """Determinism doubles the number of processes: slow starters are checked for it in full runs only."""
    is_slow = Path(command[0]).name in ("bash", "node")
    assert conforms(connect(f"cmd:{shlex.join(command)}"), deterministic=bool(count(1, not is_slow)))


def test_an_http_agent_conforms(address: str) -> None:
    assert conforms(connect(address), deterministic=True)


def test_each_reference_agent_is_one_self_contained_file() -> None:
    """A copy of the file needs no other file; the two Python agents need only the standard library."""
    for path in EXAMPLES.glob("reference-agent*"):
        assert "import openoutcry" not in path.read_text(encoding="utf-8"), path.name
    for name in ("reference-agent.py", "reference-agent-llm.py"):
        command = [sys.executable, "-I", "-S", str(EXAMPLES / name), "--help"]
        subprocess.run(command, input=b"", capture_output=True, check=True)


def test_the_docs_show_the_reference_agents() -> None:
    page = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    shown = {"python": "reference-agent.py", "py": "reference-agent-http.py", "bash": "reference-agent.sh"}
    shown |= {"ts": "reference-agent.ts", "rust": "reference-agent.rs"}
    for kind, name in shown.items():
        (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        assert block in (EXAMPLES / name).read_text(encoding="utf-8"), name
