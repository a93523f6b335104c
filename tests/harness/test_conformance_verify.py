"""Verification of modified and fabricated conformance reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conformance_agents import agent, judged, report_of, tiny

import openoutcry as oo
from openoutcry.harness.conformance import BADGE, verify_report
from openoutcry.harness.conformance.checks import checks_of
from openoutcry.harness.conformance.conformance_report import signed
from openoutcry.harness.conformance.day_order_kit import DAY_ORDER_CHECK
from openoutcry.harness.conformance.kit import kit
from openoutcry.harness.conformance.report_summary import conclusion, summary
from openoutcry.harness.conformance.report_verification import WITHOUT_ANSWERS

pytestmark = pytest.mark.once


def with_digest(report: dict[str, Any]) -> str:
    """Return a modified report with a matching digest."""
    return json.dumps(signed({name: value for name, value in report.items() if name != "digest"}))


def changed(name: str, **changes: Any) -> str:
    report = report_of(name) | changes
    return with_digest({field: value for field, value in report.items() if value is not None})


# Consistency


MUTANTS: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "an unknown transport": (
        "passed",
        lambda report: report.update(harness={"transport": "pigeon", "x": [1]}),
        "no `harness.tier`",
    ),
    "no bounds": ("passed", lambda report: report.update(bounds={}), "no `bounds.start_seconds`"),
    "a count as text": (
        "passed",
        lambda report: report["timing"].update(n_sessions="many"),
        "`timing.n_sessions` 'many', where integer is known",
    ),
    "advice that is a number": (
        "passed",
        lambda report: report.update(advice=[7]),
        "`advice[0]` 7, where object is known",
    ),
    "an invalid date": (
        "passed",
        lambda report: report.update(date="never"),
        "`date` 'never', where text that matches",
    ),
    "a negative number of answers": (
        "passed",
        lambda report: report["checks"][2].update(n_answers=-5),
        "`checks[2].n_answers` -5, where a number of at least 0 is known",
    ),
    "a negative time": (
        "passed",
        lambda report: report["checks"][2].update(seconds=-1),
        "`checks[2].seconds` -1, where a number of at least 0 is known",
    ),
    "another algorithm": (
        "passed",
        lambda report: report.update(signature={"algorithm": "none", "public_key": "0" * 64, "signature": "0" * 128}),
        "`signature.algorithm` 'none', where `ed25519` is known",
    ),
    "a version with control characters": (
        "passed",
        lambda report: report.update(contract_version="1.0\r\x1b[2Kwhole"),
        "`contract_version` '1.0\\r\\x1b[2Kwhole', where",
    ),
    "a day that does not exist": (
        "passed",
        lambda report: report.update(date="2026-02-30T00:00:00Z"),
        "the date must be valid; received 2026-02-30",
    ),
    "passed with a reason": (
        "passed",
        lambda report: report["checks"][2].update(reason="it failed"),
        "first_answer must have a reason if and only if it failed; received passed and ['reason']",
    ),
    "failed without a reason": (
        "failed",
        lambda report: report["checks"][2].pop("reason"),
        "first_answer must have a reason if and only if it failed; received failed",
    ),
    "passed after failed": (
        "failed",
        lambda report: report["checks"][3].update(state="passed"),
        "one_line_each must be not_run; received passed",
    ),
    "failed twice": (
        "failed",
        lambda report: report["checks"][3].update(state="failed", reason="it did"),
        "one_line_each must be not_run; received failed",
    ),
    "not run without a failure": (
        "passed",
        lambda report: report["checks"][3].update(state="not_run"),
        "one_line_each must be passed or failed; received not_run",
    ),
    "an episode without an answer": (
        "passed",
        lambda report: _check(report, "episode").update(n_answers=0),
        "episode must have some answers; received 0",
    ),
    "answers of a check without observations": (
        "passed",
        lambda report: report["checks"][0].update(n_answers=3),
        "kit must have no answers; received 3",
    ),
    "answers of a check that was not run": (
        "failed",
        lambda report: report["checks"][-1].update(n_answers=3),
        "must have no answers and no duration if it is not_run",
    ),
    "more answers than in its checks": (
        "passed",
        lambda report: report["timing"].update(n_answers=report["timing"]["n_answers"] + 1),
        "the number of answers must be the sum over the checks",
    ),
    "more sessions than answers": (
        "passed",
        lambda report: report["timing"].update(n_sessions=10**6),
        "times of its later answers must be given if and only if there are any",
    ),
    "an answer after the time limit": (
        "passed",
        lambda report: report["timing"].update(answer_max_seconds=3600.0),
        "times of its later answers must increase, and be within",
    ),
    "a start after the time limit": (
        "passed",
        lambda report: report["timing"].update(start_max_seconds=3600.0),
        "times of its starts must increase, and be within",
    ),
    "a median above the maximum": (
        "passed",
        lambda report: report["timing"].update(answer_p50_seconds=1.5, answer_max_seconds=1.0),
        "times of its later answers must increase",
    ),
    "no times": (
        "passed",
        lambda report: report["timing"].update(dict.fromkeys(("start_p50_seconds", "start_max_seconds"))),
        "times of its starts must be given if and only if there are any",
    ),
    "a server in a sandbox": (
        "passed",
        lambda report: report["harness"].update(transport="http", tier="T3"),
        "a server must have tier T0",
    ),
    "no sandbox and no network": (
        "passed",
        lambda report: report["harness"].update(allow_net=False),
        "a server must have tier T0, and tier T0 must have `allow_net`; received stdio, T0 and False",
    ),
    "a program without its files": (
        "passed",
        lambda report: report["harness"].pop("files"),
        "digests of files must be given for a program and not for a server; received none",
    ),
    "a time to end without a program": (
        "in_process",
        lambda report: report["bounds"].update(end_seconds=1.0),
        "the bound `end_seconds` must be given for a program only; received one",
    ),
    "a program without a time to end": (
        "passed",
        lambda report: report["bounds"].pop("end_seconds"),
        "the bound `end_seconds` must be given for a program only; received none",
    ),
    "an infrastructure fault without a failure": (
        "passed",
        lambda report: report["checks"][2].update(infrastructure=True),
        "first_answer must have a reason if and only if it failed; received passed and ['infrastructure']",
    ),
    "orders without answers": (
        "failed",
        lambda report: report.update(n_orders=1),
        "orders must belong to an answer; received 1 order without answers",
    ),
    "advice for a failed agent": (
        "failed",
        lambda report: report.update(advice=[{"sent": "a", "did": "b", "holds": True}]),
        "a report of a failed agent must have no advice; received some",
    ),
}


def _check(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in report["checks"] if each["check"] == name)


@pytest.mark.parametrize(("name", "change", "wanted"), MUTANTS.values(), ids=MUTANTS)
def test_inconsistent_reports_are_found_even_with_a_correct_digest(
    name: str, change: Callable[[dict[str, Any]], object], wanted: str
) -> None:
    report = report_of(name)
    assert verify_report(with_digest(report)) == []
    change(report)
    text = with_digest(report) if "signature" not in report else json.dumps(report)
    try:
        found = verify_report(text)
    except oo.OpenOutcryError as error:
        found = [str(error)]
    assert any(wanted in each for each in found), found


def test_a_digest_with_a_trailing_line_end_is_refused() -> None:
    check_refused(changed("passed", kit="0" * 64 + "\n"))


def test_checks_without_observations_have_no_answers() -> None:
    for name in ("passed", "in_process"):
        checks = [each for each in report_of(name)["checks"] if each["state"] == "passed"]
        assert {each["check"] for each in checks if each["n_answers"] == 0} == WITHOUT_ANSWERS & {
            each["check"] for each in checks
        }
    assert {DAY_ORDER_CHECK.name, *(check.name for check in checks_of(kit()))} > WITHOUT_ANSWERS


# The summary


def test_the_summary_shows_the_content_of_a_report() -> None:
    lines = summary(report_of("passed"))
    heads = [
        "agent:",
        "files",
        "",
        "examined:",
        "transport:",
        "limits:",
        "answers:",
        "orders:",
        "deterministic:",
        "signed:",
    ]
    assert [line.split(" ")[0] for line in lines] == heads
    assert sum(line.startswith("  ") for line in lines) == 1
    assert lines[-1] == "signed: no, so its author is unknown"
    assert conclusion(report_of("passed")) == BADGE
    lost = report_of("failed")
    assert conclusion(lost).startswith("does not conform: first_answer: agent_died: ")
    assert "deterministic: claimed and checked" in summary(lost)
    called = summary(report_of("in_process"))
    assert {
        "transport: none, a callable in the process of the examiner",
        "orders: 0, so the checks do not show that it reads observations",
    } <= set(called)


def test_texts_of_a_report_contain_no_control_characters() -> None:
    report = report_of("failed")
    wild = "\r\x1b[2K\u202e\nwhole"
    report |= {"agent": wild, "package_version": wild}
    report["harness"]["files"][0]["name"] = wild
    report["checks"][2] |= {"check": wild, "reason": wild, "sent": wild}
    for text in [*summary(report), conclusion(report)]:
        assert text.isascii()
        assert text.isprintable()
    for foreign in (
        with_digest(report),
        with_digest({**report, wild: 1}),
        f'{{"{wild}": 1}}',
        with_digest({**report, "date": wild}),
    ):
        try:
            found = verify_report(foreign)
        except oo.OpenOutcryError as error:
            found = [str(error)]
        assert found
        for text in found:
            assert text.isascii()
            assert text.isprintable()


# Conclusion and kit


def test_a_conclusion_that_contradicts_the_checks_is_found() -> None:
    checks = report_of("passed")["checks"]
    contradiction = "the conclusion must follow from the checks; received a different one"
    assert contradiction in verify_report(changed("passed", checks=[*checks[:-1], {**checks[-1], "state": "failed"}]))
    assert contradiction in verify_report(changed("failed", conforms=True, badge=BADGE))
    assert verify_report(changed("passed", badge=None)) == [contradiction]
    assert verify_report(changed("passed", checks=checks[1:]))[0].startswith("the report must have the ")
    assert verify_report(changed("passed", checks=checks[::-1]))[0].startswith("the report must have the ")
    excused = [each | ({"state": "not_applicable"} if each["check"] == "ends" else {}) for each in checks]
    assert verify_report(changed("passed", checks=excused)) == [
        "ends must be passed or failed; received not_applicable"
    ]
    excused = [each | ({"state": "not_claimed"} if each["check"] == "deterministic" else {}) for each in checks]
    assert "received not_claimed" in verify_report(changed("passed", checks=excused))[0]


def test_a_report_of_another_kit_is_named_as_such() -> None:
    faults = verify_report(changed("passed", kit="0" * 64))
    assert len(faults) == 1
    assert faults[0].endswith("received 1.0 and 000000000000")
    assert verify_report(judged(agent(), tiny()).to_json())[0].startswith("the report must have the ")


@pytest.mark.parametrize(
    "changes",
    [
        {"surprise": 1},
        {"agent": 3},
        {"conforms": 1},
        {"report_version": "2.0"},
        {"badge": "conforms to nothing"},
        {"checks": [{"check": "kit"}]},
        {"signature": {"algorithm": "ed25519", "public_key": "ab", "signature": "cd"}},
        {"date": None},
    ],
    ids=str,
)
def test_a_report_that_violates_the_schema_is_refused(changes: dict[str, Any]) -> None:
    check_refused(changed("failed", **changes))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"agent": 1, "agent": 1}', '{"agent": "\\ud800"}', "\ud800"])
def test_text_that_is_not_a_report_is_refused(text: str) -> None:
    check_refused(text)


def check_refused(text: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="a report must be JSON that matches") as refused:
        verify_report(text)
    assert refused.value.slug == "argument_invalid"
