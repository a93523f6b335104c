"""Cautions about a candidate, and what the checks of a session cannot see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from openoutcry.openoutcry_py import normal_quantile
from openoutcry.research.acceptance_gates import IMPLAUSIBLE_SHARPE
from openoutcry.research.selection_luck import NOTHING_LEFT, Luck
from openoutcry.research.source_information import (
    MAX_CODE_NODES,
    MAX_LITERAL_BITS,
    MAX_SHAPE_BITS,
    MAX_TREE_BITS,
    Information,
    storable_sharpe,
)
from openoutcry.research.trial_scores import OosScore
from openoutcry.untrusted.counted_nouns import counted

EVEN, SURE = 0.5, 0.95
"""Levels of the deflated Sharpe ratio: no better than chance, and significant at 5 %."""


def implausible(sharpe: float | None, where: str, *, is_code: bool) -> Iterator[str]:
    """Yield the caution about a Sharpe ratio above `IMPLAUSIBLE_SHARPE`.

    Args:
        sharpe: Annualised Sharpe ratio; None if undefined.
        where: Where it was measured, such as `out of sample`.
        is_code: Whether the strategy is generated code.
    """
    if sharpe is not None and sharpe > IMPLAUSIBLE_SHARPE:
        text = f"its Sharpe ratio of {sharpe:.2f} {where} is above {IMPLAUSIBLE_SHARPE:g} and calls for a second look"
        yield f"{text}: {'hindsight in its code, ' if is_code else ''}an error in the data, or costs that are too low"


def of_luck(luck: Luck) -> Iterator[str]:
    """Yield cautions about deflated Sharpe ratios."""
    if luck.dsr is None:
        return
    if luck.dsr_alpha is None:
        yield luck.alpha_undefined or NOTHING_LEFT
    elif luck.dsr_alpha <= EVEN:
        yield f"its DSR in excess of the market is {luck.dsr_alpha:.3f}"
    if luck.dsr_spread is not None and luck.dsr_spread < SURE < luck.dsr:
        yield f"its DSR is {luck.dsr_spread:.3f} when deflated by the spread of the trials' Sharpe ratios"


def of_constants(found: Information | None, oos: OosScore) -> Iterator[str]:
    """Yield the caution that constants of code could store the observed ratio.

    Args:
        found: Information of the code; None for a library strategy.
        oos: Out-of-sample score of the strategy.
    """
    periods_per_year = oos.periods_per_year
    if found is None or oos.sharpe is None or periods_per_year is None:
        return
    n_bars, bits = len(oos.returns), found.literal_bits + (found.constant_bits or 0)
    most = storable_sharpe(bits, n_bars, periods_per_year)
    if not bits or oos.sharpe > most + normal_quantile(SURE) * sqrt(periods_per_year / n_bars):
        return
    stored = f"its constants hold {counted(bits, 'bit')}, which could store a Sharpe ratio of up to {most:.1f}"
    seen = f"over {counted(n_bars, 'bar')} in hindsight: its ratio of {oos.sharpe:.2f} is not clearly above that"
    yield f"{stored} {seen}"


def of_information(found: Information | None, n_returns: int, periods_per_year: float) -> Iterator[str]:
    """Yield what generated code could hold in literals, constants and its tree."""
    if found is None or n_returns <= 0:
        return
    most = storable_sharpe(found.total_bits, n_returns, periods_per_year)
    constant = found.literal_bits + (found.constant_bits or 0)
    tree, allowed = (found.shape_bits, MAX_SHAPE_BITS) if found.tree_bits is None else (found.tree_bits, MAX_TREE_BITS)
    text = f"its code holds {found.total_bits:,} bits: {found.literal_bits:,} in literals, {tree:,} in its syntax tree"
    limits = f"{constant:,} of {MAX_LITERAL_BITS:,} allowed are constant, and {tree:,} of {allowed:,} are syntax tree"
    yield f"{text} ({limits}): hindsight in as many bits could store a Sharpe ratio of {most:.1f} over these bars"


def cannot_see(config: Mapping[str, Any], *, holdout_opened: bool) -> list[str]:
    """Return what the checks of a session cannot see.

    Args:
        config: Configuration of the session, as recorded.
        holdout_opened: Whether the holdout was opened.
    """
    found = [
        "trials on other ledgers, and results that a person or a model knew before the session",
        "crash risk that did not occur in these bars, and market impact beyond the cost model",
    ]
    if config["allow_code"]:
        found += [
            f"hindsight within the budgets of generated code: {MAX_LITERAL_BITS:,} bits of literals and constant "
            f"expressions, {MAX_TREE_BITS:,} bits and {MAX_CODE_NODES:,} nodes of syntax tree, and the values of its "
            "params",
            "fits by constants that are not redrawn: short numbers and words, indices, signs, the choice of features",
            "look-ups by features that survive the disguise, such as large returns or patterns of few bars",
            "what a language model remembers of these dates, as far as it enters the logic",
        ]
        if config["gates"].get("max_disguise_loss") is None:
            found.append("look-ups by price level, because the gate `disguise` is off")
    if not holdout_opened:
        found.append("the holdout, which was not opened")
    return found
