"""Colours of the report, for light and dark pages.

The categorical colours come from a farthest-point search over simulated protanopia, deuteranopia and tritanopia
(Machado et al. 2009); the first eight are distinguishable for every reader. `tests/report/test_report.py` checks the
contrast of every pair used for text.
"""

from __future__ import annotations

__all__ = ["COLOURS", "GAINS", "LOSSES", "SERIES", "contrast", "css_variables", "relative_luminance", "rgb"]

COLOURS: dict[str, tuple[str, str]] = {
    "page": ("#fbfbfc", "#111417"),
    "surface": ("#ffffff", "#16191d"),
    "ink": ("#16191d", "#e9ebee"),
    "muted": ("#59616b", "#a3abb5"),
    "rule": ("#dfe3e8", "#2d333a"),
    "grid": ("#e9ecf0", "#272c32"),
    "zero": ("#9aa3ad", "#5f6974"),
    "link": ("#1b5fb8", "#8bbafa"),
    "agent": ("#1b5fb8", "#6aa6f8"),
    "agent-fill": ("#dbe7f6", "#1c2f49"),
    "benchmark": ("#6b737d", "#9aa3ad"),
    "delayed": ("#b9540a", "#f0934a"),
    "luck": ("#7a5c99", "#b39ad0"),
}
"""Role to `(light, dark)`."""

SERIES: tuple[tuple[str, str], ...] = (
    ("#1b5fb8", "#6aa6f8"),
    ("#d1620a", "#f0934a"),
    ("#704547", "#8f696f"),
    ("#ba7aab", "#cfbb9a"),
    ("#8b320b", "#a9c0de"),
    ("#928e64", "#a85e36"),
    ("#514d72", "#786b9e"),
    ("#4f84fe", "#4970c6"),
    ("#9c81dc", "#74a2a4"),
    ("#528679", "#8f8664"),
    ("#d33a3e", "#f4ab77"),
    ("#9c5eaa", "#7c9217"),
    ("#828a94", "#7a838d"),
)
"""Categorical colours as `(light, dark)`; the last, a grey, is reserved for "other"."""

GAINS: tuple[tuple[str, str], ...] = (
    ("#eaf1fa", "#1a2431"),
    ("#c6dbf4", "#1c3656"),
    ("#9cc2ec", "#1f4a7d"),
    ("#6ba3df", "#245f9f"),
)
LOSSES: tuple[tuple[str, str], ...] = (
    ("#fdf1e5", "#2b221a"),
    ("#fbdabb", "#4a311a"),
    ("#f4b983", "#694015"),
    ("#e8964d", "#874d10"),
)
"""Cells of the monthly table, faint to strong; blue and orange are safe for colour-blind readers."""


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the three channels of a `#rrggbb` colour, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def relative_luminance(colour: str) -> float:
    """Return the relative luminance of a `#rrggbb` colour (WCAG 2.2)."""
    channels = [c / 255 for c in rgb(colour)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two `#rrggbb` colours, 1 to 21 (WCAG 2.2)."""
    low, high = sorted((relative_luminance(first), relative_luminance(second)))
    return (high + 0.05) / (low + 0.05)


def css_variables(selector: str) -> str:
    """Return the rules that set every colour variable on `selector`, in both schemes.

    The dark rules apply to `screen` only: paper is always light.
    """
    light, dark = (_declarations(scheme) for scheme in (0, 1))
    return (
        f"{selector}{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}\n"
    )


def _declarations(scheme: int) -> str:
    named = [(name, pair[scheme]) for name, pair in COLOURS.items()]
    named += [(f"s{i}", pair[scheme]) for i, pair in enumerate(SERIES)]
    named += [(f"g{i}", pair[scheme]) for i, pair in enumerate(GAINS)]
    named += [(f"l{i}", pair[scheme]) for i, pair in enumerate(LOSSES)]
    return "".join(f"--{name}:{colour};" for name, colour in named)
