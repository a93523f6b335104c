"""Costs and limits under which the martingale test runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from openoutcry.openoutcry_py import CostModel, Limits


@dataclass(frozen=True)
class Setting:
    """Costs and limits of an account.

    Attributes:
        name: Name of the setting.
        costs: Cost model of the account.
        limits: Position limits of the account.
        market: Kind of market; one of `martingale_markets.KINDS`.
        gross: Factor on the weights of rule bots, whose gross exposure is at most 1.
        long_only: Whether negative weights are set to 0.
        is_free: Whether all costs are 0. A significant loss then indicates a bug as much as a significant gain.
    """

    name: str
    costs: CostModel = field(default_factory=CostModel.zero)
    limits: Limits = field(default_factory=Limits)
    market: str = "drawn"
    gross: float = 1.0
    long_only: bool = False
    is_free: bool = True


def costs_of(**costs: float) -> CostModel:
    """Return a cost model in which every cost that is not named is 0."""
    return CostModel(**(dict.fromkeys(("fee_bps", "slippage_bps", "financing_bps", "borrow_bps"), 0.0) | costs))


def cost_setting(name: str, **costs: float) -> Setting:
    """Return a setting with the named costs and default limits."""
    return Setting(name, costs_of(**costs), is_free=False)


def leveraged_cost_setting(name: str, **costs: float) -> Setting:
    """Return a setting with the named costs, no limits and gross exposure of up to 3."""
    return Setting(name, costs_of(**costs), Limits.off(), gross=3.0, is_free=False)


SETTINGS: tuple[Setting, ...] = (
    Setting("free"),
    Setting("wide", market="wide"),
    Setting("long-only", limits=Limits(allow_short=False), long_only=True),
    Setting("leverage", limits=Limits.off(), gross=10.0),
    Setting("margin", limits=Limits(max_weight=3.0, max_gross=3.0, maintenance_margin=0.25), gross=3.0),
    Setting("participation", costs_of(capital=1e7), Limits(max_participation=0.01)),
    Setting("closes", market="closes"),
    Setting("actions", limits=Limits(allow_short=False), market="actions", long_only=True),
    cost_setting("fee", fee_bps=10.0),
    cost_setting("slippage", slippage_bps=10.0, slippage_jitter=1.0),
    cost_setting("impact", impact_bps=100.0, capital=1e7),
    leveraged_cost_setting("financing", financing_bps=500.0),
    leveraged_cost_setting("borrow", borrow_bps=500.0),
    cost_setting("idle-cash", cash_bps=-100.0),
    Setting("default", CostModel(), is_free=False),
)
"""One cost for each setting, so that a cost with the wrong sign cannot hide behind another; then the default costs."""
