"""The MCP server, tested with the client of the `mcp` package."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_sessions import HOLD, RULES, backtest, manager_of, new_session, played, without_session
from recorded_run import DATA, trend

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.agents.day_orders import DAY_ORDER_FIELDS
from openoutcry.backtest.replay import replay
from openoutcry.cli.mcp import EXAMPLES
from openoutcry.cli.mcp import mcp as command
from openoutcry.harness.mcp import RecordFolder, SessionManager, markets_of, tool_schemas
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once
anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

from openoutcry.harness.mcp.mcp_server import create_server  # noqa: E402 only where its package is installed

CONTRACT = Path(__file__).resolve().parents[2] / "contract"
SECONDS = 60.0
MODES = ("auto", "legacy")
WINDOW = "2010-01-01:2010-02-01"


def over(talk: Callable[..., Awaitable[Any]], *given: Any) -> Any:
    """Run a conversation with a timeout and return its result."""

    async def in_time() -> Any:
        with anyio.fail_after(SECONDS):
            return await talk(*given)

    return anyio.run(in_time)


def stdio(*options: str, cwd: Path) -> Any:
    arguments = ["-m", "openoutcry", "mcp", *options]
    server = mcp.StdioServerParameters(command=sys.executable, args=arguments, cwd=cwd, env=dict(os.environ))
    return mcp.stdio_client(server)


async def call_tool(client: Any, tool: str, **given: Any) -> dict[str, Any]:
    """Call a tool and return its structured content, which equals its text."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content
    assert result.content[0].text == native.canonicalize(json.dumps(result.structured_content))
    answer: dict[str, Any] = result.structured_content
    return answer


