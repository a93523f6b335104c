"""The verdict in words."""

from __future__ import annotations

from openoutcry.contamination.design import Design
from openoutcry.contamination.paired import Difference


def sentence(agent: str, of: tuple[Difference, Difference], found: tuple[str, ...], design: Design) -> str:
    """Return a verdict by name and path as a sentence for people."""
    name, path = of
    share = f"{100.0 * (1.0 - 2.0 * design.level):g} %"
    if "name" in found:
        told = (
            f"{agent} remembers this market by name, date or price: it earns {_sure(name, share)} more than in disguise"
        )
        return told + (f", and {_sure(path, share)} more than on twins" if "path" in found else "")
    if "path" in found:
        told = f"{agent} earns {_sure(path, share)} more on this path than on twins of it, and no more than in disguise"
        return f"{told}: it recognises the path by its returns, or trades on what lasts for more than a few bars"
    clean = f"no contamination of {agent} found"
    if name.is_rounding and path.is_rounding:
        return f"{clean}: it earns the same in disguise and on twins, to rounding"
    if name.is_rounding:
        same = "it earns the same in disguise, to rounding, and no more on this path than on twins"
        return f"{clean}: {same}; {_seen(path)} a bar more than on twins would have been found four times in five"
    seen = [f"{_seen(name)} a bar more than in disguise"]
    seen += [] if path.is_rounding else [f"{_seen(path)} more than on twins"]
    return f"{clean}; {' or '.join(seen)} would have been found four times in five"


def basis_points(value: float | None, signed: bool = True) -> str:
    """Return a return in basis points, or a dash."""
    if value is None:
        return "—"
    # Rounding has a sign, and 0 should not.
    rounded = round(1e4 * value, 2) + 0.0
    return f"{rounded:+.2f}" if signed and rounded else f"{rounded:.2f}"


def _sure(each: Difference, share: str) -> str:
    interval = f"{share} interval {basis_points(each.low)} to {basis_points(each.high)}"
    return f"{basis_points(each.mean, signed=False)} bp a bar ({interval}, p = {each.p_value:.2g})"


def _seen(each: Difference) -> str:
    return f"{basis_points(each.detectable, signed=False)} bp"
