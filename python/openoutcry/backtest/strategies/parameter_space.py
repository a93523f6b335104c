"""Parameter ranges of strategies: validation, sampling and neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import floor, isfinite
from typing import Any, TypedDict

import numpy as np

from openoutcry.arguments import is_bool, is_integer
from openoutcry.errors import refusal

Value = int | float | str | bool

_FIELDS = {
    "int": {"type", "min", "max", "step", "default"},
    "float": {"type", "min", "max", "step", "default"},
    "categorical": {"type", "choices", "default"},
}
_LARGEST = 2**53
_MOST_STEPS = 10**9
_SHOWN = 80


class ParamRange(TypedDict, total=False):
    """The range of one parameter.

    Attributes:
        type: `int`, `float` or `categorical`.
        min: Least value, finite.
        max: Largest value, finite and above `min`.
        step: Distance between values, starting at `min`; 1 by default for an `int`.
        choices: Values of a `categorical`: strings, numbers or bools.
        default: Default value.
    """

    type: str
    min: int | float
    max: int | float
    step: int | float
    choices: Sequence[Value]
    default: Value


Ranges = Mapping[str, ParamRange]


def shown(value: Any) -> str:
    """Return a short representation of any value, for a message."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 `repr` of an untrusted object may raise anything
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def check_ranges(ranges: Any) -> None:
    """Check the ranges of a strategy.

    Raises:
        OpenOutcryError: `argument_invalid`: the message names the parameter.
    """
    if not isinstance(ranges, Mapping):
        raise refusal("argument_invalid", f"`PARAM_RANGES` must be a mapping; received {shown(ranges)}")
    for name, spec in ranges.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            raise refusal("argument_invalid", f"a parameter's name must be an identifier; received {shown(name)}")
        _check_spec(name, spec)


def _check_spec(name: str, spec: Any) -> None:
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        wanted = f"the range of `{name}` must have a `type` of int, float or categorical"
        raise refusal("argument_invalid", f"{wanted}; received {shown(spec)}")
    needed = _FIELDS[kind] - {"step"}
    if not needed <= set(spec) <= _FIELDS[kind]:
        wanted = f"the range of `{name}` must have the fields {', '.join(sorted(needed))}"
        raise refusal("argument_invalid", f"{wanted}; received {shown(spec)}")
    if kind == "categorical":
        _check_choices(name, spec["choices"])
    else:
        _check_numbers(name, spec)
    typed_value(name, spec, spec["default"])


def _check_choices(name: str, choices: Any) -> None:
    is_list = isinstance(choices, (list, tuple)) and len(choices) > 0
    if not is_list or not all(_is_plain(each) for each in choices):
        wanted = f"`choices` of `{name}` must be a list of strings, finite numbers or bools"
        raise refusal("argument_invalid", f"{wanted}; received {shown(choices)}")
    if len({(type(each), each) for each in choices}) != len(choices):
        raise refusal("argument_invalid", f"`choices` of `{name}` must differ; received {shown(choices)}")


def _check_numbers(name: str, spec: Mapping[str, Any]) -> None:
    is_int = spec["type"] == "int"
    for field in (each for each in ("min", "max", "step") if each in spec):
        value = spec[field]
        is_number = type(value) is int or (not is_int and type(value) is float)
        if not is_number or not -_LARGEST <= value <= _LARGEST:
            wanted = f"`{field}` of `{name}` must be a finite {spec['type']} of at most 2^53"
            raise refusal("argument_invalid", f"{wanted}; received {shown(value)}")
    if not spec["min"] < spec["max"]:
        received = f"{shown(spec['min'])} and {shown(spec['max'])}"
        raise refusal("argument_invalid", f"`min` of `{name}` must be below `max`; received {received}")
    step = _step(spec)
    if step is not None and not (step > 0 and 1 <= (spec["max"] - spec["min"]) / step <= _MOST_STEPS):
        wanted = f"`step` of `{name}` must be above 0 and go into `max - min` 1 to {_MOST_STEPS:,} times"
        raise refusal("argument_invalid", f"{wanted}; received {shown(step)}")


def _is_plain(value: Any) -> bool:
    return type(value) in (str, bool, int) or (type(value) is float and isfinite(value))


