"""Conformance checks of servers: mixed runs are found, and infrastructure faults are marked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from agent_servers import Handler, Post, serving
from conformance_agents import QUICK, SEED, tiny

from openoutcry.harness import HttpAgent
from openoutcry.harness.conformance import Report, examine
from openoutcry.harness.conformance.finding_text import failure_text

pytestmark = pytest.mark.once


def decided(post: Post) -> None:
    """Answer a request as the correct agent does, and an invalid observation with status 400."""
    try:
        names = [view["symbol"] for view in json.loads(post.body)["symbols"] if view["close_history"]]
    except (KeyError, ValueError):
        post.answer(b"no observation", 400)
        return
    parts = [{"symbol": name, "action": "buy", "target_weight": 0.5 / len(names)} for name in names]
    post.answer(json.dumps({"orders": parts}).encode())


def asked(handle: Handler, *, deterministic: bool = True, seconds: float = 5.0) -> Report:
    bounds = replace(QUICK, start_seconds=seconds, answer_seconds=seconds)
    with serving(handle) as there:
        return examine(HttpAgent(there.url, bounds), deterministic=deterministic, with_kit=tiny(), seed=SEED)


def found_at(report: Report) -> tuple[str, str]:
    assert report.failure is not None
    return report.failure.check, failure_text(report.failure)


def test_a_server_gets_all_checks_except_those_of_programs() -> None:
    report = asked(decided)
    assert report.conforms
    states = {finding.check: finding.state for finding in report.findings}
    assert {name for name, state in states.items() if state == "not_applicable"} == {
        "silent_before",
        "one_line_each",
        "ends",
    }
    assert states["interleaved"] == states["deterministic"] == "passed"
    assert {each.did for each in report.advice} == {"no answer: answer_status"}
    assert "end_seconds" not in report.to_dict()["bounds"]


def test_a_server_that_mixes_runs_fails() -> None:
    """The server repeats the answer to a repeated step, but ignores which run requested it."""
    last: dict[str, Any] = {"step": None, "answer": b""}

    def decided_once(post: Post) -> None:
        step = post.headers["openoutcry-step"]
        if step != last["step"]:
            names = [view["symbol"] for view in json.loads(post.body).get("symbols", [])]
            parts = [{"symbol": name, "action": "buy", "target_weight": 0.5 / len(names)} for name in names]
            last.update(step=step, answer=json.dumps({"orders": parts}).encode())
        post.answer(last["answer"])

    check, message = found_at(asked(decided_once, deterministic=False))
    assert check == "interleaved"
    assert "every order must name a symbol of `symbols[]`" in message


def test_a_server_that_depends_on_concurrent_runs_fails_if_it_claims_to_be_deterministic() -> None:
    seen: list[str] = []

    def counted(post: Post) -> None:
        if post.headers["openoutcry-step"] == "0":
            seen.clear()
        seen.append(post.headers["openoutcry-run"])
        post.answer(json.dumps({"orders": [], "reasoning": f"bar {len(seen)}"}).encode())

    check, message = found_at(asked(counted))
    assert check == "deterministic"
    assert "the same episode, alone or interleaved with another, must get the same answer" in message


def test_a_failure_of_a_server_shows_its_status() -> None:
    report = asked(lambda post: post.answer(b"of its own doing", 500))
    check, message = found_at(report)
    assert check == "first_answer"
    assert "answer_status: an answer must have status 200; received 500: of its own doing" in message
    assert "infrastructure" not in message
    assert not any("infrastructure" in each for each in report.to_dict()["checks"])


def test_an_overloaded_server_is_an_infrastructure_fault() -> None:
    n_posts = 0

    def overloaded(post: Post) -> None:
        nonlocal n_posts
        n_posts += 1
        if n_posts > 30:
            post.answer(b"busy", 503)
        else:
            decided(post)

    report = asked(overloaded, seconds=0.5)
    check, message = found_at(report)
    assert check == "episode"
    assert "agent_unavailable" in message
    assert "an infrastructure fault, between harness and agent: the agent may not be the cause" in message
    (failed,) = (each for each in report.to_dict()["checks"] if each["state"] == "failed")
    assert failed["infrastructure"] is True
