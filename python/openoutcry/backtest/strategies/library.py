"""Library of six classic strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.strategies.candidate_file import CandidateFile, value_of_json
from openoutcry.backtest.strategies.mean_reversion import MeanReversion
from openoutcry.backtest.strategies.momentum import Momentum
from openoutcry.backtest.strategies.pairs import Pairs
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.backtest.strategies.risk_parity import RiskParity
from openoutcry.backtest.strategies.trend import Trend
from openoutcry.backtest.strategies.volatility_target import VolatilityTarget
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_stream

_CLASSES: tuple[type[Strategy], ...] = (Trend, MeanReversion, Momentum, VolatilityTarget, Pairs, RiskParity)

LIBRARY: Mapping[str, type[Strategy]] = MappingProxyType({kind.NAME: kind for kind in _CLASSES})
"""Strategy classes by name."""


def from_json(value: Any) -> Strategy:
    """Return the library strategy of a `Strategy.to_json` object or a candidate.

    Missing parameters take their defaults.

    Args:
        value: The object or the content of a candidate's file, as a mapping or as JSON text.

    Raises:
        OpenOutcryError: `argument_invalid`: the text is not JSON, the name is unknown, a parameter is invalid, the
            candidate is invalid or edited, or it is code, which runs in the sandbox only.
    """
    if isinstance(value, (str, bytes, bytearray)):
        value = _parsed(value)
    if isinstance(value, Mapping) and "format" in value:
        return _of_candidate(value)
    if not isinstance(value, Mapping) or not {"strategy"} <= set(value) <= {"strategy", "params"}:
        raise refusal("argument_invalid", f"a strategy must have `strategy` and `params`; received {shown(value)}")
    name, params = value["strategy"], value.get("params", {})
    if not isinstance(name, str) or name not in LIBRARY:
        raise refusal("argument_invalid", f"a strategy must be one of {', '.join(LIBRARY)}; received {shown(name)}")
    if not isinstance(params, Mapping) or not all(isinstance(each, str) for each in params):
        raise refusal("argument_invalid", f"`params` must be an object; received {shown(params)}")
    return LIBRARY[name](**params)


def _parsed(text: str | bytes | bytearray) -> Any:
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    try:
        return value_of_json(read_stream(BytesIO(content), DOCUMENT_BYTES, "the text", "a strategy"))
    except OpenOutcryError:
        raise
    except (ValueError, RecursionError) as error:
        raise refusal("argument_invalid", f"a strategy must be JSON; received a text with {error}") from error


def _of_candidate(content: Mapping[str, Any]) -> Strategy:
    """Return the strategy of the content of a candidate's file, which it keeps."""
    found = CandidateFile.of(dict(content))
    if "source" in content:
        hint = "hint: `openoutcry.research.candidate_agents.load_candidate` runs it in the sandbox"
        raise refusal("argument_invalid", f"a candidate must be a library strategy; received code; {hint}")
    strategy = from_json({name: content[name] for name in ("strategy", "params")})
    strategy.candidate_file = found
    return strategy


def catalogue() -> dict[str, dict[str, Any]]:
    """Return the description and parameter ranges of each library strategy.

    The form is `{name: {"description": ..., "ranges": PARAM_RANGES}}`.
    """
    return {
        name: {
            "description": kind.describe(),
            "ranges": {param: dict(spec) for param, spec in kind.PARAM_RANGES.items()},
        }
        for name, kind in LIBRARY.items()
    }
