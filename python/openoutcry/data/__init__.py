"""Market data: `Dataset`, readers, snapshots, masking, and two bundled datasets.

`load` returns a bundled dataset: `ecb-fx` (euro foreign exchange reference rates) or `us-treasury` (bond total-return
indices). Both are files of the package; nothing is downloaded. `readers` reads the files of vendors. Imports `errors`,
`arguments`, `untrusted`, `readers` and the native module.
"""

from __future__ import annotations

from openoutcry.data.bar_spreads import spread_from_bars
from openoutcry.data.bundled import ecb_fx, us_treasury
from openoutcry.data.bundled.panel import Panel
from openoutcry.data.bundled.universe import DEFAULT, NAMES, Universe
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

__all__ = ["describe", "load", "names", "spread_from_bars"]

_PANELS = {ecb_fx.NAME: ecb_fx.panel, us_treasury.NAME: us_treasury.panel}


def names() -> list[str]:
    """Return the names of the bundled datasets."""
    return list(_PANELS)


def load(name: str, universe: Universe = None) -> Dataset:
    """Load a bundled dataset.

    Args:
        name: `ecb-fx` or `us-treasury`.
        universe: `major` (default; symbols quoted on every bar), `all`, or a list of symbols.

    Raises:
        OpenOutcryError: the name, the universe or a symbol is unknown.
    """
    panel = _panel(name, universe)
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
    """Return metadata of a bundled dataset as JSON-serializable values.

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
        "universes": {universe: panel.symbols for universe, panel in panels.items()},
        "notices": {universe: panel.notices for universe, panel in panels.items()},
    }


def _panel(name: str, universe: Universe) -> Panel:
    if name not in _PANELS:
        raise refusal("unknown_dataset", f"a dataset must be one of {', '.join(_PANELS)}; received {name!r}")
    return _PANELS[name](universe)