def n_values(spec: Mapping[str, Any]) -> int | None:
    """Return the number of values of a range; None for a float without a step."""
    if spec["type"] == "categorical":
        return len(spec["choices"])
    if (step := _step(spec)) is None:
        return None
    return int((_exact(spec["max"]) - _exact(spec["min"])) // _exact(step)) + 1


def value_at(spec: Mapping[str, Any], index: int) -> Value:
    """Return the value at an index of the grid of a range.

    The arithmetic is decimal: 0.3, not 3 x 0.1.
    """
    if spec["type"] == "categorical":
        choice: Value = spec["choices"][index]
        return choice
    exact = _exact(spec["min"]) + index * _exact(_step(spec) or 1)
    return int(exact) if spec["type"] == "int" else float(exact)


def typed(ranges: Ranges, params: Mapping[str, Any]) -> dict[str, Value]:
    """Return all parameters of checked ranges, typed, in the order of the ranges.

    Missing parameters take their defaults.

    Raises:
        OpenOutcryError: `argument_invalid`: a parameter is unknown, of the wrong type, out of range or not on its step.
    """
    for name in params:
        if name not in ranges:
            known = ", ".join(ranges) or "none"
            raise refusal("argument_invalid", f"parameters must be among {known}; received {shown(name)}")
    return {name: typed_value(name, spec, params.get(name, spec["default"])) for name, spec in ranges.items()}


def typed_value(name: str, spec: Mapping[str, Any], value: Any) -> Value:
    """Return a value converted to the type of its range.

    An integer is accepted as a float. A bool is not accepted as a number, nor 1.0 as an integer.
    """
    if spec["type"] == "categorical":
        for choice in spec["choices"]:
            if type(choice) is type(value) and choice == value:
                equal: Value = choice
                return equal
        raise refusal("argument_invalid", f"`{name}` must be among {shown(spec['choices'])}; received {shown(value)}")
    is_int = spec["type"] == "int"
    is_number = is_integer(value) or (not is_int and isinstance(value, (float, np.floating)))
    if is_bool(value) or not is_number or not spec["min"] <= value <= spec["max"]:
        raise refusal("argument_invalid", f"{wanted_number(name, spec)}; received {shown(value)}")
    # Adding 0.0 turns -0.0 into 0.0, so that equal values are one configuration.
    number = int(value) if is_int else float(value) + 0.0
    if (step := _step(spec)) is not None:
        place = round((_exact(number) - _exact(spec["min"])) / _exact(step))
        if value_at(spec, place) != number:
            wanted = f"`{name}` must be {spec['min']} plus a multiple of {step}"
            raise refusal("argument_invalid", f"{wanted}; received {shown(value)}")
    return number


def wanted_number(name: str, spec: Mapping[str, Any]) -> str:
    """Return what a number of a range must be, for a message."""
    kind = "an integer" if spec["type"] == "int" else "a number"
    return f"`{name}` must be {kind} from {spec['min']} to {spec['max']}"


def sample(ranges: Ranges, rng: np.random.Generator) -> dict[str, Value]:
    """Return parameters drawn uniformly from the values of each range."""
    drawn: dict[str, Value] = {}
    for name, spec in ranges.items():
        count = n_values(spec)
        if count is None:
            low, high = float(spec["min"]), float(spec["max"])
            drawn[name] = low + (high - low) * float(rng.random())
        else:
            drawn[name] = value_at(spec, int(rng.integers(count)))
    return typed(ranges, drawn)


def neighbours(ranges: Ranges, params: Mapping[str, Any], share: float = 0.1) -> list[dict[str, Value]]:
    """Return variants of the parameters with one number moved down or up.

    A number moves by at least one step, and stays in its range; a variant that would not differ is omitted. Categorical
    parameters do not change.

    Args:
        ranges: Checked ranges.
        params: Base parameters; missing ones take their defaults.
        share: Fraction of a value by which it moves.
    """
    base = typed(ranges, params)
    moved = ((name, value) for name, spec in ranges.items() for value in _moved(spec, base[name], share))
    return [base | {name: value} for name, value in moved if value != base[name]]


def _moved(spec: Mapping[str, Any], value: Any, share: float) -> Iterator[Value]:
    if spec["type"] == "categorical":
        return
    least, most = spec["min"], spec["max"]
    count, reach = n_values(spec), abs(value) * share
    if count is None:
        # A fraction of 0 is 0: use the width of the range instead.
        reach = reach or (most - least) * share
        yield from (float(min(max(value + reach * side, least), most)) for side in (-1, 1))
        return
    step = _step(spec) or 1
    place = round((_exact(value) - _exact(least)) / _exact(step))
    n_steps = max(1, floor(reach / step + 0.5))
    yield from (value_at(spec, min(max(place + n_steps * side, 0), count - 1)) for side in (-1, 1))


def _step(spec: Mapping[str, Any]) -> Any:
    return spec.get("step", 1 if spec["type"] == "int" else None)


def _exact(value: Any) -> Decimal:
    """Return a number as the decimal of its shortest representation."""
    return Decimal(repr(value))
