"""Settings of runs: costs and limits, apart from which results are not comparable.

A ranking is of one setting. By default, this is the standard one, or the strictest one if no strategy was run at it.
Runs with lower costs therefore do not change the ranking.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import Any

from openoutcry.errors import refusal
from openoutcry.ledger.strategy_identity import digest_of
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.chained_lines import canonical

UNSTATED = 0
"""ID of the setting of runs without costs and limits, such as those that failed early."""
_COSTS = {
    "fee_bps": "fee {:g} bps",
    "slippage_bps": "slippage {:g} bps",
    "slippage_jitter": "slippage jitter {:g}",
    "impact_bps": "impact {:g} bps",
    "financing_bps": "financing {:g} bps",
    "cash_bps": "cash {:g} bps",
    "borrow_bps": "borrow {:g} bps",
    "capital": "capital {:,.10g}",
}
_LIMITS = {
    "max_weight": "weights up to {:g}",
    "max_gross": "gross exposure up to {:g}",
    "max_participation": "participation up to {:g}",
    "maintenance_margin": "maintenance margin {:g}",
}
_LABELS = {"costs": _COSTS, "limits": _LIMITS}
_STOP_GAP = {"stop_gap": "stop gap {:g}"}
_SHOWN_ALWAYS = ("fee_bps", "slippage_bps", "financing_bps", "borrow_bps", "capital")


@dataclass(frozen=True)
class Setting:
    """Costs and limits of a ranking.

    Attributes:
        digest: SHA-256 of both in canonical JSON; empty if they are not stated.
        text: Both as text: in full if they are standard, else the differences from the standard ones.
        is_standard: Whether they are the standard ones.
    """

    digest: str = ""
    text: str = "costs and limits not stated"
    is_standard: bool = False


def rules_of_setting(rules: Any) -> dict[str, Any] | None:
    """Return costs and limits of the rules of a run; None without costs."""
    if not isinstance(rules, Mapping) or not isinstance(rules.get("costs"), Mapping):
        return None
    limits = rules.get("limits")
    return {"costs": dict(rules["costs"]), "limits": dict(limits) if isinstance(limits, Mapping) else {}}


def setting_of(costs: CostModel, limits: Limits) -> dict[str, Any]:
    """Return a setting as JSON types."""
    return {"costs": _finite(costs.to_dict()), "limits": _finite(limits.to_dict())}


def setting_digest(costs: CostModel, limits: Limits) -> str:
    """Return the digest of the setting with these costs and limits."""
    return digest_of("setting", setting_of(costs, limits))


class SettingIds:
    """IDs of the settings of runs, by the digest of their rules.

    Args:
        base: Connection to the index.
        payload: Reads a record of the log; rules are read once for each digest.
    """

    def __init__(self, base: sqlite3.Connection, payload: Callable[[int, int], Mapping[str, Any]]) -> None:
        self._base, self._payload = base, payload
        self._known: dict[str, int] = {}

    def id_of(self, rules_sha: str | None, segment: int, offset: int) -> int:
        """Return the ID of the setting of a run at a position of the log."""
        if rules_sha is None:
            return UNSTATED
        if rules_sha not in self._known:
            found = self._base.execute("SELECT setting FROM rules WHERE rules_sha = ?", (rules_sha,)).fetchone()
            self._known[rules_sha] = self._added(rules_sha, segment, offset) if found is None else found[0]
        return self._known[rules_sha]

    def _added(self, rules_sha: str, segment: int, offset: int) -> int:
        stated = rules_of_setting(self._payload(segment, offset).get("rules"))
        setting = UNSTATED
        if stated is not None:
            digest = digest_of("setting", stated)
            query = "INSERT OR IGNORE INTO settings (digest, content) VALUES (?, ?)"
            self._base.execute(query, (digest, canonical("setting", stated)))
            setting = self._base.execute("SELECT id FROM settings WHERE digest = ?", (digest,)).fetchone()[0]
        self._base.execute("INSERT INTO rules VALUES (?, ?)", (rules_sha, setting))
        return setting


def default_setting(base: sqlite3.Connection, table: str, family: int) -> int:
    """Return the default setting of a ranking.

    It is the standard one, else the strictest one with a ranked strategy.

    Args:
        base: Connection to the index.
        table: Table with the totals of strategies.
        family: Family of the markets.
    """
    for setting, *_ in _by_strictness(base):
        if has_ranked(base, table, family, setting):
            return setting
    return UNSTATED


def has_ranked(base: sqlite3.Connection, table: str, family: int, setting: int) -> bool:
    """Return whether a strategy has a Sharpe ratio at a setting."""
    query = f"SELECT 1 FROM {table} WHERE family = ? AND setting = ? AND mean IS NOT NULL LIMIT 1"
    return base.execute(query, (family, setting)).fetchone() is not None


def setting_with(base: sqlite3.Connection, prefix: str) -> int:
    """Return the setting with a prefix of its digest.

    Raises:
        OpenOutcryError: `argument_invalid`: no setting or several settings match.
    """
    if not isinstance(prefix, str) or not prefix or set(prefix.lower()) - set("0123456789abcdef"):
        raise refusal("argument_invalid", f"a prefix of a setting's digest is required; received {prefix!r}")
    found = base.execute("SELECT id FROM settings WHERE digest GLOB ?", (f"{prefix.lower()}*",)).fetchall()
    if len(found) != 1:
        n, hint = ("several" if found else "no"), "hint: `openoutcry ledger top` lists the settings"
        raise refusal("argument_invalid", f"a prefix of one setting is required; received {prefix!r}, of {n}; {hint}")
    return int(found[0][0])


def id_of_setting(base: sqlite3.Connection, digest: str) -> int | None:
    """Return the ID of the setting with a digest; None without runs at it."""
    found = base.execute("SELECT id FROM settings WHERE digest = ?", (digest,)).fetchone()
    return None if found is None else int(found[0])


def setting_at(base: sqlite3.Connection, setting: int) -> Setting:
    """Return the setting with an ID."""
    found = base.execute("SELECT digest, content FROM settings WHERE id = ?", (setting,)).fetchone()
    return Setting() if found is None else Setting(found[0], setting_text(found[1]), found[0] == standard_digest())


def _by_strictness(base: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Return ID, digest and content of all settings.

    The standard one is first, then the strictest.
    """
    rows = base.execute("SELECT id, digest, content FROM settings").fetchall()
    return sorted(rows, key=lambda row: (row[1] != standard_digest(), _strictness(row[2]), row[1]))