async def refusal(client: Any, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error
    return str(result.content[0].text)


async def traded(client: Any, **given: Any) -> list[dict[str, Any]]:
    """Trade a complete episode and return all responses, the score last."""
    answers = [await call_tool(client, "reset", **given)]
    session = answers[0]["session"]
    while not answers[-1].get("done"):
        decision = trend(answers[-1]["observation"])
        answers.append(await call_tool(client, "step", session=session, decision=decision))
    return [*answers, await call_tool(client, "score", session=session)]


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_in_memory_is_the_backtest_of_its_decisions(mode: str) -> None:
    async def talk() -> list[dict[str, Any]]:
        async with mcp.Client(create_server(manager_of()), mode=mode) as client:
            return await traded(client, **RULES)

    answers, run = over(talk), backtest(DATA)
    assert [answer["info"]["nav"] for answer in answers[1:-1]] == run.nav[1:].tolist()
    assert answers[-1]["metrics"] == run.metrics
    manager = manager_of()
    assert without_session(answers[1:-1]) == without_session(played(manager, new_session(manager)))


def test_an_episode_over_stdio_is_the_backtest_of_its_decisions(tmp_path: Path) -> None:
    async def talk() -> list[dict[str, Any]]:
        options = ["--data", "ecb-fx", "--records", "kept"]
        async with mcp.Client(stdio(*options, cwd=tmp_path), mode="legacy") as client:
            return await traded(client, window=WINDOW, agent="trend")

    answers = over(talk)
    fx = oo.data.load("ecb-fx")
    run = oo.run_backtest(fx, trend, WINDOW)
    assert [answer["info"]["nav"] for answer in answers[1:-1]] == run.nav[1:].tolist()
    assert answers[-1]["metrics"] == run.metrics
    assert str(tmp_path) not in json.dumps(answers)
    record = RunRecord.load(tmp_path / "kept" / answers[-1]["record"]["file"])
    assert (record.agent_id, record.digest) == ("trend", answers[-1]["record"]["digest"])
    assert replay(record, fx).verified


def test_clients_of_two_servers_are_independent(tmp_path: Path) -> None:
    async def talk() -> None:
        async with AsyncExitStack() as ends:
            first, second = [
                await ends.enter_async_context(mcp.Client(stdio("--data", "us-treasury", cwd=tmp_path))) for _ in "ab"
            ]
            started = [await call_tool(each, "reset", window="2000-01-03:2000-02-01") for each in (first, second)]
            assert started[0]["session"] != started[1]["session"]
            assert started[0]["observation"] == started[1]["observation"]
            error = await refusal(second, "step", session=started[0]["session"], decision=HOLD)
            assert error.startswith("unknown_session: ")
            for _ in range(3):
                await call_tool(first, "step", session=started[0]["session"], decision=HOLD)
            assert (await call_tool(first, "observe", session=started[0]["session"]))["n_left"] == started[0][
                "n_decisions"
            ] - 3
            assert (await call_tool(second, "observe", session=started[1]["session"]))["n_left"] == started[1][
                "n_decisions"
            ]

    over(talk)


def test_refusals_are_responses_that_start_with_their_slug() -> None:
    async def talk() -> list[str]:
        async with mcp.Client(create_server(manager_of())) as client:
            first = await call_tool(client, "reset", **RULES)
            session = first["session"]
            said = [
                await refusal(client, "step", session=session, decision={"orders": [{"symbol": "S000"}]}),
                await refusal(client, "step", session=session),
                await refusal(client, "reset", window="2010:2012"),
                await refusal(client, "observe", session="none"),
                await refusal(client, "score", session=session),
            ]
            assert (await call_tool(client, "observe", session=session))["observation"] == first["observation"]
            return [each.partition(":")[0] for each in said]

    wanted = ["missing_field", "argument_invalid", "window_invalid", "unknown_session", "argument_invalid"]
    assert over(talk) == wanted


@pytest.mark.parametrize("mode", MODES)
def test_an_unknown_tool_is_a_protocol_error(mode: str) -> None:
    async def talk() -> None:
        async with mcp.Client(create_server(manager_of()), mode=mode) as client:
            with pytest.raises(mcp.MCPError, match="a tool must be one of reset, observe, step, score; received 'buy'"):
                await client.call_tool("buy", {})

    over(talk)


@pytest.mark.parametrize("mode", MODES)
def test_an_internal_error_discloses_nothing_to_the_client(mode: str, tmp_path: Path) -> None:
    def stopped() -> float:
        raise OSError(str(tmp_path))

    async def talk() -> None:
        async with mcp.Client(create_server(manager_of(clock=stopped)), mode=mode) as client:
            with pytest.raises(mcp.MCPError, match="an internal error") as caught:
                await client.call_tool("reset", {})
            assert str(tmp_path) not in str(caught.value)

    over(talk)


def test_the_last_step_is_answered_even_if_the_record_cannot_be_written(tmp_path: Path) -> None:
    folder, away = tmp_path / "records", tmp_path / "away"
    manager = manager_of(records=RecordFolder(folder))

    async def talk() -> None:
        async with mcp.Client(create_server(manager)) as client:
            session = (await call_tool(client, "reset", window="+19:+21"))["session"]
            folder.rename(away)
            assert (await call_tool(client, "step", session=session, decision=HOLD))["reward"] == 0.0
            lost = (await call_tool(client, "score", session=session))["record"]
            assert "could not be written" in lost["fault"]
            assert str(tmp_path) not in lost["fault"]
            away.rename(folder)
            assert (await call_tool(client, "score", session=session))["record"]["fault"] is None

    over(talk)


def test_other_calls_are_served_while_a_score_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = manager_of()
    session = {"session": manager.reset({})["session"]}
    n_left = manager.step({**session, "decision": HOLD})["n_left"]
    is_begun, is_observed = threading.Event(), threading.Event()
    scoring = manager.scoring

    def slowly(given: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        score = scoring(given)

        def wait() -> dict[str, Any]:
            is_begun.set()
            assert is_observed.wait(30.0), "nothing else was answered meanwhile"
            return score()

        return wait

    monkeypatch.setattr(manager, "scoring", slowly)

    async def talk() -> None:
        async with mcp.Client(create_server(manager)) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(told_of, client)
            while not is_begun.is_set():
                await anyio.sleep(0.01)
            came.append((await call_tool(client, "observe", **session))["n_left"])
            is_observed.set()

    async def told_of(client: mcp.Client) -> None:
        came.append((await call_tool(client, "score", **session))["n_left"])

    came: list[int] = []
    over(talk)
    assert came == [n_left, n_left]


def test_an_unfinished_record_is_written_when_the_client_leaves(tmp_path: Path) -> None:
    async def talk() -> str:
        async with mcp.Client(
            create_server(manager_of(oo.data.load("ecb-fx"), records=RecordFolder(tmp_path)))
        ) as client:
            session: str = (await call_tool(client, "reset", window=WINDOW))["session"]
            await call_tool(client, "step", session=session, decision=HOLD)
            return session

    session = over(talk)
    record = RunRecord.load(tmp_path / f"{session}.jsonl")
    assert (record.unfinished is not None, len(record.decisions[0])) == (True, 1)


@asynccontextmanager
async def listed() -> AsyncIterator[list[Any]]:
    async with mcp.Client(create_server(manager_of())) as client:
        yield (await client.list_tools()).tools


def tools() -> dict[str, Any]:
    async def talk() -> dict[str, Any]:
        async with listed() as found:
            return {tool.name: tool for tool in found}

    named: dict[str, Any] = over(talk)
    return named


def test_every_tool_has_schemas_and_a_description() -> None:
    found = tools()
    assert list(found) == ["reset", "observe", "step", "score"]
    for tool in found.values():
        assert len(tool.description) > 60
        for schema in (tool.input_schema, tool.output_schema):
            Draft202012Validator.check_schema(schema)
            assert schema["additionalProperties"] is False
            assert "$ref" not in json.dumps(schema)
        assert all(field["description"] for field in tool.input_schema["properties"].values())
    assert [name for name, tool in found.items() if tool.annotations.read_only_hint] == ["observe", "score"]


@pytest.mark.parametrize("kit", ["positive", "negative"])
def test_the_decision_schema_of_step_is_the_contracts(kit: str) -> None:
    decision = Draft202012Validator(tools()["step"].input_schema["properties"]["decision"])
    contract = Draft202012Validator(json.loads((CONTRACT / "decision.schema.json").read_text("utf-8")))
    cases = json.loads((CONTRACT / f"conformance/{kit}.json").read_text("utf-8"))
    judged = []
    for case in cases:
        try:
            value = json.loads(case["decision"])
        except ValueError:
            continue
        judged.append(contract.is_valid(value))
        assert decision.is_valid(value) == judged[-1], case["name"]
    assert len(judged) > 10
    assert tool_schemas.decision()["examples"] == contract.schema["examples"]


def test_day_orders_are_offered_only_if_every_market_has_ranges() -> None:
    frozen = (CONTRACT / "frozen/v1.0/decision.schema.json").read_text("utf-8")
    without = oo.data.load("ecb-fx")
    plain = tool_schemas._inline_references(frozen)
    for datasets in ([without], [DATA, without]):
        schema = tool_schemas.inputs(markets_of(datasets))["step"]["properties"]["decision"]
        # The same text: the order of the fields too.
        assert json.dumps(schema) == json.dumps(plain)
    offered = tool_schemas.inputs(markets_of([DATA]))["step"]["properties"]["decision"]
    assert json.dumps(offered) == json.dumps(tool_schemas._inline_references(native.DECISION_SCHEMA))
    orders = [each["properties"]["orders"]["items"]["properties"] for each in (offered, plain)]
    assert tuple(orders[0])[len(orders[1]) :] == DAY_ORDER_FIELDS


@pytest.mark.parametrize("missing", ["open", "high", "low"])
def test_a_market_without_one_column_of_the_range_gets_the_plain_schema(missing: str) -> None:
    columns = {name: value for name, value in DATA._columns().items() if name != missing}
    market = oo.Dataset.from_arrays(**columns)
    assert not tool_schemas.offers_day_orders(markets_of([market]))
    assert tool_schemas.offers_day_orders(markets_of([DATA]))


def test_an_episode_with_day_orders_equals_the_backtest() -> None:
    def bracket(observation: dict[str, Any]) -> dict[str, Any]:
        (view, *_) = observation["symbols"]
        close = view["close_history"][-1]
        order = {"symbol": view["symbol"], "action": "buy", "target_weight": 0.4}
        return {"orders": [order | {"stop_loss": 0.99 * close, "take_profit": 1.01 * close}]}

    manager = manager_of()
    opened = new_session(manager)
    steps = played(manager, opened, bracket)
    events = [event for step in steps for event in step["info"]["events"]]
    assert {event["reason"] for event in events if event["slug"] == "exited"} == {"stop_loss", "take_profit"}
    assert [step["info"]["nav"] for step in steps] == list(backtest(DATA, agent=bracket).nav[1:])


def test_the_schemas_of_the_package_are_the_contracts() -> None:
    for name, text in (("decision", native.DECISION_SCHEMA), ("observation", native.OBSERVATION_SCHEMA)):
        assert text == (CONTRACT / f"{name}.schema.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("changed", "slug"),
    [
        ({"source": ["crypto.csv"]}, "unknown_dataset"),
        ({"source": ["us-treasury", "us-treasury"]}, "argument_invalid"),
        ({"mask": "little"}, "argument_invalid"),
        ({"records": Path(__file__)}, "argument_invalid"),
        ({"idle": 0.0}, "argument_invalid"),
    ],
)
def test_the_command_refuses_what_it_cannot_serve(changed: dict[str, Any], slug: str) -> None:
    options = {"source": ["us-treasury"], "mask": None, "records": None, "sessions": 1, "idle": 1.0}
    with pytest.raises(oo.OpenOutcryError) as caught:
        command(periods_per_year=None, **options | changed)
    assert caught.value.slug == slug
    # The message uses the name of the command line option.
    assert all(f"`--{name}`" in str(caught.value) for name in changed if name in ("records", "idle"))


@pytest.mark.parametrize("mask", [None, "levels", "calendar", "full"])
def test_the_window_description_shows_a_valid_form(mask: str | None) -> None:
    message = tool_schemas.inputs(markets_of([DATA], mask))["reset"]["properties"]["window"]["description"]
    assert ("ISO dates" in message) == (mask in (None, "levels"))
    manager = SessionManager(markets_of([oo.data.load("us-treasury")], mask))
    assert manager.reset({"window": re.findall(r"`(\S+:\S+)`", message)[-1]})["n_decisions"] > 1


def test_the_help_shows_client_settings() -> None:
    found = re.search(r"^    \{\n.*?^    \}\n", EXAMPLES, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert json.loads(found[0])["mcpServers"]["openoutcry"]["args"][0] == "mcp"
