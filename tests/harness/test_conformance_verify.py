"""Verification of modified and fabricated conformance reports."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conformance_agents import agent, failed, in_process, judged, passed, tiny
from jsonschema import Draft202012Validator

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.harness.conformance import BADGE, verify_report
from openoutcry.harness.conformance.checks import checks_of
from openoutcry.harness.conformance.conformance_report import signed
from openoutcry.harness.conformance.json_schema import KEYWORDS, first_schema_error
from openoutcry.harness.conformance.kit import kit
from openoutcry.harness.conformance.report_summary import conclusion, summary
from openoutcry.harness.conformance.report_verification import WITHOUT_ANSWERS

pytestmark = pytest.mark.once

SCHEMA = json.loads(native.CONFORMANCE_REPORT_SCHEMA)
DESCRIBING = {"$schema", "$id", "$defs", "title", "description", "examples"}


def report_of(name: str) -> dict[str, Any]:
    """Return the report of a passed, a failed or an in-process agent."""
    made = {"passed": passed, "failed": failed, "in_process": in_process}
    return made[name]().to_dict()


def with_digest(report: dict[str, Any]) -> str:
    """Return a modified report with a matching digest."""
    return json.dumps(signed({name: value for name, value in report.items() if name != "digest"}))


def changed(name: str, **changes: Any) -> str:
    report = report_of(name) | changes
    return with_digest({field: value for field, value in report.items() if value is not None})


# The schema


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and its subschemas."""
    yield schema
    inside = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for each in [*inside, *([schema["items"]] if "items" in schema else [])]:
        yield from parts(each)


def test_the_report_schema_uses_only_supported_keywords() -> None:
    for each in parts(SCHEMA):
        assert set(each) <= KEYWORDS | DESCRIBING
        assert each.get("pattern", "^$")[0] + each.get("pattern", "^$")[-1] == "^$"
        assert ("properties" in each) == (each.get("additionalProperties") is False)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a report."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield from places(each, (*path, name))


def at(report: dict[str, Any], path: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return a copy of a report, and the value at a path in it."""
    mutant = found = copy.deepcopy(report)
    for name in path:
        found = found[name]
    return mutant, found


def mutants(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies of a report with one value replaced, removed or added."""
    for path in [(), *places(report)]:
        mutant, found = at(report, path)
        if isinstance(found, dict):
            found["surprise"] = 1
            yield mutant
    for *path, name in places(report):
        for value in (None, True, -1, 1.5, 10**30, "x", "0" * 64, [7], {}):
            mutant, found = at(report, tuple(path))
            found[name] = value
            yield mutant
        mutant, found = at(report, tuple(path))
        del found[name]
        yield mutant


def test_schema_validation_agrees_with_jsonschema() -> None:
    validator = Draft202012Validator(SCHEMA)
    report = report_of("passed")
    report["signature"] = {"algorithm": "ed25519", "public_key": "0" * 64, "signature": "0" * 128}
    report["checks"] = [report_of("failed")["checks"][2]]
    assert first_schema_error(report, SCHEMA, SCHEMA) is None
    found = [(mutant, first_schema_error(mutant, SCHEMA, SCHEMA)) for mutant in mutants(report)]
    for mutant, wrong in found:
        assert (wrong is None) == validator.is_valid(mutant), (wrong, mutant)
    assert sum(wrong is not None for _, wrong in found) > 400


# Consistency


MUTANTS: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "a transport that there is not": (
        "passed",
        lambda report: report.update(harness={"transport": "pigeon", "x": [1]}),
        "no `harness.tier`",
    ),
    "no bounds": ("passed", lambda report: report.update(bounds={}), "no `bounds.start_seconds`"),
    "a count in words": (
        "passed",
        lambda report: report["timing"].update(n_sessions="many"),
        "`timing.n_sessions` 'many', where integer is known",
    ),
    "advice that is none": ("passed", lambda report: report.update(advice=[7]), "`advice[0]` 7, where object is known"),
    "a date that is none": (
        "passed",
        lambda report: report.update(date="never"),
        "`date` 'never', where text that matches",
    ),
    "fewer answers than none": (
        "passed",
        lambda report: report["checks"][2].update(n_answers=-5),
        "`checks[2].n_answers` -5, where a number of at least 0 is known",
    ),
    "less time than none": (
        "passed",
        lambda report: report["checks"][2].update(seconds=-1),
        "`checks[2].seconds` -1, where a number of at least 0 is known",
    ),
    "another algorithm": (
        "passed",
        lambda report: report.update(signature={"algorithm": "none", "public_key": "0" * 64, "signature": "0" * 128}),
        "`signature.algorithm` 'none', where `ed25519` is known",
    ),
    "a version with a line in it": (
        "passed",
        lambda report: report.update(contract_version="1.0\r\x1b[2Kwhole"),
        "`contract_version` '1.0\\r\\x1b[2Kwhole', where",
    ),
    "a day that there is not": (
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
    "not run before anything failed": (
        "passed",
        lambda report: report["checks"][3].update(state="not_run"),
        "one_line_each must be passed or failed; received not_run",
    ),
    "an episode without an answer": (
        "passed",
        lambda report: _check(report, "episode").update(n_answers=0),
        "episode must have some answers; received 0",
    ),
    "answers where nothing was asked": (
        "passed",
        lambda report: report["checks"][0].update(n_answers=3),
        "kit must have no answers; received 3",
    ),
    "answers where nothing was run": (
        "failed",
        lambda report: report["checks"][-1].update(n_answers=3),
        "must have no answers and no duration if it is not_run",
    ),
    "more answers than its checks have": (
        "passed",
        lambda report: report["timing"].update(n_answers=report["timing"]["n_answers"] + 1),
        "the number of answers must be the sum over the checks",
    ),
    "more sessions than answers": (
        "passed",
        lambda report: report["timing"].update(n_sessions=10**6),
        "times of its later answers must be given if and only if there are any",
    ),
    "an answer later than was allowed": (
        "passed",
        lambda report: report["timing"].update(answer_max_seconds=3600.0),
        "times of its later answers must increase, and be within",
    ),
    "a start later than was allowed": (
        "passed",
        lambda report: report["timing"].update(start_max_seconds=3600.0),
        "times of its starts must increase, and be within",
    ),
    "a median above the longest": (
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
    "a time to end in without a program": (
        "in_process",
        lambda report: report["bounds"].update(end_seconds=1.0),
        "the bound `end_seconds` must be given for a program only; received one",
    ),
    "a program without a time to end in": (
        "passed",
        lambda report: report["bounds"].pop("end_seconds"),
        "the bound `end_seconds` must be given for a program only; received none",
    ),
    "infrastructure to blame for nothing": (
        "passed",
        lambda report: report["checks"][2].update(infrastructure=True),
        "first_answer must have a reason if and only if it failed; received passed and ['infrastructure']",
    ),
    "orders of no answer": (
        "failed",
        lambda report: report.update(n_orders=1),
        "orders must belong to an answer; received 1 orders without answers",
    ),
    "advice for who failed": (
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
    assert {check.name for check in checks_of(kit())} > WITHOUT_ANSWERS


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
    told_so = "the conclusion must follow from the checks; received a different one"
    assert told_so in verify_report(changed("passed", checks=[*checks[:-1], {**checks[-1], "state": "failed"}]))
    assert told_so in verify_report(changed("failed", conforms=True, badge=BADGE))
    assert verify_report(changed("passed", badge=None)) == [told_so]
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
