"""What an answer must be, and how what was said is shown."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection

from openoutcry import openoutcry_py as native

_HEAD, _TAIL = 400, 120


class Failure(Exception):  # noqa: N818 a finding about an agent, and no error of ours
    """An agent did not do what a check asks for.

    Attributes:
        reason: `<what is required>; received <what came>`.
        sent: What it was sent last.
        received: What it answered, or what it had written of an answer.
        expected: What it should have answered, where there is one such text.
        stderr: The end of what it has written to its standard error.
        is_of_infrastructure: The fault lies between harness and agent.
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


def complaint(answer: str, symbols: Collection[str]) -> str | None:
    """Return what is wrong with an answer to an observation of these symbols.

    None if it is a decision that the contract accepts, and each order names a symbol of these, no two the same one.
    """
    try:
        decision = json.loads(native.read_decision(answer))
    except UnicodeEncodeError as error:
        return f"bad_json: a decision must be one JSON object; received a text with a lone surrogate: {error.reason}"
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
    """Return what a beginner most often did who wrote what is no JSON."""
    if not refused.startswith("bad_json"):
        return ""
    if re.search(r":\s*-?(NaN|Infinity)\b", answer):
        return "; hint: JSON has neither NaN nor Infinity"
    if "EOF while parsing" in refused:
        return "; hint: a program's decision is one line, without line ends inside"
    return ""


def shown(text: str, most: int = _HEAD + _TAIL) -> str:
    """Return a text in ASCII, escaped, its middle left out if it is long."""
    if len(text) <= most:
        return _escaped(text)
    tail = most * _TAIL // (_HEAD + _TAIL)
    n_left_out = len(text) - most
    return f"{_escaped(text[: most - tail])} [... {n_left_out:,} characters ...] {_escaped(text[len(text) - tail :])}"


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
