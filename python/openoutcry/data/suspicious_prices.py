"""Prices that are valid and likely mistaken.

Opens on another basis than closes, prices far from their neighbours, and symbols without a close. The rules are those
of the engine, for every language.
"""

from __future__ import annotations

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

_SCALED = "adjust opens, highs and lows as the closes are, or leave their columns out"
_AS_TRADED = 'adjusted="none", `--adjusted none` if all are as quoted'
_TOTAL = 'adjusted="total", `--adjusted total` if the file has a close and an adjusted close'


def check_file(core: native.Dataset, adjusted: str | None) -> tuple[str, ...]:
    """Return notices of the prices of a file or a frame.

    Args:
        core: The market.
        adjusted: What the caller states about the prices; opens on another basis are then a notice.

    Raises:
        OpenOutcryError: `value_invalid`: the opens of a symbol are on another basis than its closes.
    """
    fault = core.open_basis_fault()
    if fault is not None and adjusted is None:
        raise refusal("value_invalid", f"{fault}; hint: {_SCALED}; {_TOTAL}; {_AS_TRADED}")
    never = core.never_closing_notice()
    return (*_of_core(core, fault), *([never] if never is not None else []))


def of_arrays(core: native.Dataset) -> tuple[str, ...]:
    """Return notices of the prices of arrays, in which a symbol may have no close."""
    return _of_core(core, core.open_basis_fault())


def _of_core(core: native.Dataset, fault: str | None) -> tuple[str, ...]:
    return (*([f"{fault}; hint: {_SCALED}"] if fault is not None else []), *core.price_jump_notices())
