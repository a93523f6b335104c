"""Faults of a supervised agent: hold decisions, restarts, and the end after three consecutive faults."""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Any

import pytest
from agent_programs import HOLD, QUICK, python
from agent_servers import Post, serving

from openoutcry.agents import Answer
from openoutcry.harness import AgentError, Bounds, CallableAgent, CommandAgent, HttpAgent, SupervisedAgent
from openoutcry.harness.cancellation import Stop

pytestmark = pytest.mark.once

ABANDONED = Answer("", "agent_given_up")
LOST = Answer("", "agent_lost")


def supervised(agent: CommandAgent | HttpAgent) -> tuple[SupervisedAgent, list[tuple[str, int]]]:
    message: list[tuple[str, int]] = []

    def tell(fault: AgentError, step: int) -> None:
        # Most answers of these tests are malformed.
        if fault.slug != "malformed":
            message.append((fault.slug, step))

    return SupervisedAgent(agent, tell), message


def test_an_agent_is_restarted_after_a_fault_and_answers_the_next_bar() -> None:
    """A late answer is never attributed to another bar."""
    text = (
        "import json, os, sys, time\n"
        "for line in sys.stdin:\n"
        "    bar = json.loads(line)['bar']\n"
        "    if bar == 1: time.sleep(0.8)\n"
        "    if bar == 3: sys.exit(1)\n"
        "    if bar == 5:\n        os.write(1, b'{}' + bytes([10]) + b'{}' + bytes([10]))\n        continue\n"
        "    if bar == 8: print('x' * 2000)\n"
        "    print(json.dumps({'bar': bar, 'first': locals().setdefault('first', bar)}))\n"
    )
    agent, message = supervised(python(text))
    with agent:
        answers = [agent.answer(f'{{"bar":{bar}}}') for bar in range(10)]
    faults = {bar: answer.fault for bar, answer in enumerate(answers) if answer.fault}
    assert faults == {1: "agent_late", 3: "agent_died", 6: "answer_too_early", 8: "answer_too_long"}
    assert message == [(slug, bar) for bar, slug in faults.items()]
    for bar, answer in enumerate(answers):
        if bar not in faults and bar != 5:
            assert f'"bar": {bar}' in answer.text
    firsts = [answer.text.rpartition(" ")[2] for bar, answer in enumerate(answers) if bar not in faults and bar != 5]
    assert firsts == ["0}", "2}", "4}", "7}", "9}"]


def test_an_agent_with_three_consecutive_faults_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, message = supervised(python("input()"))
    with agent:
        assert [agent.answer("{}") for _ in range(6)] == [Answer("", "agent_died")] * 3 + [ABANDONED] * 3
    assert len(message) == 3
    with serving(partial(Post.answer, status=502)) as server:
        monkeypatch.setattr("openoutcry.harness.http_agent._FIRST_PAUSE", 60.0)
        agent, _ = supervised(HttpAgent(server.url, Bounds(9.0, 9.0)))
        with agent:
            assert [agent.answer("{}") for _ in range(5)] == [Answer("", "agent_unavailable")] * 3 + [LOST] * 2
        assert len(server.posts) == 3


def test_isolated_faults_do_not_abandon_an_agent() -> None:
    text = "import sys\nfor at, line in enumerate(sys.stdin):\n    print('{}')\n    if at == 1: sys.exit(0)\n"
    agent, message = supervised(python(text))
    with agent:
        faults = [agent.answer("{}").fault for _ in range(15)]
    assert faults == [None, None, "agent_died"] * 5
    assert len(message) == 5


def test_a_malformed_answer_is_reported_at_its_bar_and_the_agent_continues() -> None:
    message: list[str] = []
    wrong = "line.replace('}', ',\"a\":1}' if at < 4 else '}')"
    text = f"import sys\nfor at, line in enumerate(sys.stdin): print({wrong}.strip())\n"
    with SupervisedAgent(python(text), lambda fault, step: message.append(f"{step} {fault}")) as agent:
        answers = [agent.answer(HOLD) for _ in range(6)]
    # All from one process: malformed answers do not count as consecutive faults.
    assert [answer.fault for answer in answers] == [None] * 6
    assert [each[:26] for each in message] == [f"{step} malformed: unknown_field" for step in range(4)]


