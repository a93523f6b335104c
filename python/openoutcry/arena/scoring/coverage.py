"""Of how many markets that were open to it an agent forecast any (R-52)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.arena.scoring.exact_arithmetic import Whole
from openoutcry.arena.scoring.market_quotes import Quotes
from openoutcry.arena.scoring.score_inputs import Agent, Facts


def covered(
    facts: Facts, agents: Sequence[Agent], quotes: Quotes, agent: Whole, market: Whole, resolved: Whole
) -> tuple[tuple[int, int], ...]:
    """Return how many markets each agent forecast, and how many were open to it.

    Open to it are those open in a snapshot since it registered.
    Only markets whose cutoff is past count: before it nobody may know who forecast them.

    Args:
        facts: For the moment of the board and its season.
        agents: In their order.
        quotes: Of all snapshots.
        agent: Agent of each accepted decision. Shape `(n_decisions,)`.
        market: Its market. Shape `(n_decisions,)`.
        resolved: When the first record of a market's resolution came. Shape `(n_markets,)`.
    """
    last_open = _last_open(facts, quotes, resolved)
    registered = np.array([each.registered_us for each in agents], dtype=np.int64)
    open_since = np.sort(last_open)
    n_open = len(open_since) - np.searchsorted(open_since, registered)
    counts = last_open[market] >= registered[agent]
    pairs = np.sort(agent[counts] * len(last_open) + market[counts])
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    n_decided = np.bincount(pairs // max(1, len(last_open)), minlength=len(agents))
    return tuple(zip(n_decided.tolist(), n_open.tolist(), strict=True))


def _last_open(facts: Facts, quotes: Quotes, resolved: Whole) -> Whole:
    """Return the last snapshot in which each market was open, or the least number."""
    found = np.full(len(quotes.markets), np.iinfo(np.int64).min)
    of_quote = quotes.snapshots[quotes.snapshot]
    is_open = (of_quote <= quotes.cutoff) & (of_quote < resolved[quotes.market]) & (of_quote <= facts.at_us)
    if facts.window is not None:
        is_open &= (facts.window[0] <= of_quote) & (of_quote < facts.window[1])
    last = np.append(np.diff(quotes.market) != 0, np.ones(min(1, len(quotes.market)), dtype=np.bool_))
    cutoff = np.full(len(quotes.markets), np.iinfo(np.int64).max)
    cutoff[quotes.market[last]] = quotes.cutoff[last]
    is_open &= (cutoff < facts.at_us)[quotes.market]
    np.maximum.at(found, quotes.market[is_open], of_quote[is_open])
    return found
