"""Coverage: the share of the markets open to an agent that it forecast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.arena.scoring.exact_arithmetic import Int64Array
from openoutcry.arena.scoring.market_quotes import Quotes
from openoutcry.arena.scoring.score_inputs import Agent, ScoreInputs


def coverage_counts(
    inputs: ScoreInputs,
    agents: Sequence[Agent],
    quotes: Quotes,
    agent: Int64Array,
    market: Int64Array,
    resolved: Int64Array,
) -> tuple[tuple[int, int], ...]:
    """Return the number of markets each agent forecast, and the number open to it.

    A market is open to an agent if a snapshot after its registration lists it as open. Only markets with a past cutoff
    count, because forecasts are secret until then.

    Args:
        inputs: Time of the board, and its season.
        agents: Agents, in the order of the result.
        quotes: Quotes of all snapshots.
        agent: Index of the agent of each accepted decision. Shape `(n_decisions,)`, int64.
        market: Index of its market. Shape `(n_decisions,)`, int64.
        resolved: Time of the first resolution record of each market. Shape `(n_markets,)`, int64, microseconds.
    """
    last_open = _last_open(inputs, quotes, resolved)
    registered = np.array([each.registered_us for each in agents], dtype=np.int64)
    open_since = np.sort(last_open)
    n_open = len(open_since) - np.searchsorted(open_since, registered)
    counts = last_open[market] >= registered[agent]
    pairs = np.sort(agent[counts] * len(last_open) + market[counts])
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    n_decided = np.bincount(pairs // max(1, len(last_open)), minlength=len(agents))
    return tuple(zip(n_decided.tolist(), n_open.tolist(), strict=True))


def _last_open(inputs: ScoreInputs, quotes: Quotes, resolved: Int64Array) -> Int64Array:
    """Return the last snapshot in which each market was open, or the smallest int64."""
    found = np.full(len(quotes.markets), np.iinfo(np.int64).min)
    of_quote = quotes.snapshots[quotes.snapshot]
    is_open = (of_quote <= quotes.cutoff) & (of_quote < resolved[quotes.market]) & (of_quote <= inputs.at_us)
    if inputs.window is not None:
        is_open &= (inputs.window[0] <= of_quote) & (of_quote < inputs.window[1])
    last = np.append(np.diff(quotes.market) != 0, np.ones(min(1, len(quotes.market)), dtype=np.bool_))
    cutoff = np.full(len(quotes.markets), np.iinfo(np.int64).max)
    cutoff[quotes.market[last]] = quotes.cutoff[last]
    is_open &= (cutoff < inputs.at_us)[quotes.market]
    np.maximum.at(found, quotes.market[is_open], of_quote[is_open])
    return found
