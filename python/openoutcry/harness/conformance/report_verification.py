"""Verification of a conformance report: integrity, completeness and consistency."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.harness.conformance.checks import checks_of
from openoutcry.harness.conformance.conformance_report import BADGES, FAILED, NOT_RUN, PASSED, digest_of
from openoutcry.harness.conformance.day_order_kit import DAY_ORDER_CHECK, day_order_kit
from openoutcry.harness.conformance.decision_rules import ascii_excerpt
from openoutcry.harness.conformance.json_schema import first_schema_error
from openoutcry.harness.conformance.kit import Kit, kit
from openoutcry.harness.contract_statement import ACCEPTED_CONTRACT
from openoutcry.untrusted.counted_nouns import counted

WITHOUT_ANSWERS = frozenset({"kit", "silent_before", "one_line_each", "ends", DAY_ORDER_CHECK.name})
"""Checks without answers of their own; every other check has at least one answer if it passed."""
_DATE = "%Y-%m-%dT%H:%M:%SZ"
_CLOCK_SECONDS = 1.0
"""Tolerance between the clocks of harness and examiner on a busy machine."""


def verify_report(text: str, public_key: bytes | None = None) -> list[str]:
    """Return the errors of a report, as sentences; empty if it is valid.

    A valid report may state that the agent does not conform. Verification cannot prove that the examination took place:
    a signature names the examiner, and the examination can be repeated with the agent.

    Args:
        text: The report.
        public_key: The Ed25519 key that must have signed the report, 32 bytes; None also accepts unsigned reports.

    Raises:
        OpenOutcryError: `argument_invalid`: the text does not match `conformance-report.schema.json`.
    """
    report = read_report(text)
    errors = []
    if report["digest"] != digest_of(report).hex():
        errors.append("the digest must match the content; received a different one")
    errors += _signature_errors(report, public_key)
    if report["contract_version"] not in BADGES or report["kit"] != kit().digest:
        wanted = f"contract and kit must be {native.CONTRACT_VERSION} and {kit().digest[:12]}, those of this package"
        errors.append(f"{wanted}; received {ascii_excerpt(report['contract_version'], 20)} and {report['kit'][:12]}")
    else:
        errors += [*_day_order_errors(report), *_checks_errors(report, kit())]
    return [*errors, *_harness_errors(report), *_number_errors(report)]


def read_report(text: str) -> dict[str, Any]:
    """Parse a report and validate it against its schema.

    Raises:
        OpenOutcryError: `argument_invalid`: the text does not match the schema.
    """
    try:
        report = json.loads(native.canonicalize(text))
    except native.OpenOutcryError as error:
        raise _refused(ascii_excerpt(str(error))) from error
    schema = json.loads(native.CONFORMANCE_REPORT_SCHEMA)
    if wrong := first_schema_error(report, schema, schema):
        raise _refused(wrong)
    return dict(report)


def _refused(received: str) -> native.OpenOutcryError:
    wanted = "a report must be JSON that matches `conformance-report.schema.json`"
    return refusal("argument_invalid", f"{wanted}; received {received}")


def _signature_errors(report: Mapping[str, Any], public_key: bytes | None) -> list[str]:
    signature = report.get("signature")
    if signature is None:
        return [] if public_key is None else ["the report must be signed; received no signature"]
    claimed = bytes.fromhex(signature["public_key"])
    digest, signed = digest_of(report), bytes.fromhex(signature["signature"])
    if not native.conformance_is_signed(digest, claimed, signed):
        return ["the signature must match the content and the public key; received a different one"]
    if public_key is not None and claimed != public_key:
        return [f"the report must be signed by the key {public_key.hex()}; received a signature by {claimed.hex()}"]
    return []


def _day_order_errors(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors of what a report of contract 1.1 states in addition."""
    names = ("day_order_kit", "n_day_orders")
    is_later = report["contract_version"] == ACCEPTED_CONTRACT
    if present := [name for name in names if (name in report) != is_later]:
        wanted = f"{' and '.join(names)} must be given for contract {ACCEPTED_CONTRACT} only"
        yield f"{wanted}; received {', '.join(present)} otherwise"
    elif is_later:
        if report["day_order_kit"] != day_order_kit().digest:
            wanted = f"the kit of day orders must be {day_order_kit().digest[:12]}, that of this package"
            yield f"{wanted}; received {report['day_order_kit'][:12]}"
        if not 1 <= report["n_day_orders"] <= report["n_orders"]:
            wanted = f"day orders must be from 1 to all orders, {report['n_orders']:,}"
            yield f"{wanted}; received {report['n_day_orders']:,}"


