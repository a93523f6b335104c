"""Rules of a valid decision, and excerpts of texts in messages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection

from openoutcry import openoutcry_py as native
from openoutcry.untrusted.counted_nouns import counted

_HEAD, _TAIL = 400, 120


class Failure(Exception):  # noqa: N818 a finding about an agent, not an error of this package
    """An agent did not meet the requirement of a check.

    Attributes:
        reason: `<what is required>; received <value>`.
        sent: The last observation sent.
        received: The answer, or the received part of it.
        expected: The required answer, if there is only one.
        stderr: The last part of its standard error.
        is_of_infrastructure: Whether the fault lies between harness and agent.
    """

    def __init__(
        self,
        reason: str,
        sent: str | None = None,
        received: str | None = None,
        expected: str | None = None,
        stderr: str = "",
        *,
        is_of_infrastructure: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.received = received
        self.expected = expected
        self.stderr = stderr
        self.is_of_infrastructure = is_of_infrastructure


def decision_error(answer: str, symbols: Collection[str]) -> str | None:
    """Return the error of an answer to an observation; None if it is valid.

    A valid answer is a decision that the contract accepts, with at most one order for each listed symbol.
    """
    try:
        decision = json.loads(native.read_decision(answer))
    except native.OpenOutcryError as error:
        return f"{error}{_hint(answer, str(error))}"
    named = Counter(order["symbol"] for order in decision["orders"])
    wanted = "every order must name a symbol of `symbols[]`, each at most once"
    for name, n_orders in named.items():
        if name not in symbols:
            return f"{wanted}; received an order for `{name[:60]}`"
        if n_orders > 1:
            return f"{wanted}; received {n_orders} orders for `{name[:60]}`"
    return None


def _hint(answer: str, refused: str) -> str:
    """Return a hint for common mistakes in JSON."""
    if not refused.startswith("bad_json"):
        return ""
    if re.search(r":\s*-?(NaN|Infinity)\b", answer):
        return "; hint: JSON has neither NaN nor Infinity"
    if "EOF while parsing" in refused:
        return "; hint: a program's decision is one line, without line ends inside"
    return ""


def ascii_excerpt(text: str, most: int = _HEAD + _TAIL) -> str:
    """Return a text as escaped ASCII, with the middle of a long text omitted."""
    if len(text) <= most:
        return _escaped(text)
    tail = most * _TAIL // (_HEAD + _TAIL)
    omitted = counted(len(text) - most, "character")
    return f"{_escaped(text[: most - tail])} [... {omitted} ...] {_escaped(text[len(text) - tail :])}"


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
