"""Whether the reader of this package and the kit agree, before agents are judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openoutcry import openoutcry_py as native
from openoutcry.harness.conformance.decision_rules import Failure

if TYPE_CHECKING:
    from openoutcry.harness.conformance.agent_under_test import Subject


def check_reader(subject: Subject) -> None:
    """Check that each decision of the kit is read, or refused, as the kit says."""
    for name, text, parsed in subject.kit.accepted:
        try:
            read = json.loads(native.read_decision(text))
        except native.OpenOutcryError as error:
            raise Failure(f"the kit's decision {name} must be accepted; received {error}", received=text) from error
        if spelled_out(read) != parsed:
            expected = json.dumps(parsed)
            message = f"the kit's decision {name} must be read as it says; received another one"
            raise Failure(message, received=text, expected=expected)
    for name, text, slug in subject.kit.refused:
        try:
            native.read_decision(text)
        except UnicodeEncodeError:
            received = "bad_json"
        except native.OpenOutcryError as error:
            received = error.slug
        else:
            received = "a decision"
        if received != slug:
            raise Failure(f"the kit's decision {name} must be refused as {slug}; received {received}", received=text)


def spelled_out(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision with its defaults filled in."""
    orders = [{"confidence": 0.5, "rationale": ""} | order for order in decision["orders"]]
    return {"reasoning": ""} | dict(decision) | {"orders": orders}
