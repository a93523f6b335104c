"""Records of the log, and commitments to decisions.

A record is a JSON object with `v`, `type`, `seq`, `prev_sha256` and the fields of its type. Numbers are integers or
decimal strings, so that canonical JSON does not depend on float formatting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from hashlib import sha256
from secrets import token_bytes
from typing import Any, NamedTuple

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

VERSION = 1
"""The `v` of records and commitments."""
GENESIS = "0" * 64
"""`prev_sha256` of the first record."""

_PLACES = Decimal("0.000001")
_LINKS = ("prev_sha256", "seq", "v")


class Link(NamedTuple):
    """The end of a log: the next `seq`, and the next `prev_sha256`."""

    seq: int = 0
    sha256: str = GENESIS


class Record(NamedTuple):
    """A record at its index. `text` is the line without its line end: the leaf."""

    seq: int
    text: bytes
    sha256: str

    @property
    def link(self) -> Link:
        """The link that the next record continues."""
        return Link(self.seq + 1, self.sha256)

    def members(self) -> dict[str, Any]:
        """Return the fields of the record."""
        found: dict[str, Any] = json.loads(self.text)
        return found


def canonical(value: Any) -> str:
    """Return a value as RFC 8785 canonical JSON.

    Raises:
        OpenOutcryError: `bad_json`: a string holds a lone surrogate.
    """
    return native.canonicalize(json.dumps(value, allow_nan=False))


def seal(entry: Mapping[str, Any], link: Link) -> Record:
    """Return an entry (`type` and the fields of that type) as the next record.

    Raises:
        OpenOutcryError: `argument_invalid`: a field is missing, unknown or invalid, or the record exceeds 65,535 bytes.
    """
    given = [name for name in _LINKS if name in entry]
    if given:
        raise refusal(
            "argument_invalid", f"`{given[0]}` is set by the log and must be left out; received {entry[given[0]]!r}"
        )
    text = canonical({**entry, "v": VERSION, "seq": link.seq, "prev_sha256": link.sha256})
    fault = native.log_record_fault(text)
    if fault is not None:
        raise refusal(
            "argument_invalid", f"a valid log record is required; received one of type {entry.get('type')!r}: {fault}"
        )
    content = text.encode()
    return Record(link.seq, content, sha256(content).hexdigest())


# Most probabilities are whole percents, so the cache hits.
@lru_cache(maxsize=4096)
def decimal_text(value: Decimal | float | int) -> str:
    """Return a probability as the shortest decimal string of at most six places.

    A float is read as its shortest decimal representation. More places are rounded half to even.

    Raises:
        OpenOutcryError: `argument_invalid`: the value is not from 0 to 1.
    """
    exact = Decimal(str(value))
    if not (exact.is_finite() and 0 <= exact <= 1):
        raise refusal("argument_invalid", f"a probability must be from 0 to 1; received {value}")
    text = f"{exact.quantize(_PLACES, ROUND_HALF_EVEN):f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def seal_submission(
    members: Sequence[str],
    decisions: Sequence[tuple[str, str, str | None, str | None]],
    link: Link,
    salts: bytes | None = None,
) -> tuple[Record, str]:
    """Return a submission as the next record, and its revealed form as JSON.

    Args:
        members: `submission_id`, `agent_slug`, `received_at`, `snapshot_as_of` and `snapshot_sha256`.
        decisions: Per decision: market id, probability of YES and confidence (decimal strings), reasoning. The last two
            may be None.
        link: The end of the log.
        salts: 32 bytes per decision; random by default. Pass them only to reproduce a record.

    Raises:
        OpenOutcryError: `argument_invalid`: the record would be invalid.
    """
    drawn = token_bytes(32 * len(decisions)) if salts is None else salts
    text, digest, opened = native.log_submission(link, members, decisions, drawn)
    return Record(link.seq, text, digest), opened


def key_fingerprint(key_digest: bytes) -> str:
    """Return the public `key_sha256` of an API key, from the stored SHA-256 digest."""
    return sha256(key_digest).hexdigest()
