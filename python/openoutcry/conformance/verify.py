"""Whether a report that somebody hands in is whole, and concludes what it must."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.conformance.checks import checks_of
from openoutcry.conformance.kit import Kit, kit
from openoutcry.conformance.report import (
    BADGE,
    FAILED,
    NOT_APPLICABLE,
    NOT_CLAIMED,
    NOT_RUN,
    PASSED,
    REPORT_VERSION,
    digest_of,
)
from openoutcry.errors import refusal

_STATES = {PASSED, FAILED, NOT_APPLICABLE, NOT_CLAIMED, NOT_RUN}
_NUMBER = (int, float)
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "report_version": str,
    "contract_version": str,
    "package_version": str,
    "kit": str,
    "seed": int,
    "n_orders": int,
    "agent": str,
    "date": str,
    "deterministic": bool,
    "bounds": dict,
    "conforms": bool,
    "checks": list,
    "timing": dict,
    "advice": list,
    "digest": str,
}
_OPTIONAL: Mapping[str, type | tuple[type, ...]] = {"harness": dict, "badge": str, "signature": dict}
_CHECK: Mapping[str, type | tuple[type, ...]] = {
    "check": str,
    "wanted": str,
    "state": str,
    "n_answers": int,
    "seconds": _NUMBER,
}
_TOLD: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("reason", "sent", "received", "expected", "stderr"), str),
    "infrastructure": bool,
}
_SIGNATURE: Mapping[str, type | tuple[type, ...]] = {"algorithm": str, "public_key": str, "signature": str}


def verify_report(text: str, public_key: bytes | None = None) -> list[str]:
    """Return what is wrong with a report, in words; nothing if it is whole.

    What it cannot say is who examined the agent, and whether that was done as it says: a signature tells who vouches
    for it, and whoever has the agent can examine it again.

    Args:
        text: The report.
        public_key: The key of Ed25519 that must have signed it, 32 bytes; None takes one that is not signed, too.

    Raises:
        OpenOutcryError: `argument_invalid`: this is no report of `conformance-report.schema.json`.
    """
    report = _read(text)
    found = []
    if report["digest"] != digest_of(report).hex():
        found.append("its digest must be that of its content; received another")
    found += _of_signature(report, public_key)
    if report["contract_version"] != native.CONTRACT_VERSION or report["kit"] != kit().digest:
        wanted = f"it must be of contract {native.CONTRACT_VERSION} and the kit {kit().digest[:12]} of this package"
        found.append(f"{wanted}; received {report['contract_version']} and {report['kit'][:12]}")
    else:
        found += _of_checks(report, kit())
    return found


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
    found = []
    transport = report.get("harness", {}).get("transport")
    for check, each in zip(checks_of(of_kit), report["checks"], strict=True):
        state = check.excuse(transport, deterministic=report["deterministic"]) or PASSED
        if each["state"] not in {state, FAILED, NOT_RUN}:
            found.append(f"{check.name} must be {state}, {FAILED} or {NOT_RUN}; received {each['state']}")
    failed = any(each["state"] in {FAILED, NOT_RUN} for each in report["checks"])
    if report["conforms"] == failed or ("badge" in report) != report["conforms"]:
        found.append("its conclusion must be that of its checks; received another")
    return found


def _read(text: str) -> dict[str, Any]:
    try:
        report = json.loads(native.canonicalize(text))
    except (native.OpenOutcryError, UnicodeEncodeError) as error:
        raise _refused(str(error)) from error
    _check_fields(report, _FIELDS, _OPTIONAL, "a report")
    for name, wanted in (("report_version", REPORT_VERSION), ("badge", BADGE)):
        if name in report and report[name] != wanted:
            raise _refused(f"`{name}` {report[name]!r}, where {wanted!r} is known")
    for each in report["checks"]:
        _check_fields(each, _CHECK, _TOLD, "a check")
        if each["state"] not in _STATES:
            raise _refused(f"a check with the state {each['state']!r}")
    if "signature" in report:
        _check_fields(report["signature"], _SIGNATURE, {}, "a signature")
        n_digits = {"public_key": 64, "signature": 128}
        if any(not _is_hex(report["signature"][name], n) for name, n in n_digits.items()):
            raise _refused("a signature that is not in lower-case hexadecimal digits, 64 of a key and 128 of its own")
    return dict(report)


def _check_fields(
    value: Any,
    required: Mapping[str, type | tuple[type, ...]],
    optional: Mapping[str, type | tuple[type, ...]],
    what: str,
) -> None:
    if not isinstance(value, dict):
        raise _refused(f"{what} that is no object")
    if missing := sorted(required.keys() - value.keys()):
        raise _refused(f"{what} without {', '.join(missing)}")
    if unknown := sorted(value.keys() - required.keys() - optional.keys()):
        raise _refused(f"{what} with the unknown field {unknown[0]!r}")
    for name, kind in {**required, **optional}.items():
        if name in value and not _is_of(value[name], kind):
            raise _refused(f"{what} whose {name} is {value[name]!r}")


def _is_of(value: Any, kind: type | tuple[type, ...]) -> bool:
    # In Python a truth value is a number, too.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _is_hex(text: str, n_digits: int) -> bool:
    return re.fullmatch(f"[0-9a-f]{{{n_digits}}}", text) is not None


def _refused(received: str) -> native.OpenOutcryError:
    wanted = "a report must be JSON as `conformance-report.schema.json` says"
    return refusal("argument_invalid", f"{wanted}; received {received}")
