"""Check that the decision reader of this package agrees with the kit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openoutcry import openoutcry_py as native
from openoutcry.harness.conformance.decision_rules import Failure

if TYPE_CHECKING:
    from openoutcry.harness.conformance.kit import Samples


def check_reader(samples: Samples) -> None:
    """Check that each sample decision is accepted or refused as the kit states."""
    for name, text, parsed in samples.accepted:
        try:
            read = json.loads(native.read_decision(text))
        except native.OpenOutcryError as error:
            raise Failure(f"the kit's decision {name} must be accepted; received {error}", received=text) from error
        if with_defaults(read) != parsed:
            expected = json.dumps(parsed)
            message = f"the kit's decision {name} must parse to its `parsed` value; received a different one"
            raise Failure(message, received=text, expected=expected)
    for name, text, slug in samples.refused:
        try:
            native.read_decision(text)
        except native.OpenOutcryError as error:
            received = error.slug
        else:
            received = "a decision"
        if received != slug:
            raise Failure(f"the kit's decision {name} must be refused as {slug}; received {received}", received=text)


def with_defaults(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision with its defaults."""
    orders = [{"confidence": 0.5, "rationale": ""} | order for order in decision["orders"]]
    return {"reasoning": ""} | dict(decision) | {"orders": orders}
