"""Encode the decisions of Python agents as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from operator import index
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import is_bool
from openoutcry.errors import refusal


def decision_text(decision: Any) -> str:
    """Return a decision as JSON. A string is returned unchanged, as JSON already."""
    if isinstance(decision, str):
        return decision
    try:
        text = json.dumps(decision, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, native.OpenOutcryError):
            raise
        raise refusal("wrong_type", f"expected a decision of JSON values; received one with {error}") from error
    # NaN and infinities are not JSON. In a weight they have an error of their own; elsewhere the JSON parser raises.
    if "NaN" in text or "Infinity" in text:
        _check_weights(json.loads(text))
    return text


def _check_weights(decision: Any) -> None:
    orders = decision.get("orders") if isinstance(decision, dict) else None
    for place, order in enumerate(orders if isinstance(orders, list) else []):
        weight = order.get("target_weight") if isinstance(order, dict) else None
        if isinstance(weight, float) and not isfinite(weight):
            message = f"`target_weight` of `orders[{place}]` must be finite; received {weight}"
            raise refusal("weight_not_finite", message)


def _plain(value: Any) -> Any:
    """Return a mapping as a dict, and a number of another library as an int or float."""
    if isinstance(value, Mapping):
        return dict(value)
    if is_bool(value):
        return bool(value)
    is_scalar = getattr(value, "ndim", 0) == 0 and not isinstance(value, (complex, np.datetime64, np.timedelta64))
    with suppress(TypeError, ValueError):
        if is_scalar and hasattr(value, "__index__"):
            return index(value)
    with suppress(TypeError, ValueError):
        if is_scalar and hasattr(value, "__float__"):
            return float(value)
    raise refusal("wrong_type", f"expected a number, text, list or dict; received {type(value).__name__} {value!r}")
