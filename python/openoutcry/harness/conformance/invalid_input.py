"""What an agent does with input that is no observation.

It is told, and never a failure: the contract asks for nothing there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from threading import Timer
from time import perf_counter

from openoutcry import openoutcry_py as native
from openoutcry.harness import PythonAgent
from openoutcry.harness.conformance.agent_under_test import Subject, told
from openoutcry.harness.conformance.decision_rules import Failure

NO_JSON = "a line that is no JSON"
WRONG = {
    NO_JSON: "this is no JSON",
    "an object without any field": "{}",
    "an observation without `symbols`": '{"cash":1,"date":"2024-01-09","portfolio":[]}',
    "a symbol without closes": '{"cash":1,"date":"2024-01-09","portfolio":[],"symbols":[{"symbol":"AAA"}]}',
}
WANTED = "it holds everything, by a decision without orders, where it is shown what is no observation"
_SECONDS = 5.0


@dataclass(frozen=True)
class Advice:
    """What an agent did with something wrong.

    Attributes:
        sent: What it was sent, in words.
        did: What it did.
        is_hold: Whether it held everything.
    """

    sent: str
    did: str
    is_hold: bool


def advise(subject: Subject) -> list[Advice]:
    """Return what the agent does with each kind of wrong input."""
    # JSON is read for a callable.
    left_out = {NO_JSON} if isinstance(subject.launcher, PythonAgent) else set()
    return [Advice(what, *_did(subject, text)) for what, text in WRONG.items() if what not in left_out]


def _did(subject: Subject, text: str) -> tuple[str, bool]:
    seconds = _seconds(subject)
    begun = perf_counter()
    try:
        with subject.session() as watched, told(text):
            # What waits for a better line would have us wait for all the time that an answer may take.
            limit = Timer(seconds, watched.session.kill)
            limit.start()
            try:
                answer = str(watched.session.answer(text))
            finally:
                limit.cancel()
    except Failure as failure:
        if perf_counter() - begun >= seconds:
            return f"no answer within {seconds:.0f} s", False
        return f"no answer: {failure.reason.partition(':')[0]}", False
    try:
        decision = json.loads(native.read_decision(answer))
    except (native.OpenOutcryError, UnicodeEncodeError) as error:
        return f"no decision: {str(error).partition(':')[0]}", False
    n_orders = len(decision["orders"])
    return (f"a decision with {n_orders} orders", False) if n_orders else ("a decision without orders", True)


def _seconds(subject: Subject) -> float:
    bounds = subject.launcher.bounds
    most = bounds.start_seconds + bounds.answer_seconds
    return min(most, _SECONDS + 3.0 * max(subject.times.starts, default=most))
