"""Records of the log, and the commitments in them.

A record is an object with `v`, `type`, `seq` and `prev_sha256`, and the members of its type. Numbers are integers, or
decimals as texts: no reader needs to print a float.
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
"""What the first record names as the hash before it."""

_PLACES = Decimal("0.000001")
_LINKS = ("prev_sha256", "seq", "v")


class Link(NamedTuple):
    """The end of a log: the number that comes next, and the hash it must name."""

    seq: int = 0
    sha256: str = GENESIS


class Record(NamedTuple):
    """A record in its place: the leaf, which is the line without its end."""

    seq: int
    text: bytes
    sha256: str

    @property
    def link(self) -> Link:
        """What the next record names."""
        return Link(self.seq + 1, self.sha256)

    def members(self) -> dict[str, Any]:
        """Return the record as an object."""
        found: dict[str, Any] = json.loads(self.text)
        return found


def canonical(value: Any) -> str:
    """Return a value as RFC 8785 canonical JSON.

    Raises:
        OpenOutcryError: `bad_json`: it holds a lone surrogate.
    """
    return native.canonicalize(json.dumps(value, allow_nan=False))


def seal(entry: Mapping[str, Any], link: Link) -> Record:
    """Return an entry, the members of a type and `type`, as the next record.

    Raises:
        OpenOutcryError: `argument_invalid`: a member is missing, unknown or not what its type says, or the record takes
            more than 65,535 bytes.
    """
    given = [name for name in _LINKS if name in entry]
    if given:
        raise refusal("argument_invalid", f"`{given[0]}` must be left to the log; received {entry[given[0]]!r}")
    text = canonical({**entry, "v": VERSION, "seq": link.seq, "prev_sha256": link.sha256})
    fault = native.log_record_fault(text)
    if fault is not None:
        raise refusal("argument_invalid", f"a record must be one of the log: {fault}")
    content = text.encode()
    return Record(link.seq, content, sha256(content).hexdigest())


# Most are whole percents.
@lru_cache(maxsize=4096)
def decimal_text(value: Decimal | float | int) -> str:
    """Return a probability as the shortest decimal of at most six places.

    A float is taken for the decimal that it prints as. What has more places is rounded, half to even.

    Raises:
        OpenOutcryError: `argument_invalid`: it is not from 0 to 1.
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
    """Return a submission as the next record, and the JSON of what opens it.

    Args:
        members: `submission_id`, `agent_slug`, `received_at`, `snapshot_as_of` and `snapshot_sha256`.
        decisions: Of each: market, probability of YES and confidence or none as decimal texts, reasoning or none.
        link: The end of the log.
        salts: 32 bytes of each decision; drawn by default, as they must be unless they are repeated.

    Raises:
        OpenOutcryError: `argument_invalid`: it is no record's.
    """
    drawn = token_bytes(32 * len(decisions)) if salts is None else salts
    text, digest, opened = native.log_submission(link, members, decisions, drawn)
    return Record(link.seq, text, digest), opened


def key_fingerprint(key_digest: bytes) -> str:
    """Return the `key_sha256` of a key whose SHA-256 digest is kept: no credential."""
    return sha256(key_digest).hexdigest()