def other_settings(base: sqlite3.Connection, table: str, family: int, setting: int) -> list[tuple[Setting, int]]:
    """Return the other settings with finished trials, and the number of these trials."""
    query = f"SELECT SUM(n + n_covered + n_copied + n_undefined) FROM {table} WHERE family = ? AND setting = ?"
    found = []
    for other in [*(row[0] for row in _by_strictness(base)), UNSTATED]:
        n = 0 if other == setting else base.execute(query, (family, other)).fetchone()[0]
        found += [(setting_at(base, other), int(n))] if n else []
    return found


@lru_cache(1)
def standard_digest() -> str:
    """Return the digest of the standard costs and limits."""
    return setting_digest(CostModel(), Limits())


@lru_cache(256)
def _strictness(content: str) -> tuple[float, ...]:
    """Return a sort key of a setting, the strictest first.

    The costs of a trade decide, then those of a position, then the limits.
    """
    stated = json.loads(content)
    costs, limits = ({name: _number(value) for name, value in stated[part].items()} for part in ("costs", "limits"))
    trade = sum(costs.get(name) or 0.0 for name in ("fee_bps", "slippage_bps", "impact_bps"))
    held = sum(costs.get(name) or 0.0 for name in ("financing_bps", "borrow_bps")) - (costs.get("cash_bps") or 0.0)
    bounds = [limits.get(name) for name in ("max_gross", "max_weight", "max_participation")]
    return -trade, -held, *(inf if bound is None else bound for bound in bounds), -(costs.get("capital") or 0.0)


@lru_cache(256)
def setting_text(content: str) -> str:
    """Format a setting from its JSON.

    It is untrusted, so only numbers of known names are shown.
    """
    stated = json.loads(content)
    costs, limits = stated["costs"], stated["limits"]
    standard_costs, standard_limits = setting_of(CostModel(), Limits()).values()
    if (costs, limits) == (standard_costs, standard_limits):
        return f"standard: {', '.join(_shown(_COSTS, name, costs) for name in _SHOWN_ALWAYS)}"
    different = [_shown(_COSTS, name, costs) for name in _COSTS if costs.get(name) != standard_costs[name]]
    different += [_shown(_LIMITS, name, limits) for name in _LIMITS if limits.get(name) != standard_limits[name]]
    different += [_shown(_STOP_GAP, "stop_gap", costs)] if costs.get("stop_gap") else []
    if limits.get("allow_short") is False:
        different.append("cash account" if limits.get("cash_account") is True else "long only")
    return f"{', '.join(different) or 'unknown rules'}; otherwise standard"


def setting_facts(rules: Any) -> list[str]:
    """Return each cost, limit and other input of a run as text, or empty texts."""
    stated = rules_of_setting(rules) or {"costs": {}, "limits": {}}
    facts = [_shown(labels, name, stated[part]) for part, labels in _LABELS.items() for name in labels]
    facts.append("long only" if stated["limits"].get("allow_short") is False else "long and short")
    others = rules if isinstance(rules, Mapping) else {}
    return facts + [f"{name} {str(others[name])[:20]}" if name in others else "" for name in ("lookback", "seed")]


def _shown(labels: Mapping[str, str], name: str, values: Mapping[str, Any]) -> str:
    value, label = _number(values.get(name)), labels[name]
    if value is None:
        what = label.partition(" up to {")[0].partition(" {")[0]
        return f"{what} not limited" if name in values and name in _LIMITS else f"{what} not stated"
    return label.format(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and abs(value) <= 1e300 else None


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    # JSON has no infinity; null means no limit.
    return {name: value if not isinstance(value, float) or isfinite(value) else None for name, value in values.items()}
