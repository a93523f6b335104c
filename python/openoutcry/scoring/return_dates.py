"""Dates and bars per year of returns without a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import check_same_rows, row_labels
from openoutcry.data import columns
from openoutcry.data.label_dates import check_label_order, check_order, in_row_order, iso_dates
from openoutcry.errors import refusal
from openoutcry.scoring.return_values import check_no_frame
from openoutcry.untrusted.counted_nouns import counted

Array = npt.NDArray[np.float64]
_HINT = "hint: periods_per_year=252 for daily returns, 12 for monthly ones, `--periods-per-year 252`"


def dates_of(dates: Sequence[str], series: Mapping[Any, Any]) -> Sequence[str]:
    """Return the date of each return: as stated, or the common index of pandas series.

    Dates are ISO 8601 and strictly increasing. Stated labels that are no dates are returned as texts.
    """
    labelled = {str(name): values for name, values in series.items()}
    for name, values in labelled.items():
        check_no_frame(name, values)
    # A column of dates has the index of its frame.
    own = {} if row_labels(dates) is None else {"dates of the returns": dates}
    labels = check_same_rows(**labelled, **own)
    known = None if labels is None else check_label_order(labels)
    if not len(dates):
        return known or []
    stated = iso_dates(dates)
    texts = list(map(str, dates)) if stated is None else stated
    if labels is not None and not own and texts != known:
        message = f"`dates` must be the index of the returns; received {texts[0]} .. {texts[-1]}"
        raise refusal("shape_mismatch", f"{message} and {labels[0]} .. {labels[-1]}")
    if stated is not None:
        check_order(stated)
    return texts


def periods_of(dates: Sequence[str], stated: float | None) -> float:
    """Return the stated number of bars per year, else that of the dates."""
    if stated is not None:
        return stated
    inferred = native.inferred_periods_per_year(list(map(str, dates)))
    if inferred is None:
        received = (
            f"{counted(len(dates), 'date')} from {dates[0]} to {dates[-1]}" if len(dates) else "returns without dates"
        )
        message = f"`periods_per_year` is required if the dates do not show it; received {received}"
        raise refusal("value_invalid", f"{message}; {_HINT}")
    return inferred


def caveats_of(dates: Sequence[str], stated: float | None) -> tuple[str, ...]:
    """Return the caveat of bars per year that differ from the dates of returns.

    Labels that are no dates have none. Call it after the number has been checked.
    """
    known = iso_dates(dates) if len(dates) else None
    return () if known is None else columns.stated_notices(known, stated)


def caveats_of_series(stated: float, **series: Any) -> tuple[str, ...]:
    """Return the caveats of stated bars per year and pandas series.

    Series without an index of dates have none.
    """
    indices = [iso_dates(labels) for values in series.values() if (labels := row_labels(values)) is not None]
    found = [caveats_of(dates, stated) for dates in indices if dates]
    return tuple(dict.fromkeys(caveat for caveats in found for caveat in caveats))


def check_cash(rates: Array, periods_per_year: float) -> None:
    """Refuse annual rates given as the returns of cash of each bar."""
    most = native.most_cash_return(periods_per_year)
    if len(found := np.flatnonzero(np.isfinite(rates) & (np.abs(rates) > most))):
        message = f"`cash` must be returns of one bar, between -{most} and {most}; received {rates[found[0]]:g}"
        raise refusal("value_invalid", f"{message}; hint: divide annual rates by the number of bars per year")


def score_run(returns: Sequence[float] | Array, n_trials: int = 0) -> str:
    """Return the score of daily returns out of `n_trials`, as a JSON object.

    Raises:
        OpenOutcryError: a return is invalid, or a pandas series is not in the order of its index.
    """
    return native.score_run(in_row_order(returns), n_trials)
