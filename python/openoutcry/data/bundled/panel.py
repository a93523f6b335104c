"""`Panel`: the arrays of a bundled dataset, before they become a `Dataset`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Panel:
    """Daily closes, splits and settlements of a set of symbols.

    Attributes:
        name: Name of the dataset for `openoutcry.data.load`.
        dates: `T` ISO dates, strictly increasing.
        symbols: `S` symbols, in the order of the columns.
        close: Shape `(T, S)`, float64, `currency`; NaN where the symbol has no close on the bar.
        splits: Shape `(T, S)`, float64, new shares per old share, 1 where there is no split; None without any.
        delistings: Shape `(T, S)`, float64, simple return from the last close to the cash settlement, on the
            settlement bar; NaN elsewhere; None without any.
        risk_free: Shape `(T,)`, float64, simple return: element `t` from bar `t - 1` to bar `t`. Element 0 is 0.
        periods_per_year: Bars per year, for annualization.
        notices: Caveats that reports print, one sentence each.
        source: Citation.
        terms: Licence terms.
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
