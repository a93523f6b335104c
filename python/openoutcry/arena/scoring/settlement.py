"""What became of each market, by its records (R-44)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from openoutcry.arena.scoring.score_inputs import STATUSES, Resolution
from openoutcry.arena.timestamps import SECOND
from openoutcry.errors import refusal

SETTLED, PROVISIONAL, DISPUTED, EXCLUDED = "settled", "provisional", "disputed", "excluded"


class Settlement(NamedTuple):
    """What stands of a market.

    `state` is `settled`, `provisional` (determined, but it may be disputed yet), `disputed` or `excluded`. `settled_us`
    is the first moment at which it was final, or will be where nobody disputes it.
    """

    state: str
    yes: bool
    first_us: int
    settled_us: int | None
    actual_close_us: int | None


def settle(resolutions: Iterable[Resolution], at_us: int, grace_s: int) -> dict[str, Settlement]:
    """Return what stands of each market at a moment."""
    known = sorted((each for each in resolutions if each.at_us <= at_us), key=lambda each: (each.market_id, each.seq))
    for each in known:
        if each.status not in STATUSES or each.outcome not in ("yes", "no", None):
            raise refusal("value_invalid", f"a resolution must have a known status and outcome; received {each}")
    by_market = groupby(known, key=lambda each: each.market_id)
    return {market_id: _stands(list(records), at_us, grace_s * SECOND) for market_id, records in by_market}


def _stands(records: Sequence[Resolution], at_us: int, grace_us: int) -> Settlement:
    last = records[-1]
    finals = [_final_us(each.status, each.outcome, each.at_us, grace_us) for each in records]
    # A determination is final only where the record after it came later than that.
    until = [*(each.at_us for each in records[1:]), None]
    reached = (
        final for final, end in zip(finals, until, strict=True) if final is not None and (end is None or final <= end)
    )
    closes = [each.actual_close_us for each in records if each.actual_close_us is not None]
    return Settlement(
        state=standing(last.status, last.outcome, last.at_us, at_us, grace_us),
        yes=last.outcome == "yes",
        first_us=records[0].at_us,
        settled_us=next(reached, None),
        actual_close_us=closes[-1] if closes else None,
    )


def standing(status: str, outcome: str | None, since_us: int, at_us: int, grace_us: int) -> str:
    """Return the state of a market, by its last record and when that came."""
    final_us = _final_us(status, outcome, since_us, grace_us)
    if final_us is not None:
        return SETTLED if final_us <= at_us else PROVISIONAL
    return DISPUTED if status == "disputed" else EXCLUDED


def _final_us(status: str, outcome: str | None, since_us: int, grace_us: int) -> int | None:
    """Return when a record is final by itself; none that has no outcome ever is."""
    if outcome is None or status not in ("determined", "amended", "finalized"):
        return None
    return since_us + grace_us if status == "determined" else since_us
