"""Commissions of fills: those of their symbols, or of the cost model."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel


class _Run(Protocol):
    """The parts of a run that its commissions depend on."""

    @property
    def dataset(self) -> Dataset: ...
    @property
    def cost_model(self) -> CostModel: ...


def fee_rates(run: _Run, bars: npt.NDArray[Any], symbols: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the commission of each fill as a fraction of its notional."""
    of_model = run.cost_model.fee_bps / 1e4
    own = run.dataset.fee_bps
    if own is None:
        return np.full(len(bars), of_model)
    rates = own[bars, symbols] / 1e4
    return np.where(np.isnan(rates), of_model, rates)
