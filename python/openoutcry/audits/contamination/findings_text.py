"""Text of a contamination verdict."""

from __future__ import annotations

from openoutcry.audits.contamination.experiment_design import Design
from openoutcry.audits.contamination.paired_differences import Difference

SHORT = {
    ("name", "path"): "has memorized it by name and path",
    ("name",): "depends on real names",
    ("path",): "depends on the order of bars",
    (): "no contamination found",
}
"""Result by significant effects, in a few words."""


def sentence(agent: str, of: tuple[Difference, Difference], found: tuple[str, ...], design: Design) -> str:
    """Format a verdict as a sentence."""
    name, path = of
    share = f"{100.0 * (1.0 - 2.0 * design.level):g} %"
    if len(found) == 2:
        text = f"{agent} has memorized this market: it earns {_estimate(name, share)} more than on masked data"
        text += f", and {_estimate(path, share)} more than on twins"
        return f"{text}; check windows after its training, where memorization has no effect"
    if found:
        return f"{agent} {SHORT[found]}: it earns {_single_effect(found[0], of, share, design)}"
    clean = f"no contamination of {agent} found"
    if name.is_rounding and path.is_rounding:
        return f"{clean}: it earns the same on masked data and on twins, up to rounding"
    if name.is_rounding:
        same = "it earns the same on masked data, up to rounding, and no more on this path than on twins"
        return f"{clean}: {same}; {_detectable(path)} per bar more than on twins is detected with a probability of 80 %"
    effects = [f"{_detectable(name)} per bar more than on masked data"]
    effects += [] if path.is_rounding else [f"{_detectable(path)} more than on twins"]
    return f"{clean}; {' or '.join(effects)} is detected with a probability of 80 %"


def _single_effect(kind: str, of: tuple[Difference, Difference], share: str, design: Design) -> str:
    name, path = of
    if kind == "name":
        text = f"{_estimate(name, share)} more than on masked data, and no more than on twins"
        return f"{text}; this does not separate memorized returns of names from trading only known names"
    cue = "its returns" if design.masking == "full" else f"data that masking level `{design.masking}` keeps"
    text = f"{_estimate(path, share)} more on this path than on twins of it, and no more than on masked data"
    return f"{text}; this does not separate recognition of the path by {cue} from following trends"


def basis_points(value: float | None, signed: bool = True) -> str:
    """Format a return in basis points, or a dash for None."""
    if value is None:
        return "—"
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    rounded = round(1e4 * value, 2) + 0.0
    return f"{rounded:+.2f}" if signed and rounded else f"{rounded:.2f}"


def _estimate(each: Difference, share: str) -> str:
    interval = f"{share} interval {basis_points(each.low)} to {basis_points(each.high)}"
    return f"{basis_points(each.mean, signed=False)} bp per bar ({interval}, p = {each.p_value:.2g})"


def _detectable(each: Difference) -> str:
    return f"{basis_points(each.detectable, signed=False)} bp"
