"""The arrays of one bundled dataset, before the engine sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Panel:
    """Daily closes of some symbols, and what happened to them.

    Attributes:
        name: Name that `openoutcry.data.load` knows the dataset by.
        dates: `T` ISO dates, strictly increasing.
        symbols: `S` symbols, in the order of the columns.
        close: Shape `(T, S)`, float64, `currency`; NaN where the symbol has no close on the bar.
        splits: Shape `(T, S)`, float64, new shares per old share, 1 where there is no split; None without any.
        delistings: Shape `(T, S)`, float64, simple return from the last close to the payment, on the bar that
            pays; NaN elsewhere; None without any.
        risk_free: Shape `(T,)`, float64, simple return: element `t` from bar `t - 1` to bar `t`. No bar precedes
            bar 0, whose element is 0 and is a return of nothing.
        periods_per_year: Bars in a year, for annualisation.
        notices: What a report on these numbers has to say, one sentence each.
        source: Citation.
        terms: Terms of reuse.
        currency: Currency of `close`, which is the account currency.
    """

    name: str
    dates: list[str]
    symbols: list[str]
    close: FloatArray
    splits: FloatArray | None
    delistings: FloatArray | None
    risk_free: FloatArray
    periods_per_year: float
    notices: list[str]
    source: str
    terms: str
    currency: str
