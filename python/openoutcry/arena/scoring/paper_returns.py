"""Paper positions against the market price, and their returns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import (
    UNIT,
    Int64Array,
    fraction_sum,
    group_counts,
    group_sums,
    millionths,
)
from openoutcry.arena.scoring.score_inputs import Parameters


def fee(price: Fraction, rules: Parameters) -> Fraction:
    """Return the fee of one stake at a price, in account currency.

    The fee is `fee_rate * contracts * price * (1 - price)`, rounded up to a multiple of `fee_step`.
    """
    if rules.fee_model == "none":
        return Fraction(0)
    step = Fraction(rules.fee_step)
    # Contracts times price equals the stake.
    exact = Fraction(rules.fee_rate) * Fraction(rules.stake) * (1 - price)
    return -(-exact // step) * step


def sides(forecasts: Forecasts) -> Int64Array:
    """Return the side of each forecast: 1 for YES, -1 for NO, 0 for no position."""
    rules = forecasts.inputs.parameters
    edge, mid = millionths(rules.edge), forecasts.prices["mid"]
    sure = (forecasts.confidence >= millionths(rules.min_confidence)) & (mid > 0) & (mid < UNIT)
    away = forecasts.probability - mid
    return np.where(sure & (away > edge), 1, np.where(sure & (away < -edge), -1, 0))


def entry_prices(forecasts: Forecasts, side: Int64Array, at_touch: bool) -> Int64Array:
    """Return the entry price of each position, in millionths.

    At the touch, YES is bought at the ask and NO at 1 minus the bid; otherwise both at the mid. A price outside (0, 1)
    means no position.
    """
    yes, no = (forecasts.prices[name] for name in (("ask", "bid") if at_touch else ("mid", "mid")))
    return np.where(side > 0, yes, np.where((side < 0) & (no >= 0), UNIT - no, UNIT))


def return_on_investment(
    forecasts: Forecasts, side: Int64Array, at_touch: bool = False
) -> list[tuple[Fraction | None, int]]:
    """Return each agent's return on investment and number of positions.

    The return is total profit divided by total stakes, or None without a position.
    """
    rules, n_agents = forecasts.inputs.parameters, len(forecasts.agents)
    entry = entry_prices(forecasts, side, at_touch)
    taken = (entry > 0) & (entry < UNIT)
    agent, price, won = forecasts.agent[taken], entry[taken], (forecasts.yes == (side > 0))[taken]
    counts = group_counts(agent, n_agents)
    fees = _fees(agent, price, n_agents, rules)
    shares = _inverse_price_sums(agent[won], price[won], n_agents)
    stake = Fraction(rules.stake)
    return [
        (share / n - 1 - paid / (n * stake) if n else None, n)
        for n, paid, share in zip(counts, fees, shares, strict=True)
    ]


def _fees(agent: Int64Array, price: Int64Array, n_agents: int, rules: Parameters) -> list[Fraction]:
    """Return the total fees of each agent; the fee of each price is computed once."""
    prices = np.flatnonzero(np.bincount(price, minlength=UNIT))
    step = Fraction(rules.fee_step)
    steps = [int(fee(Fraction(each, UNIT), rules) / step) for each in prices.tolist()]
    paid = np.array(steps, dtype=np.int64)[np.searchsorted(prices, price)]
    return [total * step for total in group_sums(agent, paid, n_agents)]


def _inverse_price_sums(agent: Int64Array, price: Int64Array, n_agents: int) -> list[Fraction]:
    """Return the sum of `1 / price` of each agent."""
    keys = np.sort(agent * UNIT + price)
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(firsts, append=len(keys))
    terms: list[list[tuple[int, int]]] = [[] for _ in range(n_agents)]
    for key, count in zip(keys[firsts].tolist(), counts.tolist(), strict=True):
        terms[key // UNIT].append((count * UNIT, key % UNIT))
    return [fraction_sum(own) for own in terms]
