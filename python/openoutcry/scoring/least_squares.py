"""Ordinary least squares with an intercept, and robust standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
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
    series = [np.ascontiguousarray(column) for column in columns.T]
    centred = [column - column.mean() for column in series]
    lengths = [float(np.sqrt(each @ each)) for each in centred]
    if flat := [place for place, length in enumerate(lengths) if length < _LEAST_SPREAD * np.sqrt(n_rows - 1.0)]:
        raise refusal("argument_invalid", f"regressors must vary; received constant returns in column {flat[0]}")
    # One column alone has the length 1.
    if (
        n_columns > 1
        and np.linalg.svd(np.stack(centred) / np.array(lengths)[:, None], compute_uv=False)[-1] < _COLLINEAR
    ):
        raise refusal("argument_invalid", "regressors must not be combinations of each other; received such columns")
    del centred  # as long as the returns, which may be many
    scales = np.array([1.0, *lengths])
    # Columns one by one: a table of them all would be as long as all together, and its products slow.
    inverse = np.linalg.inv(_products(series) / np.outer(scales, scales)) / np.outer(scales, scales)
    coefficients = inverse @ np.array([values.sum(), *(column @ values for column in series)])
    residuals = values - coefficients[0]
    for column, slope in zip(series, coefficients[1:].tolist(), strict=True):
        residuals -= slope * column
    sum_squares = float(residuals @ residuals)
    errors = np.sqrt(np.diag(inverse) * (sum_squares / (n_rows - n_columns - 1)))
    used = default_lags(n_rows) if lags is None else lags
    middle = np.array(native.long_run_products(residuals, series, used)).reshape(inverse.shape)
    covariance = inverse @ middle @ inverse
    total = float(((values - values.mean()) ** 2).sum())
    is_flat = total < _LEAST_SPREAD**2 * (n_rows - 1)
    explained = None if is_flat else 1.0 - sum_squares / total
    return Fit(coefficients, errors, np.sqrt(np.maximum(np.diag(covariance), 0.0)), explained, residuals, used)


def _products(series: list[Floats]) -> Floats:
    """Return the sums of products of pairs of columns; the first column is 1."""
    sums = [float(column.sum()) for column in series]
    rows = [[float(len(series[0])), *sums]]
    rows += [[own, *(float(column @ other) for other in series)] for own, column in zip(sums, series, strict=True)]
    return np.array(rows)
