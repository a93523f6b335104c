"""Regression of returns on several factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.scoring.least_squares import fit

__all__ = ["Factors", "Loading", "explain"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Loading:
    """A coefficient of a regression, per bar.

    Attributes:
        name: Name of the factor; `alpha` for the intercept.
        value: Estimate.
        error: Standard error for independent residuals of one variance.
        hac_error: Standard error robust to autocorrelation and changing variance.
        t: Estimate over `hac_error`; None if that is 0.
    """

    name: str
    value: float
    error: float
    hac_error: float
    t: float | None


@dataclass(frozen=True)
class Factors:
    """A regression of returns on factors.

    Attributes:
        loadings: The intercept, then the factors in their order.
        r_squared: Share of the variance that the factors explain; None if the returns are constant.
        adjusted_r_squared: The same, reduced for the number of factors.
        n_returns: Number of returns.
        lags: Lags of the HAC errors.
    """

    loadings: tuple[Loading, ...]
    r_squared: float | None
    adjusted_r_squared: float | None
    n_returns: int
    lags: int


def explain(excess: Floats, factors: Mapping[str, Floats], lags: int | None = None) -> Factors:
    """Regress excess returns on the returns of factors on the same bars.

    Args:
        excess: Shape `(n_returns,)`, float64.
        factors: Name to returns, each of the shape of `excess`. Factors are used as given: no rate is deducted.
        lags: Lags of the HAC errors; None for those of `sharpe_errors`.

    Raises:
        OpenOutcryError: `argument_invalid`: there is no factor, or there are too few returns, or a factor is constant
            or a combination of the others.
    """
    if not factors:
        raise refusal("argument_invalid", "at least one factor is required; received none")
    names = list(factors)
    try:
        line = fit(excess, np.column_stack([factors[name] for name in names]), lags)
    except OpenOutcryError as error:
        wanted = f"factors {', '.join(names)} must vary, must not be combinations of each other, and must be fewer"
        message = str(error).removeprefix(f"{error.slug}: ")
        raise refusal("argument_invalid", f"{wanted} than the returns; received: {message}") from error
    rows = zip(["alpha", *names], line.coefficients, line.errors, line.hac_errors, strict=True)
    loadings = tuple(
        Loading(name, float(value), float(error), float(hac), float(value / hac) if hac > 1e-300 else None)
        for name, value, error, hac in rows
    )
    n_rows, explained = len(excess), line.r_squared
    free = n_rows - len(names) - 1
    adjusted = None if explained is None else 1.0 - (1.0 - explained) * (n_rows - 1) / free
    return Factors(loadings, explained, adjusted, n_rows, line.lags)
