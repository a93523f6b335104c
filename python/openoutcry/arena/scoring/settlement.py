"""Settlement of markets from their resolution records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from openoutcry.arena.scoring.score_inputs import STATUSES, Resolution
from openoutcry.arena.timestamps import SECOND
from openoutcry.errors import refusal

SETTLED, PROVISIONAL, DISPUTED, EXCLUDED = "settled", "provisional", "disputed", "excluded"


class Settlement(NamedTuple):
    """The settlement of a market.

    `state` is `settled`, `provisional` (determined, but still open to dispute), `disputed` or `excluded`. `settled_us`
    is the first time at which the result is final, assuming no dispute until then.
    """

    state: str
    yes: bool
    first_us: int
    settled_us: int | None
    actual_close_us: int | None


def settle(resolutions: Iterable[Resolution], at_us: int, grace_s: int) -> dict[str, Settlement]:
    """Return the settlement of each market at a given time."""
    known = sorted((each for each in resolutions if each.at_us <= at_us), key=lambda each: (each.market_id, each.seq))
    for each in known:
        if each.status not in STATUSES or each.outcome not in ("yes", "no", None):
            raise refusal("value_invalid", f"a resolution must have a known status and outcome; received {each}")
    by_market = groupby(known, key=lambda each: each.market_id)
    return {market_id: _settlement(list(records), at_us, grace_s * SECOND) for market_id, records in by_market}


def _settlement(records: Sequence[Resolution], at_us: int, grace_us: int) -> Settlement:
    last = records[-1]
    finals = [_final_us(each.status, each.outcome, each.at_us, grace_us) for each in records]
    # A determination becomes final only if the next record arrives after the grace period.
    until = [*(each.at_us for each in records[1:]), None]
    reached = (
        final for final, end in zip(finals, until, strict=True) if final is not None and (end is None or final <= end)
    )
    closes = [each.actual_close_us for each in records if each.actual_close_us is not None]
    return Settlement(
        state=market_state(last.status, last.outcome, last.at_us, at_us, grace_us),
        yes=last.outcome == "yes",
        first_us=records[0].at_us,
        settled_us=next(reached, None),
        actual_close_us=closes[-1] if closes else None,
    )


def market_state(status: str, outcome: str | None, since_us: int, at_us: int, grace_us: int) -> str:
    """Return the state of a market from its last record and the record's time."""
    final_us = _final_us(status, outcome, since_us, grace_us)
    if final_us is not None:
        return SETTLED if final_us <= at_us else PROVISIONAL
    return DISPUTED if status == "disputed" else EXCLUDED


def _final_us(status: str, outcome: str | None, since_us: int, grace_us: int) -> int | None:
    """Return the time at which a record's result is final; None without an outcome."""
    if outcome is None or status not in ("determined", "amended", "finalized"):
        return None
    return since_us + grace_us if status == "determined" else since_us
