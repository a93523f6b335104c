"""Library strategies as text: `trend:fast=20,slow=100`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from openoutcry.backtest.strategies import parameter_space
from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.strategies.library import LIBRARY
from openoutcry.backtest.strategies.parameter_space import ParamRange, shown
from openoutcry.errors import refusal

# `module:function` has no `=` after the colon, and a strategy with parameters always has one.
_WITH_PARAMS = re.compile(r"(?!cmd:|https?:)[\w-]+:[^:/]*=.*", re.DOTALL | re.IGNORECASE)
_SIMILARITY, _MOST_DIGITS = 0.6, 40
# Digits of other scripts, underscores, exponents and a plus sign are refused.
_PLAIN = {"int": re.compile(r"-?[0-9]+"), "float": re.compile(r"-?[0-9]+(?:\.[0-9]+)?")}


def is_strategy_text(text: str) -> bool:
    """Return whether a text is `NAME`, `NAME:` or `NAME:PARAM=VALUE,...`.

    The first two need a name of the library; the name of a text with parameters may be unknown.
    """
    return text.removesuffix(":") in LIBRARY or _WITH_PARAMS.fullmatch(text) is not None


def strategy_of_text(text: str) -> Strategy:
    """Return the library strategy of a text; missing parameters take their defaults.

    Raises:
        OpenOutcryError: `unknown_agent`: the library has no such strategy. `argument_invalid`: a parameter is unknown,
            given twice, of the wrong type, out of range or not on its step.
    """
    name, _, rest = text.partition(":")
    kind = LIBRARY.get(name)
    if kind is None:
        wanted = f"a strategy must be one of {', '.join(LIBRARY)}; received {shown(name)}"
        raise refusal("unknown_agent", wanted + _hint(name, LIBRARY, f":{rest}" if rest else ""))
    params: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        param, equals, value = part.partition("=")
        if param.strip() != param or value.strip() != value or not part.strip():
            wanted = f"parameters of `{name}` must be `PARAM=VALUE`, with a comma between two and no spaces"
            raise refusal("argument_invalid", f"{wanted}; received {shown(rest)}; hint: `{_tidied(name, rest)}`")
        if not equals or param not in kind.PARAM_RANGES:
            wanted = f"parameters of `{name}` must be {_described(kind)}; received {shown(part)}"
            raise refusal("argument_invalid", wanted + _hint(param, kind.PARAM_RANGES))
        if param in params:
            hint = f"hint: omit one of the values of `{param}`"
            raise refusal("argument_invalid", f"`{param}` must be given once; received {shown(rest)}; {hint}")
        params[param] = _value(param, kind.PARAM_RANGES[param], value)
    return kind(**params)


def text_of_strategy(strategy: Strategy) -> str:
    """Return name and all parameters as text.

    For a library strategy, `strategy_of_text` reads it back.
    """
    return call_text(strategy.name, strategy.params)


def call_text(name: str, params: Mapping[str, Any]) -> str:
    """Return a name and parameters as text; the name alone without any."""
    text = ",".join(f"{param}={_written(value)}" for param, value in params.items())
    return f"{name}:{text}" if text else name


def _written(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _value(name: str, spec: ParamRange, text: str) -> Any:
    """Return a value with the type of its range; numbers are plain decimal digits.

    Raises:
        OpenOutcryError: `argument_invalid`: the text is not such a value.
    """
    if spec["type"] == "categorical":
        found: Any = next((each for each in spec["choices"] if _written(each) == text), text)
        return parameter_space.typed_value(name, spec, found)
    if (number := _number(spec, text)) is None:
        similar = _number(spec, unicodedata.normalize("NFKC", text[:_MOST_DIGITS]).replace("_", "").removesuffix(".0"))
        is_valid = similar is not None and spec["min"] <= similar <= spec["max"]
        hint = f"hint: plain decimal digits, such as `{name}={_written(similar if is_valid else spec['default'])}`"
        wanted = parameter_space.wanted_number(name, spec)
        raise refusal("argument_invalid", f"{wanted}; received {shown(text)}; {hint}")
    return parameter_space.typed_value(name, spec, number)


def _number(spec: ParamRange, text: str) -> int | float | None:
    """Return the number of a text of plain decimal digits, else None."""
    if len(text) > _MOST_DIGITS or _PLAIN[spec["type"]].fullmatch(text) is None:
        return None
    return int(text) if spec["type"] == "int" else float(text)


def _tidied(name: str, rest: str) -> str:
    """Return a text without spaces and empty parts."""
    parts = ("=".join(each.strip() for each in part.split("=")) for part in rest.split(","))
    return shown(f"{name}:{','.join(filter(None, parts))}")[1:-1]


def _described(kind: type[Strategy]) -> str:
    texts = []
    for name, spec in kind.PARAM_RANGES.items():
        is_choice = spec["type"] == "categorical"
        values = "|".join(map(_written, spec["choices"])) if is_choice else f"{spec['min']}..{spec['max']}"
        values += f" step {spec['step']}" if spec.get("step", 1) != 1 else ""
        texts.append(f"{name}={values}")
    return ", ".join(texts)


def _hint(name: str, known: Mapping[str, Any], rest: str = "") -> str:
    similar = get_close_matches(name.lower(), known, 1, _SIMILARITY) if len(name) <= 40 else []
    return f"; hint: `{similar[0]}{rest}`" if similar else ""
