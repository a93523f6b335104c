"""A caveat about features that nearly are the returns of later bars."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native

Values = npt.NDArray[np.float64]

HORIZONS = (1, 2, 3)
# Correlations of honest daily features with the next return are below 0.1.
LARGEST = 0.3
# Standard errors that chance does not reach.
_ERRORS = 8.0


def foresight_notices(core: native.Dataset) -> tuple[str, ...]:
    """Return a caveat for each feature that correlates with later returns.

    Compared are the feature, its change, and its ratio to the close, with the return of each of the next bars.
    """
    features = core.features
    if not features:
        return ()
    close = core.column("close")
    assert close is not None, "every dataset has closes"
    with np.errstate(all="ignore"):
        returns = close[1:] / close[:-1] - 1.0
        found = [(name, *_strongest(values, close, returns)) for name, _, values in features]
    return tuple(
        f"feature {name!r} correlates {strength:+.2f} with the return {_bars(horizon)} later: is it known at the close "
        "of its bar? hint: state `lag` or `known_at`"
        for name, strength, horizon in found
        if horizon
    )


def _bars(horizon: int) -> str:
    return f"{horizon} bar{'s' * (horizon > 1)}"


def _strongest(values: Values, close: Values, returns: Values) -> tuple[float, int]:
    """Return the strongest significant correlation and its horizon, or 0 and 0."""
    forms = (values, np.diff(values, axis=0, prepend=np.nan), values / close)
    found = [(0.0, 0)]
    for horizon in HORIZONS:
        later = returns[horizon - 1 :]
        for form in forms:
            strength, n_pairs = _correlation(np.broadcast_to(form, close.shape)[: len(later)], later)
            if abs(strength) > max(LARGEST, _ERRORS / np.sqrt(max(n_pairs, 1))):
                found.append((strength, horizon))
    return max(found, key=lambda pair: abs(pair[0]))


def _correlation(form: Values, later: Values) -> tuple[float, int]:
    known = np.isfinite(form) & np.isfinite(later)
    n_pairs = int(known.sum())
    if n_pairs < 3 or np.ptp(form[known]) == 0.0 or np.ptp(later[known]) == 0.0:
        return 0.0, 0
    return float(np.corrcoef(form[known], later[known])[0, 1]), n_pairs


__all__ = ["foresight_notices"]
