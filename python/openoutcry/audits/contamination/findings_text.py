"""The verdict in words."""

from __future__ import annotations

from openoutcry.audits.contamination.experiment_design import Design
from openoutcry.audits.contamination.paired_differences import Difference

SHORT = {
    ("name", "path"): "remembers it by name and path",
    ("name",): "trades otherwise under other names",
    ("path",): "trades on the order of bars",
    (): "no contamination found",
}
"""What was found, in a few words."""


def sentence(agent: str, of: tuple[Difference, Difference], found: tuple[str, ...], design: Design) -> str:
    """Return a verdict by name and path as a sentence for people."""
    name, path = of
    share = f"{100.0 * (1.0 - 2.0 * design.level):g} %"
    if len(found) == 2:
        told = f"{agent} remembers this market: it earns {_sure(name, share)} more than in disguise"
        told += f", and {_sure(path, share)} more than on twins"
        return f"{told}; on windows after its training, memory earns neither"
    if found:
        return f"{agent} {SHORT[found]}: it earns {_one_alone(found[0], of, share, design)}"
    clean = f"no contamination of {agent} found"
    if name.is_rounding and path.is_rounding:
        return f"{clean}: it earns the same in disguise and on twins, to rounding"
    if name.is_rounding:
        same = "it earns the same in disguise, to rounding, and no more on this path than on twins"
        return f"{clean}: {same}; {_seen(path)} a bar more than on twins would have been found four times in five"
    seen = [f"{_seen(name)} a bar more than in disguise"]
    seen += [] if path.is_rounding else [f"{_seen(path)} more than on twins"]
    return f"{clean}; {' or '.join(seen)} would have been found four times in five"


def _one_alone(kind: str, of: tuple[Difference, Difference], share: str, design: Design) -> str:
    name, path = of
    if kind == "name":
        told = f"{_sure(name, share)} more than in disguise, and no more than on twins"
        return f"{told}; who remembers how names fared cannot be told from who trades only what it knows"
    left = "its returns" if design.masking == "full" else f"what a disguise of {design.masking} leaves"
    told = f"{_sure(path, share)} more on this path than on twins of it, and no more than in disguise"
    return f"{told}; who recognises the path by {left} cannot be told from who follows what lasts for some bars"


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
