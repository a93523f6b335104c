"""Ordinary least squares with an intercept, and robust standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["Fit", "default_lags", "fit"]

Floats = npt.NDArray[np.float64]

_LEAST_SPREAD = 1e-8
# Columns of unit length with a smaller singular value than this are collinear.
_COLLINEAR = 1e-7


@dataclass(frozen=True)
class Fit:
    """A linear regression; the intercept is the first coefficient.

    Attributes:
        coefficients: Shape `(n_columns + 1,)`, float64.
        errors: Standard errors for independent residuals of one variance, same shape.
        hac_errors: Standard errors robust to autocorrelation over `lags` rows and to changing variance, same shape.
        r_squared: Share of the variance that the columns explain; None if the regressed values are constant.
        residuals: Shape `(n_rows,)`, float64.
        lags: Number of lags of `hac_errors`.
    """

    coefficients: Floats
    errors: Floats
    hac_errors: Floats
    r_squared: float | None
    residuals: Floats
    lags: int


def default_lags(n_rows: int) -> int:
    """Return the number of lags by the rule of `sharpe_errors`."""
    return int(4.0 * (n_rows / 100.0) ** (2.0 / 9.0))


def fit(values: Floats, columns: Floats, lags: int | None = None) -> Fit:
    """Regress values on columns and an intercept.

    The HAC errors use Bartlett weights without a correction for few rows (Newey and West 1987).

    Args:
        values: Shape `(n_rows,)`, float64.
        columns: Shape `(n_rows, n_columns)`, float64.
        lags: Number of lags; None for `default_lags`.

    Raises:
        OpenOutcryError: `argument_invalid`: there are too few rows, a column is constant, or columns are collinear.
    """
    n_rows, n_columns = columns.shape
    if n_rows < n_columns + 3:
        wanted = f"a regression on {counted(n_columns, 'column')} must have at least {n_columns + 3} returns"
        raise refusal("argument_invalid", f"{wanted}; received {n_rows}")
    centred = columns - columns.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    if flat := [place for place, length in enumerate(lengths) if length < _LEAST_SPREAD * np.sqrt(n_rows - 1.0)]:
        raise refusal("argument_invalid", f"regressors must vary; received constant returns in column {flat[0]}")
    # One column alone has the length 1.
    if n_columns > 1 and np.linalg.svd(centred / lengths, compute_uv=False)[-1] < _COLLINEAR:
        raise refusal("argument_invalid", "regressors must not be combinations of each other; received such columns")
    del centred  # as long as the returns, which may be many
    design = np.column_stack([np.ones(n_rows), columns])
    scales = np.concatenate([[1.0], lengths])
    inverse = np.linalg.inv((design / scales).T @ (design / scales)) / np.outer(scales, scales)
    coefficients = inverse @ (design.T @ values)
    residuals = values - design @ coefficients
    sum_squares = float(residuals @ residuals)
    errors = np.sqrt(np.diag(inverse) * (sum_squares / (n_rows - n_columns - 1)))
    used = default_lags(n_rows) if lags is None else lags
    covariance = inverse @ _long_run(design * residuals[:, None], used) @ inverse
    total = float(((values - values.mean()) ** 2).sum())
    is_flat = total < _LEAST_SPREAD**2 * (n_rows - 1)
    explained = None if is_flat else 1.0 - sum_squares / total
    return Fit(coefficients, errors, np.sqrt(np.maximum(np.diag(covariance), 0.0)), explained, residuals, used)


def _long_run(scores: Floats, lags: int) -> Floats:
    """Return the long-run sum of products of scores, with Bartlett weights."""
    products: Floats = scores.T @ scores
    for lag in range(1, min(lags, len(scores) - 1) + 1):
        lagged = scores[lag:].T @ scores[:-lag]
        products = products + (1.0 - lag / (lags + 1.0)) * (lagged + lagged.T)
    return products
