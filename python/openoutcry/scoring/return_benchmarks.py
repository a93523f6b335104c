"""Benchmarks of returns without a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.scoring.return_values import check_not_prices, numbers

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sides:
    """Returns of the benchmarks of returns without a record."""

    benchmark: npt.ArrayLike | None
    cash: npt.ArrayLike | None
    equal_weight: npt.ArrayLike | None
    passive: npt.ArrayLike | None

    @property
    def portfolios(self) -> dict[str, Any]:
        """The given returns by name, without cash."""
        given = {"benchmark": self.benchmark, "equal_weight": self.equal_weight, "passive": self.passive}
        return {name: values for name, values in given.items() if values is not None}

    def checked(self, n_days: int) -> tuple[Array | None, Array | None, Array]:
        """Return buy-and-hold, cash, and passive portfolios.

        The portfolios are rows: equal weight, then those of the mix.
        """
        benchmark, cash, equal_weight = (
            None if values is None else _daily(name, values, n_days)
            for name, values in (
                ("benchmark", self.benchmark), ("cash", self.cash), ("equal_weight", self.equal_weight),
            )
        )  # fmt: skip
        rows = np.empty((0, n_days)) if equal_weight is None else equal_weight[None]
        if self.passive is not None:
            others = np.atleast_2d(numbers("passive", self.passive, (1, 2)))
            if equal_weight is None:
                raise refusal("argument_invalid", "`passive` must have `equal_weight` with it; received none")
            if others.shape[1] != n_days:
                wanted = f"`passive` must have one return per day, {n_days}"
                raise refusal("shape_mismatch", f"{wanted}; received {others.shape[1]}")
            # The mix has equal weight too.
            rows = np.vstack([rows, rows, others])
        if len(rows) and benchmark is None:
            raise refusal("argument_invalid", "`equal_weight` must have `benchmark` with it; received none")
        for name, values in (("benchmark", benchmark), ("equal_weight", rows[:1]), ("passive", rows[2:])):
            if values is not None and values.size:
                check_not_prices(name, values)
        return benchmark, cash, rows


def _daily(name: str, values: Any, n_days: int) -> Array:
    series = numbers(name, values, (1,))
    if len(series) != n_days:
        raise refusal("shape_mismatch", f"`{name}` must have one return per day, {n_days}; received {len(series)}")
    return series
