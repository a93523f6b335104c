"""Behavior of an agent on invalid input: advice, never a failure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from threading import Timer
from time import perf_counter

from openoutcry import openoutcry_py as native
from openoutcry.harness import PythonAgent
from openoutcry.harness.conformance.agent_under_test import AgentUnderTest, as_failure
from openoutcry.harness.conformance.decision_rules import Failure
from openoutcry.untrusted.counted_nouns import counted

NOT_JSON = "a line that is not JSON"
WRONG = {
    NOT_JSON: "this is no JSON",
    "an object without any field": "{}",
    "an observation without `symbols`": '{"cash":1,"date":"2024-01-09","portfolio":[]}',
    "a symbol without closes": '{"cash":1,"date":"2024-01-09","portfolio":[],"symbols":[{"symbol":"AAA"}]}',
}
WANTED = "answers invalid input with a decision without orders"
_SECONDS = 5.0


@dataclass(frozen=True)
class Advice:
    """What an agent did with one kind of invalid input.

    Attributes:
        sent: Description of the input.
        did: What it did.
        is_hold: Whether it answered with a decision without orders.
    """

    sent: str
    did: str
    is_hold: bool


def advise(subject: AgentUnderTest) -> list[Advice]:
    """Return the behavior of the agent on each kind of invalid input."""
    # The worker of a Python callable parses the JSON.
    skipped = {NOT_JSON} if isinstance(subject.launcher, PythonAgent) else set()
    return [Advice(what, *_did(subject, text)) for what, text in WRONG.items() if what not in skipped]


def _did(subject: AgentUnderTest, text: str) -> tuple[str, bool]:
    seconds = _seconds(subject)
    started = perf_counter()
    try:
        with subject.session() as timed, as_failure(text):
            # An agent that waits for a valid line would take the complete answer timeout.
            limit = Timer(seconds, timed.session.kill)
            limit.start()
            try:
                answer = str(timed.session.answer(text))
            finally:
                limit.cancel()
    except Failure as failure:
        if perf_counter() - started >= seconds:
            return f"no answer within {seconds:.0f} s", False
        return f"no answer: {failure.reason.partition(':')[0]}", False
    try:
        decision = json.loads(native.read_decision(answer))
    except native.OpenOutcryError as error:
        return f"no decision: {str(error).partition(':')[0]}", False
    n_orders = len(decision["orders"])
    return (f"a decision with {counted(n_orders, 'order')}", False) if n_orders else ("a decision without orders", True)


def _seconds(subject: AgentUnderTest) -> float:
    bounds = subject.launcher.bounds
    most = bounds.start_seconds + bounds.answer_seconds
    return min(most, _SECONDS + 3.0 * max(subject.times.starts, default=most))
