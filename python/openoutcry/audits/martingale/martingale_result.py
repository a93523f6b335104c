"""What the gate found: a row a bot and setting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A bot under a setting, over all markets.

    Attributes:
        setting: Name of the setting.
        bot: Name of the bot.
        gain_bps: Mean reward of a bar, in basis points; in the bar of a ruin what was lost, be it more than there was.
        error_bps: Its standard error; 0 where nothing was held.
        p_value: Of "nothing is gained", by Holm over all rows.
        excess_bps: What the shares held do not explain of the gain, in basis points of what was traded: minus the
            costs, by the contract. None where nothing was traded.
        worst: The largest excess of a bar, by size where nothing is charged: in units of NAV, or of gross exposure
            where that is more.
        gains: Whether the gain is significant, or the loss where nothing is charged.
        unexplained: Whether an excess is more than rounding.
        n_ruined: Accounts of which nothing was left.
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
        """Return whether nothing was gained."""
        return not (self.gains or self.unexplained)


@dataclass(frozen=True)
class Verdict:
    """What bots made of markets of which nobody can gain.

    Attributes:
        n_markets: Markets that each bot traded under each setting.
        n_bars: Bars of each.
        rows: One row a setting and bot.
    """

    n_markets: int
    n_bars: int
    rows: tuple[Row, ...]

    @property
    def failures(self) -> tuple[Row, ...]:
        """Return the rows of those that gained."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def passed(self) -> bool:
        """Return whether nobody gained."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can say it."""
        failures = [f"{row.setting}: {row.bot}" for row in self.failures]
        return asdict(self) | {"passed": self.passed, "failures": failures}

    def shown(self) -> tuple[Row, ...]:
        """Return the row of each setting that says most.

        An unexplained one if there is, or else that of the smallest p-value.
        """
        settings = dict.fromkeys(row.setting for row in self.rows)
        ranked = sorted(self.rows, key=lambda row: (not row.unexplained, row.p_value, -row.gain_bps))
        return tuple(next(row for row in ranked if row.setting == setting) for setting in settings)

    def __str__(self) -> str:
        """Return the row of each setting that says most, as text."""
        head = f"{'setting':14} {'bot':24} {'gain/bar':>12} {'± s.e.':>8} {'p':>7} {'per trade':>12} {'worst bar':>10}"
        lines = [f"{self.n_markets} markets x {self.n_bars} bars, bp", head]
        for row in self.shown():
            excess = "—" if row.excess_bps is None else f"{row.excess_bps:.3g}"
            numbers = f"{row.gain_bps:12.3g} {row.error_bps:8.2g} {row.p_value:7.2g} {excess:>12} {row.worst:10.1e}"
            lines.append(f"{row.setting:14} {row.bot:24} {numbers}{'' if row.passed else '  gained'}")
        return "\n".join(lines)
