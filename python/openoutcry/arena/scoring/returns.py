"""Paper positions against the mid, and what they earned (R-50, R-51)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from openoutcry.arena.scoring.exact import UNIT, Whole, fraction_sum, millionths
from openoutcry.arena.scoring.facts import Parameters
from openoutcry.arena.scoring.selection import Forecasts


def fee(price: Fraction, rules: Parameters) -> Fraction:
    """Return the fee of a stake at a price: a share of contracts times both prices, rounded up to a step."""
    if rules.fee_model == "none":
        return Fraction(0)
    step = Fraction(rules.fee_step)
    # Contracts times price is the stake.
    exact = Fraction(rules.fee_rate) * Fraction(rules.stake) * (1 - price)
    return -(-exact // step) * step


def profit(price: Fraction, won: bool, rules: Parameters) -> Fraction:
    """Return what a stake at a price earns, after its fee."""
    stake = Fraction(rules.stake)
    return (stake / price if won else Fraction(0)) - stake - fee(price, rules)


def sides(forecasts: Forecasts) -> Whole:
    """Return the side of each forecast: 1 for YES, -1 for NO, 0 for none."""
    rules = forecasts.facts.parameters
    edge, mid = millionths(rules.edge), forecasts.prices["mid"]
    sure = (forecasts.confidence >= millionths(rules.min_confidence)) & (mid > 0) & (mid < UNIT)
    away = forecasts.probability - mid
    return np.where(sure & (away > edge), 1, np.where(sure & (away < -edge), -1, 0))


def entries(forecasts: Forecasts, side: Whole, at_touch: bool) -> Whole:
    """Return the price of each position in millionths, not above 0 or not below 1 where there is none.

    At the touch YES is bought at the ask and NO at 1 less the bid, else both at the mid.
    """
    yes, no = (forecasts.prices[name] for name in (("ask", "bid") if at_touch else ("mid", "mid")))
    return np.where(side > 0, yes, np.where((side < 0) & (no >= 0), UNIT - no, UNIT))


def on_investment(forecasts: Forecasts, side: Whole, at_touch: bool = False) -> list[tuple[Fraction | None, int]]:
    """Return the profit over the stakes of each agent, or None without a position, and how many there are."""
    rules = forecasts.facts.parameters
    price = entries(forecasts, side, at_touch)
    taken = (price > 0) & (price < UNIT)
    won = forecasts.yes == (side > 0)
    keys = (forecasts.agent * 2 + won)[taken] * UNIT + price[taken]
    found, counts = np.unique(keys, return_counts=True)
    earned = _profits(rules)
    terms: list[list[tuple[int, int]]] = [[] for _ in forecasts.agents]
    n = [0] * len(forecasts.agents)
    for key, count in zip(found.tolist(), counts.tolist(), strict=True):
        agent, is_won, at = key // UNIT // 2, key // UNIT % 2 == 1, key % UNIT
        each = earned(at, is_won)
        terms[agent].append((count * each.numerator, each.denominator))
        n[agent] += count
    stake = Fraction(rules.stake)
    return [
        (fraction_sum(own) / (stake * count) if count else None, count) for own, count in zip(terms, n, strict=True)
    ]


def _profits(rules: Parameters) -> Callable[[int, bool], Fraction]:
    """Return `profit` at prices in millionths, each computed once."""
    seen: dict[tuple[int, bool], Fraction] = {}

    def earned(at: int, is_won: bool) -> Fraction:
        if (at, is_won) not in seen:
            seen[at, is_won] = profit(Fraction(at, UNIT), is_won, rules)
        return seen[at, is_won]

    return earned
