"""Hygiene: what a proposal must be before anything of it is evaluated.

Nothing here looks at a result, so what is turned away here is no trial.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.backtest.strategies.parameter_space import Ranges, typed
from openoutcry.errors import refusal
from openoutcry.research.proposal_requests import Proposal

LEAST_RATIONALE = 20
"""Characters of a rationale, blanks apart."""
_LEAST_WORDS = 4
_BOILERPLATE = ("improve performance", "might work", "should work", "try this", "optimize parameters", "n/a", "todo")


@dataclass(frozen=True)
class Candidate:
    """A proposal that may be evaluated.

    Attributes:
        proposal: What was proposed.
        name: What the strategy is called.
        identity: What it is, as content: name and all params, or the hash of its source and those fixed.
        params: All params, defaults too.
        tuned: Names of those that the proposal moved away from their defaults.
        ranges: Ranges of the params; of code, what may be searched.
        description: What it does, in words.
    """

    proposal: Proposal
    name: str
    identity: Mapping[str, Any]
    params: Mapping[str, Any]
    tuned: tuple[str, ...]
    ranges: Ranges = field(default_factory=dict)
    description: str = ""


def canonical(value: Any) -> str:
    """Return plain values as RFC 8785 writes them."""
    return native.canonicalize(json.dumps(value, allow_nan=False))


def digest_of(value: Any) -> str:
    """Return the SHA-256 of plain values, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def check_rationale(rationale: str) -> None:
    """Refuse a rationale that gives no reason.

    Raises:
        OpenOutcryError: `argument_invalid`: it is too short, or says nothing of the hypothesis.
    """
    letters = len(re.sub(r"\s", "", rationale))
    if letters < LEAST_RATIONALE:
        wanted = f"a rationale of at least {LEAST_RATIONALE} characters, blanks apart, is required"
        raise refusal("argument_invalid", f"{wanted}; received {letters}")
    words = {word.lower() for word in re.findall(r"[^\W\d_]{2,}", rationale)}
    bare = " ".join(rationale.lower().split()).strip(" .!")
    if len(words) < _LEAST_WORDS or bare in _BOILERPLATE:
        wanted = f"a rationale must give a reason, in at least {_LEAST_WORDS} different words"
        raise refusal("argument_invalid", f"{wanted}; received {rationale[:80]!r}")


def check_tune(proposal: Proposal, max_tunable: int) -> Candidate:
    """Return the candidate of a known strategy with params.

    What counts as tuned is what differs from the defaults, whatever the proposal says of itself.

    Raises:
        OpenOutcryError: the strategy is unknown, or a param has a value that it cannot have, or too many are moved.
    """
    check_rationale(proposal.rationale)
    kind = LIBRARY.get(proposal.strategy or "")
    if kind is None:
        wanted = f"`strategy` must be one of {', '.join(LIBRARY)}"
        raise refusal("argument_invalid", f"{wanted}; received {str(proposal.strategy)[:80]!r}")
    made = kind(**typed(kind.PARAM_RANGES, proposal.params))
    defaults = {name: told["default"] for name, told in kind.PARAM_RANGES.items()}
    tuned = tuple(name for name, value in made.params.items() if value != defaults[name])
    check_tuned(tuned, max_tunable)
    params = dict(made.params)
    identity = {"strategy": str(proposal.strategy), "params": params}
    described = (kind.__doc__ or "").strip().partition("\n")[0]
    return Candidate(proposal, str(proposal.strategy), identity, params, tuned, kind.PARAM_RANGES, described)


def check_tuned(tuned: tuple[str, ...], max_tunable: int) -> None:
    """Refuse a proposal that moves more params than are allowed.

    Raises:
        OpenOutcryError: `argument_invalid`: so it does.
    """
    if len(tuned) > max_tunable:
        wanted = f"at most {max_tunable} params may differ from their defaults"
        raise refusal("argument_invalid", f"{wanted}; received {len(tuned)}: {', '.join(tuned)}")
