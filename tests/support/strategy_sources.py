"""Sources of strategies, as proposers write them."""

from __future__ import annotations

from textwrap import dedent, indent

GOOD = '''
"""A proposal."""

from __future__ import annotations

import numpy as np

from openoutcry.backtest.strategies import Strategy


class Rise(Strategy):
    """Hold symbols that rose over the window.

    Other symbols are not held.
    """

    PARAM_RANGES = {
        "n": {"type": "int", "min": 2, "max": 100, "step": 1, "default": 20},
        "size": {"type": "float", "min": 0.5, "max": 1.0, "step": 0.1, "default": 1.0},
    }

    @property
    def lookback(self) -> int:
        return self.params["n"] + 1

    def weights(self, closes):
        # What has no close counts as unchanged.
        change = closes[-1] / closes[0] - 1.0
        return (np.nan_to_num(change) > 0.0) * self.params["size"] / len(change)
'''


def deciding(body: str, above: str = "", construct: str = "", lookback: str = "3") -> str:
    """Return a source whose `weights` is `body`, with statements above its class."""
    lines = [
        "import numpy as np",
        "from openoutcry.backtest.strategies import Strategy",
        *dedent(above).strip().splitlines(),
        "class Odd(Strategy):",
        '    """Do something odd."""',
        "    PARAM_RANGES = {}",
        *([indent(dedent(construct).strip(), "    ")] if construct else []),
        "    @property",
        "    def lookback(self):",
        f"        return {lookback}",
        "    def weights(self, closes):",
        indent(dedent(body).strip(), " " * 8),
    ]
    return "\n".join(lines) + "\n"