def test_replayed_bars_keep_their_decisions_and_their_faults_do_not_count() -> None:
    """Faults during the replay neither change prior decisions nor abandon the agent."""
    text = (
        "import json, sys\nseen = []\nfor line in sys.stdin:\n    seen.append(json.loads(line)['bar'])\n"
        "    if seen[-1] in (1, 2): sys.exit(1)\n"
        "    print(json.dumps({'orders': [], 'reasoning': str(seen)}))\n"
    )
    message: list[str] = []
    before = [Answer(HOLD) for _ in range(5)]
    with SupervisedAgent(python(text), lambda fault, step: message.append(f"{step} {fault.slug}"), before) as agent:
        answers = [agent.answer(f'{{"bar":{bar}}}') for bar in range(7)]
    assert answers[:5] == before
    assert ["[3, 4, 5]" in answers[5].text, "[3, 4, 5, 6]" in answers[6].text] == [True, True]
    assert message == ["1 agent_died", "2 agent_died"]


@pytest.mark.parametrize(("n_faults", "n_asked"), [(2, 1), (3, 0)])
def test_consecutive_faults_are_counted_across_an_interruption(n_faults: int, n_asked: int) -> None:
    message: list[int] = []
    before = [Answer(HOLD), *[Answer("", "agent_died")] * n_faults]
    with SupervisedAgent(python("input()"), lambda fault, step: message.append(step), before) as agent:
        answers = [agent.answer(HOLD) for _ in range(len(before) + 3)]
    assert answers[: len(before)] == before
    assert answers[len(before) :] == [Answer("", "agent_died")] * n_asked + [ABANDONED] * (3 - n_asked)
    assert len([step for step in message if step >= len(before)]) == n_asked


def test_an_agent_that_fails_in_the_replay_is_not_shown_all_bars() -> None:
    message: list[int] = []
    with SupervisedAgent(python("input()"), lambda fault, step: message.append(step), [Answer(HOLD)] * 9) as agent:
        assert [agent.answer(HOLD).fault for _ in range(9)] == [None] * 9
    assert message == [0, 1, 2]


def test_a_restarted_agent_inherits_the_limit_of_standard_error() -> None:
    shown: list[str] = []
    text = "import sys, os\nsys.stderr.write('x' * 150 + chr(10))\nsys.stderr.flush()\nif input() == 'a': print()\n"
    agent = CommandAgent([sys.executable, "-u", "-c", text], bounds=Bounds(stderr_bytes=250), show=shown.append)
    with SupervisedAgent(agent) as session:
        assert [session.answer(each).fault for each in "abab"] == [None, "agent_died", None, "agent_died"]
    left_out = "... further output of the agent is dropped"
    assert "\n".join(shown).split("\n") == ["x" * 150, "x" * 99, left_out]


def test_a_stopped_run_has_no_fault() -> None:
    agent, message = supervised(python("import time; input(); time.sleep(60)", Bounds(answer_seconds=60.0)))
    with agent:
        timer = threading.Timer(0.3, agent.kill)
        timer.start()
        with pytest.raises(AgentError):
            agent.answer("{}")
        timer.join()
    assert message == []


def test_a_host_without_descriptors_is_an_infrastructure_fault() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    agent, _ = supervised(python("input()"))
    with agent:
        agent.answer("{}")
        # The limit applies to descriptor numbers, so unused lower numbers must be filled first.
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            answer = agent.answer("{}")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert answer == Answer("", "agent_not_started")


def test_an_exception_of_a_callable_is_a_fault() -> None:
    class Sometimes:
        def __init__(self) -> None:
            self.n_asked = 0

        def __call__(self, observation: dict[str, object]) -> object:
            self.n_asked += 1
            if self.n_asked == 3:
                raise ValueError("three")
            return {"orders": [], "reasoning": "x" * (2000 if observation == {"long": 1} else self.n_asked)}

    faults: list[AgentError] = []
    agent = CallableAgent(Sometimes, bounds=QUICK)
    assert (agent.name, agent.harness) == ("Sometimes", None)
    with SupervisedAgent(agent, lambda fault, step: faults.append(fault)) as session:
        answers = [session.answer("{}") for _ in range(4)] + [session.answer('{"long": 1}')]
    assert [answer.fault for answer in answers] == [None, None, "agent_died", None, "answer_too_long"]
    assert '"reasoning": "x"}' in answers[3].text
    assert str(faults[0]).endswith("received its exit, ValueError: three")
    assert 'raise ValueError("three")' in faults[0].stderr
    # Not a fault of the agent: an interrupt ends the run.
    with SupervisedAgent(CallableAgent(lambda: interrupt, "stop")) as session, pytest.raises(KeyboardInterrupt):
        session.answer("{}")


def interrupt(observation: object) -> Any:
    raise KeyboardInterrupt


def test_a_stop_runs_registered_and_later_callbacks() -> None:
    stop, called = Stop(), []
    with stop.on_stop(lambda: called.append("before")):
        with stop.on_stop(lambda: called.append("gone")):
            pass
        stop.set()
    with stop.on_stop(lambda: called.append("after")):
        assert stop.is_set
    assert called == ["before", "after"]
