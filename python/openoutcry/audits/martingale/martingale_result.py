"""Result of the martingale gate: one row for each bot and setting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from openoutcry.untrusted.counted_nouns import counted


@dataclass(frozen=True)
class Row:
    """Result of one bot under one setting, over all markets.

    Attributes:
        setting: Name of the setting.
        bot: Name of the bot.
        gain_bps: Mean reward per bar, in basis points of NAV. A ruin counts its full loss, also beyond the NAV.
        error_bps: Standard error of `gain_bps`; 0 without positions.
        p_value: P-value of the null hypothesis "expected gain is at most 0", adjusted by Holm over all rows.
        excess_bps: Gain less the profit of the positions, in basis points of traded notional. By the contract this is
            minus the costs. None without trades.
        worst: Largest excess of a bar (largest absolute excess where costs are 0), in units of NAV, or of gross
            exposure where that is larger.
        gains: Whether the gain is significant; where costs are 0, also whether the loss is.
        unexplained: Whether the excess of a bar is larger than rounding.
        n_ruined: Number of accounts that ended with no NAV.
    """

    setting: str
    bot: str
    gain_bps: float
    error_bps: float
    p_value: float
    excess_bps: float | None
    worst: float
    gains: bool
    unexplained: bool
    n_ruined: int

    @property
    def passed(self) -> bool:
        """Return whether the bot made no significant and no unexplained gain."""
        return not (self.gains or self.unexplained)


@dataclass(frozen=True)
class Verdict:
    """Results of all bots under all settings.

    Attributes:
        n_markets: Markets that each bot traded under each setting.
        n_bars: Traded bars of each market.
        rows: One row for each setting and bot.
    """

    n_markets: int
    n_bars: int
    rows: tuple[Row, ...]

    @property
    def failures(self) -> tuple[Row, ...]:
        """Return the rows that did not pass."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def passed(self) -> bool:
        """Return whether every row passed."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        failures = [f"{row.setting}: {row.bot}" for row in self.failures]
        return asdict(self) | {"passed": self.passed, "failures": failures}

    def strongest_rows(self) -> tuple[Row, ...]:
        """Return the row with the strongest evidence of a gain for each setting.

        This is a row with an unexplained excess if one exists, else the row with the smallest p-value.
        """
        settings = dict.fromkeys(row.setting for row in self.rows)
        ranked = sorted(self.rows, key=lambda row: (not row.unexplained, row.p_value, -row.gain_bps))
        return tuple(next(row for row in ranked if row.setting == setting) for setting in settings)

    def __str__(self) -> str:
        """Format the strongest row of each setting as a text table."""
        head = f"{'setting':14} {'bot':24} {'gain/bar':>12} {'± s.e.':>8} {'p':>7} {'per trade':>12} {'worst bar':>10}"
        lines = [f"{counted(self.n_markets, 'market')} x {counted(self.n_bars, 'bar')}; basis points", head]
        for row in self.strongest_rows():
            excess = "—" if row.excess_bps is None else f"{row.excess_bps:.3g}"
            numbers = f"{row.gain_bps:12.3g} {row.error_bps:8.2g} {row.p_value:7.2g} {excess:>12} {row.worst:10.1e}"
            lines.append(f"{row.setting:14} {row.bot:24} {numbers}{'' if row.passed else '  gain'}")
        return "\n".join(lines)
