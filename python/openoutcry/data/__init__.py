"""Real market data that ships with the package.

`ecb-fx` holds euro foreign exchange reference rates, `us-treasury` indices of US government bonds. Both are read
from files beside this module; nothing is downloaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openoutcry.data.bundled import ecb_fx, us_treasury
from openoutcry.data.bundled.panel import Panel
from openoutcry.data.bundled.universe import DEFAULT, NAMES, Universe
from openoutcry.errors import refusal

if TYPE_CHECKING:
    from openoutcry import Dataset

__all__ = ["describe", "load", "names"]

_PANELS = {ecb_fx.NAME: ecb_fx.panel, us_treasury.NAME: us_treasury.panel}


def names() -> list[str]:
    """Return the names that `load` knows."""
    return list(_PANELS)


def load(name: str, universe: Universe = None) -> Dataset:
    """Load a bundled dataset.

    Args:
        name: `ecb-fx` or `us-treasury`.
        universe: `major` (the default: quoted on every bar), `all`, or a list of symbols.

    Raises:
        OpenOutcryError: the name, the universe or a symbol is unknown.
    """
    panel = _panel(name, universe)
    # Here, because the arrays are of use without the engine, and importing them must not load it.
    from openoutcry import Dataset

    return Dataset.from_arrays(
        panel.dates,
        panel.symbols,
        panel.close,
        splits=panel.splits,
        delistings=panel.delistings,
        risk_free=panel.risk_free,
        periods_per_year=panel.periods_per_year,
        name=panel.name,
        notices=panel.notices,
    )


def describe(name: str) -> dict[str, object]:
    """Return what a bundled dataset holds, as values that JSON can carry.

    Args:
        name: `ecb-fx` or `us-treasury`.

    Raises:
        OpenOutcryError: `unknown_dataset`: the name is unknown.
    """
    panels = {universe: _panel(name, universe) for universe in NAMES}
    panel = panels["all"]
    return {
        "name": panel.name,
        "source": panel.source,
        "terms": panel.terms,
        "currency": panel.currency,
        "first_date": panel.dates[0],
        "last_date": panel.dates[-1],
        "n_bars": len(panel.dates),
        "periods_per_year": panel.periods_per_year,
        "default_universe": DEFAULT,
        "universes": {universe: each.symbols for universe, each in panels.items()},
        "notices": {universe: each.notices for universe, each in panels.items()},
    }


def _panel(name: str, universe: Universe) -> Panel:
    if name not in _PANELS:
        raise refusal("unknown_dataset", f"a dataset must be one of {', '.join(_PANELS)}; received {name!r}")
    return _PANELS[name](universe)
