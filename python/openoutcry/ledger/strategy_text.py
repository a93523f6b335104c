"""One-line texts of strategies from their definitions, which are untrusted."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

from openoutcry.untrusted.counted_nouns import counted


def definition_of(strategy: str) -> dict[str, Any]:
    """Return a strategy's definition from its JSON; empty if it is not an object."""
    try:
        definition = json.loads(strategy)
    except (ValueError, RecursionError):
        return {}
    return definition if isinstance(definition, dict) else {}


def call_text(strategy: str, first: Collection[str] = ()) -> str | None:
    """Format a strategy as `trend(fast=10, slow=50)`; None without a name.

    Args:
        strategy: Its definition as JSON.
        first: Params to name before the others.
    """
    definition = definition_of(strategy)
    name, params = definition.get("name", definition.get("strategy")), definition.get("params")
    if isinstance(code := definition.get("code"), str):
        name = f"code {code[:8]}"
    if not isinstance(name, str):
        return None
    shown = ""
    if isinstance(params, Mapping):
        shown = ", ".join(f"{key}={_short(params[key])}" for key in sorted(params, key=lambda key: key not in first))
    return f"{name}({shown})" if shown else name


def rules_text(strategy: str) -> str:
    """Format the number of rules of a strategy, else that of its params."""
    definition = definition_of(strategy)
    n_rules = sum(
        len(value) for name, value in definition.items() if name.endswith("rules") and isinstance(value, list)
    )
    if n_rules:
        return counted(n_rules, "rule")
    params = definition.get("params")
    return counted(len(params) if isinstance(params, Mapping) else 0, "param")


def comments_of(strategy: str) -> str:
    """Return the comments of the rules of a strategy."""
    definition = definition_of(strategy)
    rules = [value for name, value in definition.items() if name.endswith("rules") and isinstance(value, list)]
    comments = [rule.get("comment") for each in rules for rule in each if isinstance(rule, Mapping)]
    return "; ".join(text for text in comments if isinstance(text, str))


def on_one_line(text: str, longest: int | None = None) -> str:
    """Return a text on one line, without control and invisible characters.

    A longer text than `longest` characters is cut.
    """
    plain = "".join(" " if _is_hidden(char) else char for char in text)
    plain = " ".join(plain.split(" ")).strip() if longest is None else " ".join(plain.split())
    return plain if longest is None or len(plain) <= longest else f"{plain[: longest - 1]}…"


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
