"""Paper positions against the mid, and what they earned (R-50, R-51)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import UNIT, Whole, fraction_sum, group_counts, group_sums, millionths
from openoutcry.arena.scoring.score_inputs import Parameters


def fee(price: Fraction, rules: Parameters) -> Fraction:
    """Return the fee of a stake at a price.

    It is a share of contracts times the prices of both sides, rounded up to a step.
    """
    if rules.fee_model == "none":
        return Fraction(0)
    step = Fraction(rules.fee_step)
    # Contracts times price is the stake.
    exact = Fraction(rules.fee_rate) * Fraction(rules.stake) * (1 - price)
    return -(-exact // step) * step


def sides(forecasts: Forecasts) -> Whole:
    """Return the side of each forecast: 1 for YES, -1 for NO, 0 for none."""
    rules = forecasts.facts.parameters
    edge, mid = millionths(rules.edge), forecasts.prices["mid"]
    sure = (forecasts.confidence >= millionths(rules.min_confidence)) & (mid > 0) & (mid < UNIT)
    away = forecasts.probability - mid
    return np.where(sure & (away > edge), 1, np.where(sure & (away < -edge), -1, 0))


def entries(forecasts: Forecasts, side: Whole, at_touch: bool) -> Whole:
    """Return the price of each position in millionths.

    It is not above 0, or not below 1, where there is none. At the touch YES is bought at the ask and NO at 1 less the
    bid, else both at the mid.
    """
    yes, no = (forecasts.prices[name] for name in (("ask", "bid") if at_touch else ("mid", "mid")))
    return np.where(side > 0, yes, np.where((side < 0) & (no >= 0), UNIT - no, UNIT))


def on_investment(forecasts: Forecasts, side: Whole, at_touch: bool = False) -> list[tuple[Fraction | None, int]]:
    """Return the profit over the stakes of each agent, and how many positions.

    Without a position there is no profit: it is None.
    """
    rules, n_agents = forecasts.facts.parameters, len(forecasts.agents)
    entry = entries(forecasts, side, at_touch)
    taken = (entry > 0) & (entry < UNIT)
    agent, price, won = forecasts.agent[taken], entry[taken], (forecasts.yes == (side > 0))[taken]
    counts = group_counts(agent, n_agents)
    fees = _fees(agent, price, n_agents, rules)
    shares = _shares(agent[won], price[won], n_agents)
    stake = Fraction(rules.stake)
    return [
        (share / n - 1 - paid / (n * stake) if n else None, n)
        for n, paid, share in zip(counts, fees, shares, strict=True)
    ]


def _fees(agent: Whole, price: Whole, n_agents: int, rules: Parameters) -> list[Fraction]:
    """Return the fees of each agent, each price's computed once."""
    prices = np.flatnonzero(np.bincount(price, minlength=UNIT))
    step = Fraction(rules.fee_step)
    steps = [int(fee(Fraction(each, UNIT), rules) / step) for each in prices.tolist()]
    paid = np.array(steps, dtype=np.int64)[np.searchsorted(prices, price)]
    return [total * step for total in group_sums(agent, paid, n_agents)]


def _shares(agent: Whole, price: Whole, n_agents: int) -> list[Fraction]:
    """Return the sum of 1 over the prices of each agent."""
    keys = np.sort(agent * UNIT + price)
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(firsts, append=len(keys))
    terms: list[list[tuple[int, int]]] = [[] for _ in range(n_agents)]
    for key, count in zip(keys[firsts].tolist(), counts.tolist(), strict=True):
        terms[key // UNIT].append((count * UNIT, key % UNIT))
    return [fraction_sum(own) for own in terms]
