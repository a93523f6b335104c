"""Under which costs and limits nobody may gain."""

from __future__ import annotations

from dataclasses import dataclass, field

from openoutcry.openoutcry_py import CostModel, Limits


@dataclass(frozen=True)
class Setting:
    """Costs and limits of an account.

    Attributes:
        name: Its name.
        costs: What is charged.
        limits: What is allowed.
        market: Kind of market; see `openoutcry.audits.martingale.martingale_markets`.
        gross: Factor on the weights of rules, whose gross is at most 1.
        long_only: Whether weights below 0 are left out.
        is_free: Whether nothing is charged: a loss is then as much of a fault as a gain.
    """

    name: str
    costs: CostModel = field(default_factory=CostModel.zero)
    limits: Limits = field(default_factory=Limits)
    market: str = "drawn"
    gross: float = 1.0
    long_only: bool = False
    is_free: bool = True


def only(**costs: float) -> CostModel:
    """Return costs of which those that are not named are 0."""
    return CostModel(**(dict.fromkeys(("fee_bps", "slippage_bps", "financing_bps", "borrow_bps"), 0.0) | costs))


def charged(name: str, **costs: float) -> Setting:
    """Return the setting of costs alone."""
    return Setting(name, only(**costs), is_free=False)


def charged_thrice(name: str, **costs: float) -> Setting:
    """Return the setting of costs alone, at a gross of up to 3."""
    return Setting(name, only(**costs), Limits.off(), gross=3.0, is_free=False)


SETTINGS: tuple[Setting, ...] = (
    Setting("free"),
    Setting("wide", market="wide"),
    Setting("long-only", limits=Limits(allow_short=False), long_only=True),
    Setting("leverage", limits=Limits.off(), gross=10.0),
    Setting("margin", limits=Limits(max_weight=3.0, max_gross=3.0, maintenance_margin=0.25), gross=3.0),
    Setting("participation", only(capital=1e7), Limits(max_participation=0.01)),
    Setting("closes", market="closes"),
    Setting("actions", limits=Limits(allow_short=False), market="actions", long_only=True),
    charged("fee", fee_bps=10.0),
    charged("slippage", slippage_bps=10.0, slippage_jitter=1.0),
    charged("impact", impact_bps=100.0, capital=1e7),
    charged_thrice("financing", financing_bps=500.0),
    charged_thrice("borrow", borrow_bps=500.0),
    charged("idle-cash", cash_bps=-100.0),
    Setting("default", CostModel(), is_free=False),
)
"""One cost at a time, for what one pays out must not hide behind what another takes; and those of a user."""
