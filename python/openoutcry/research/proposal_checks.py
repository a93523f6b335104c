"""Checks of a proposal before any evaluation.

They do not depend on results, so a rejected proposal is no trial.
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
from openoutcry.research.source_information import Information

LEAST_RATIONALE = 20
"""Minimum characters of a rationale, without white space."""
_LEAST_WORDS = 4
_BOILERPLATE = ("improve performance", "might work", "should work", "try this", "optimize parameters", "n/a", "todo")


@dataclass(frozen=True)
class Candidate:
    """A proposal that passed the checks.

    Attributes:
        proposal: The proposal.
        name: Name of the strategy.
        identity: Content that identifies it: name and all params, or the hash of its source and its fixed params.
        params: All params, including defaults.
        tuned: Names of the params that the proposal moved from their defaults.
        ranges: Ranges of the params; for code, those to tune.
        description: One-line description.
        information: What its source carries besides its logic; None for a strategy of the library.
    """

    proposal: Proposal
    name: str
    identity: Mapping[str, Any]
    params: Mapping[str, Any]
    tuned: tuple[str, ...]
    ranges: Ranges = field(default_factory=dict)
    description: str = ""
    information: Information | None = None


def canonical(value: Any) -> str:
    """Return plain values as canonical JSON (RFC 8785)."""
    return native.canonicalize(json.dumps(value, allow_nan=False))


def digest_of(value: Any) -> str:
    """Return the SHA-256 of plain values, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def check_rationale(rationale: str) -> None:
    """Refuse a rationale without a reason.

    Raises:
        OpenOutcryError: `argument_invalid`: it is too short, or boilerplate.
    """
    letters = len(re.sub(r"\s", "", rationale))
    if letters < LEAST_RATIONALE:
        wanted = f"a rationale of at least {LEAST_RATIONALE} characters without white space is required"
        raise refusal("argument_invalid", f"{wanted}; received {letters}")
    words = {word.lower() for word in re.findall(r"[^\W\d_]{2,}", rationale)}
    bare = " ".join(rationale.lower().split()).strip(" .!")
    if len(words) < _LEAST_WORDS or bare in _BOILERPLATE:
        wanted = f"a rationale must give a reason, in at least {_LEAST_WORDS} different words"
        raise refusal("argument_invalid", f"{wanted}; received {rationale[:80]!r}")


def check_tune(proposal: Proposal, max_tunable: int) -> Candidate:
    """Return the candidate of a library strategy with params.

    Params count as tuned if they differ from their defaults.

    Raises:
        OpenOutcryError: the strategy is unknown, a param has an invalid value, or too many params are moved.
    """
    check_rationale(proposal.rationale)
    kind = LIBRARY.get(proposal.strategy or "")
    if kind is None:
        wanted = f"`strategy` must be one of {', '.join(LIBRARY)}"
        raise refusal("argument_invalid", f"{wanted}; received {str(proposal.strategy)[:80]!r}")
    strategy = kind(**typed(kind.PARAM_RANGES, proposal.params))
    defaults = {name: spec["default"] for name, spec in kind.PARAM_RANGES.items()}
    tuned = tuple(name for name, value in strategy.params.items() if value != defaults[name])
    check_tuned(tuned, max_tunable)
    params = dict(strategy.params)
    identity = {"strategy": str(proposal.strategy), "params": params}
    described = (kind.__doc__ or "").strip().partition("\n")[0]
    return Candidate(proposal, str(proposal.strategy), identity, params, tuned, kind.PARAM_RANGES, described)


def check_tuned(tuned: tuple[str, ...], max_tunable: int) -> None:
    """Refuse a proposal that moves too many params.

    Raises:
        OpenOutcryError: `argument_invalid`: it does.
    """
    if len(tuned) > max_tunable:
        wanted = f"at most {max_tunable} params may differ from their defaults"
        raise refusal("argument_invalid", f"{wanted}; received {len(tuned)}: {', '.join(tuned)}")