def _checks_errors(report: Mapping[str, Any], of_kit: Kit) -> list[str]:
    # The badge requires every applicable check.
    checks = checks_of(of_kit) + ([DAY_ORDER_CHECK] if report["contract_version"] == ACCEPTED_CONTRACT else [])
    wanted = [check.name for check in checks]
    received = [each["check"] for each in report["checks"]]
    if received != wanted:
        return [f"the report must have the {len(wanted)} checks of its kit, in order; received {len(received)}"]
    errors: list[str] = []
    transport = report.get("harness", {}).get("transport")
    has_failed = False
    for check, each in zip(checks, report["checks"], strict=True):
        state = check.excuse(transport, deterministic=report["deterministic"]) or PASSED
        known = [NOT_RUN] if has_failed else [state] if state != PASSED else [PASSED, FAILED]
        if each["state"] in known:
            errors += _check_errors(each)
        else:
            errors.append(f"{check.name} must be {' or '.join(known)}; received {each['state']}")
        has_failed = has_failed or each["state"] == FAILED
    badge = BADGES[report["contract_version"]] if report["conforms"] else None
    if report["conforms"] == has_failed or report.get("badge") != badge:
        errors.append("the conclusion must follow from the checks; received a different one")
    return errors


def _check_errors(each: Mapping[str, Any]) -> Iterator[str]:
    name, state = each["check"], each["state"]
    fields = ("reason", "sent", "received", "expected", "infrastructure", "stderr")
    present = [field for field in fields if field in each]
    if (state == FAILED) != ("reason" in each) or (state != FAILED and present):
        yield f"{name} must have a reason if and only if it failed; received {state} and {present or 'none'}"
    if state == PASSED and (each["n_answers"] == 0) != (name in WITHOUT_ANSWERS):
        yield f"{name} must have {'no' if name in WITHOUT_ANSWERS else 'some'} answers; received {each['n_answers']}"
    if state not in {PASSED, FAILED} and (each["n_answers"] or each["seconds"]):
        received = f"{counted(each['n_answers'], 'answer')} in {each['seconds']} s"
        yield f"{name} must have no answers and no duration if it is {state}; received {received}"


def _harness_errors(report: Mapping[str, Any]) -> Iterator[str]:
    try:
        datetime.strptime(report["date"], _DATE)
    except ValueError:
        yield f"the date must be valid; received {report['date']}"
    harness = report.get("harness")
    is_program = harness is not None and harness["transport"] == "stdio"
    if is_program != ("end_seconds" in report["bounds"]):
        yield "the bound `end_seconds` must be given for a program only; received " + ("none" if is_program else "one")
    if harness is None:
        return
    is_server = harness["transport"] == "http"
    if (is_server and harness["tier"] != "T0") or (harness["tier"] == "T0" and not harness["allow_net"]):
        wanted = "a server must have tier T0, and tier T0 must have `allow_net`"
        yield f"{wanted}; received {harness['transport']}, {harness['tier']} and {harness['allow_net']}"
    if is_server == ("files" in harness):
        wanted = "digests of files must be given for a program and not for a server"
        yield f"{wanted}; received {'some' if is_server else 'none'}"


def _number_errors(report: Mapping[str, Any]) -> Iterator[str]:
    timing, bounds = report["timing"], report["bounds"]
    n_judged = sum(each["n_answers"] for each in report["checks"])
    # The invalid answer of a failed check was timed, but not counted.
    if not 0 <= timing["n_answers"] - n_judged <= (not report["conforms"]):
        yield f"the number of answers must be the sum over the checks, {n_judged:,}; received {timing['n_answers']:,}"
    if report["n_orders"] and not n_judged:
        yield f"orders must belong to an answer; received {counted(report['n_orders'], 'order')} without answers"
    starts = [timing[f"start_{each}_seconds"] for each in ("p50", "max")]
    answers = [timing[f"answer_{each}_seconds"] for each in ("p50", "p99", "max")]
    of_answers, of_starts = bounds["answer_seconds"], bounds["start_seconds"] + bounds["answer_seconds"]
    for what, n_timed, times, most in (
        ("starts", timing["n_sessions"], starts, of_starts),
        ("later answers", timing["n_answers"] - timing["n_sessions"], answers, of_answers),
    ):
        if n_timed < 0 or {each is None for each in times} != {n_timed == 0}:
            yield f"times of its {what} must be given if and only if there are any; received {times} of {n_timed:,}"
        elif n_timed and (times != sorted(times) or (report["conforms"] and times[-1] > most + _CLOCK_SECONDS)):
            yield f"times of its {what} must increase, and be within {most:g} s if it conforms; received {times}"
    if report["advice"] and not report["conforms"]:
        yield "a report of a failed agent must have no advice; received some"
