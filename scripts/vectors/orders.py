"""The cases of `orders.json`: the fill table, exits, rules between orders."""

from __future__ import annotations

from vectors import order_entries, order_exits, order_rules
from vectors.cases import Case


def all_cases() -> list[Case]:
    """Return the cases, each with its expected numbers."""
    return [*order_entries.all_cases(), *order_exits.all_cases(), *order_rules.all_cases()]
