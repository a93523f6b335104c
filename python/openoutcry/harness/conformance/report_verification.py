"""Whether a report that somebody hands in is whole, and says what can be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.harness.conformance.checks import checks_of
from openoutcry.harness.conformance.conformance_report import BADGE, FAILED, NOT_RUN, PASSED, digest_of
from openoutcry.harness.conformance.decision_rules import shown
from openoutcry.harness.conformance.json_schema import complaint_about
from openoutcry.harness.conformance.kit import Kit, kit

UNASKED = frozenset({"kit", "silent_before", "one_line_each", "ends"})
"""Checks that ask the agent nothing, or look at what another one asked; the others have an answer where they passed."""
_DATE = "%Y-%m-%dT%H:%M:%SZ"
_CLOCK_SECONDS = 1.0
"""What the clocks of harness and examiner may differ by on a busy machine."""


def verify_report(text: str, public_key: bytes | None = None) -> list[str]:
    """Return what is wrong with a report, in words; nothing if it is whole.

    That is no word on the agent: a whole report may say that it does not conform. What it cannot say is who examined
    the agent, and whether that was done as it says: a signature tells who vouches for it, and whoever has the agent can
    examine it again.

    Args:
        text: The report.
        public_key: The key of Ed25519 that must have signed it, 32 bytes; None takes one that is not signed, too.

    Raises:
        OpenOutcryError: `argument_invalid`: this is no report of `conformance-report.schema.json`.
    """
    report = read_report(text)
    found = []
    if report["digest"] != digest_of(report).hex():
        found.append("its digest must be that of its content; received another")
    found += _of_signature(report, public_key)
    if report["contract_version"] != native.CONTRACT_VERSION or report["kit"] != kit().digest:
        wanted = f"it must be of contract {native.CONTRACT_VERSION} and the kit {kit().digest[:12]} of this package"
        found.append(f"{wanted}; received {shown(report['contract_version'], 20)} and {report['kit'][:12]}")
    else:
        found += _of_checks(report, kit())
    return [*found, *_of_harness(report), *_of_numbers(report)]


def read_report(text: str) -> dict[str, Any]:
    """Return a report as a dict, once it is of its schema.

    Raises:
        OpenOutcryError: `argument_invalid`: it is none.
    """
    try:
        report = json.loads(native.canonicalize(text))
    except (native.OpenOutcryError, UnicodeEncodeError) as error:
        raise _refused(shown(str(error))) from error
    schema = json.loads(native.CONFORMANCE_REPORT_SCHEMA)
    if wrong := complaint_about(report, schema, schema):
        raise _refused(wrong)
    return dict(report)


def _refused(received: str) -> native.OpenOutcryError:
    wanted = "a report must be JSON as `conformance-report.schema.json` says"
    return refusal("argument_invalid", f"{wanted}; received {received}")


def _of_signature(report: Mapping[str, Any], public_key: bytes | None) -> list[str]:
    signature = report.get("signature")
    if signature is None:
        return [] if public_key is None else ["it must be signed; received no signature"]
    claimed = bytes.fromhex(signature["public_key"])
    digest, signed = digest_of(report), bytes.fromhex(signature["signature"])
    if not native.conformance_is_signed(digest, claimed, signed):
        return ["its signature must be of its content and by its key; received another"]
    if public_key is not None and claimed != public_key:
        return [f"it must be signed by the key {public_key.hex()}; received one by {claimed.hex()}"]
    return []


def _of_checks(report: Mapping[str, Any], of_kit: Kit) -> list[str]:
    # The badge is for who passed all that had to be passed.
    wanted = [check.name for check in checks_of(of_kit)]
    received = [each["check"] for each in report["checks"]]
    if received != wanted:
        return [f"it must have the {len(wanted)} checks of its kit, in order; received {len(received)}"]
    found: list[str] = []
    transport = report.get("harness", {}).get("transport")
    has_failed = False
    for check, each in zip(checks_of(of_kit), report["checks"], strict=True):
        state = check.excuse(transport, deterministic=report["deterministic"]) or PASSED
        known = [NOT_RUN] if has_failed else [state] if state != PASSED else [PASSED, FAILED]
        if each["state"] in known:
            found += _of_check(each)
        else:
            found.append(f"{check.name} must be {' or '.join(known)}; received {each['state']}")
        has_failed = has_failed or each["state"] == FAILED
    if report["conforms"] == has_failed or report.get("badge") != (BADGE if report["conforms"] else None):
        found.append("its conclusion must be that of its checks; received another")
    return found


def _of_check(each: Mapping[str, Any]) -> Iterator[str]:
    name, state = each["check"], each["state"]
    told = [field for field in ("reason", "sent", "received", "expected", "infrastructure", "stderr") if field in each]
    if (state == FAILED) != ("reason" in each) or (state != FAILED and told):
        yield f"{name} must have a reason where it failed, and only there; received {state} and {told or 'none'}"
    if state == PASSED and (each["n_answers"] == 0) != (name in UNASKED):
        yield f"{name} must have {'no' if name in UNASKED else 'its'} answers; received {each['n_answers']}"
    if state not in {PASSED, FAILED} and (each["n_answers"] or each["seconds"]):
        received = f"{each['n_answers']} answers in {each['seconds']} s"
        yield f"{name} must have no answers and take no time where it is {state}; received {received}"


def _of_harness(report: Mapping[str, Any]) -> Iterator[str]:
    try:
        datetime.strptime(report["date"], _DATE)
    except ValueError:
        yield f"its date must be one; received {report['date']}"
    harness = report.get("harness")
    is_program = harness is not None and harness["transport"] == "stdio"
    if is_program != ("end_seconds" in report["bounds"]):
        yield "a program, and nothing else, must have a time to end in; received " + ("none" if is_program else "one")
    if harness is None:
        return
    is_server = harness["transport"] == "http"
    if (is_server and harness["tier"] != "T0") or (harness["tier"] == "T0" and not harness["allow_net"]):
        wanted = "a server must be in tier T0, and what is in that one with a network"
        yield f"{wanted}; received {harness['transport']}, {harness['tier']} and {harness['allow_net']}"
    if is_server == ("files" in harness):
        yield "its files must be told of a program, and of no server; received " + ("some" if is_server else "none")


def _of_numbers(report: Mapping[str, Any]) -> Iterator[str]:
    timing, bounds = report["timing"], report["bounds"]
    n_judged = sum(each["n_answers"] for each in report["checks"])
    # The answer of a check that failed was timed, and is none that passed.
    if not 0 <= timing["n_answers"] - n_judged <= (not report["conforms"]):
        yield f"it must have as many answers as its checks, {n_judged:,}; received {timing['n_answers']:,}"
    if report["n_orders"] and not n_judged:
        yield f"orders must be of an answer; received {report['n_orders']:,} of none"
    starts = [timing[f"start_{each}_seconds"] for each in ("p50", "max")]
    answers = [timing[f"answer_{each}_seconds"] for each in ("p50", "p99", "max")]
    of_answers, of_starts = bounds["answer_seconds"], bounds["start_seconds"] + bounds["answer_seconds"]
    for what, n_timed, times, most in (
        ("starts", timing["n_sessions"], starts, of_starts),
        ("later answers", timing["n_answers"] - timing["n_sessions"], answers, of_answers),
    ):
        if n_timed < 0 or {each is None for each in times} != {n_timed == 0}:
            yield f"times of its {what} must be told where there are any; received {times} of {n_timed:,}"
        elif n_timed and (times != sorted(times) or (report["conforms"] and times[-1] > most + _CLOCK_SECONDS)):
            yield f"times of its {what} must rise, and be within {most:g} s where it conforms; received {times}"
    if report["advice"] and not report["conforms"]:
        yield "it must have no advice for an agent that failed; received some"
