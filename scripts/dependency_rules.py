"""Check the crates of the lock files against .cargo/deny.toml, without cargo-deny and without a network.

    python scripts/dependency_rules.py

It applies the rules that the file states: allowed licences, banned and duplicate crates, wildcard versions, and the
source of each crate. CI runs `cargo deny` itself, which knows more forms of rules; one that this script does not
know is a fault, so that no rule is skipped unseen.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from typing import Any

import tomllib
from licences import PACKAGES, ROOT, MissingCratesError, metadata

RULES = ".cargo/deny.toml"
# The default of cargo-deny where the rules name no registry.
REGISTRY = "registry+https://github.com/rust-lang/crates." + "io-index"
KNOWN = {
    "licenses": {"allow", "unused-allowed-license"},
    "bans": {"multiple-versions", "wildcards", "allow-wildcard-paths", "deny", "skip"},
    "sources": {"unknown-registry", "unknown-git"},
    # Needs a database from the network: the release workflow checks it.
    "advisories": {"yanked"},
}
SETTINGS = {
    "bans": {"multiple-versions": "deny", "wildcards": "deny", "allow-wildcard-paths": True},
    "sources": {"unknown-registry": "deny", "unknown-git": "deny"},
}
# Other forms, such as ranges of versions and `wrappers`, would be rules that match nothing here.
CRATES = {"deny": "a name", "skip": "a name or `name@version`"}
ROWS = {"deny": r"[\w-]+", "skip": r"[\w-]+(@\d+(\.\d+){0,2})?"}
TOKEN = re.compile(r"\(|\)|[^\s()]+")

Table = dict[str, Any]


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Return whether an SPDX expression can be met by allowed licences; `/` is the old form of OR."""
    tokens = TOKEN.findall(expression.replace("/", " OR "))

    def alternatives() -> bool:
        met = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = conjunction() or met
        return met

    def conjunction() -> bool:
        met = licence()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = licence() and met
        return met

    def licence() -> bool:
        token = tokens.pop(0)
        if token == "(":
            met = alternatives()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            token = f"{token} WITH {tokens[1]}"
            del tokens[:2]
        return token in allowed

    try:
        # What is left follows an operator in another form, such as `and`.
        return alternatives() and not tokens
    except IndexError:
        return False


def unknown_rules(rules: Table) -> list[str]:
    """Return the rules that this script does not apply as they are set."""
    bans = rules.get("bans", {})
    found = [
        f"{RULES}: [{table}] {key} must be a rule that scripts/dependency_rules.py knows"
        for table, keys in rules.items()
        for key in keys
        if key not in KNOWN.get(table, ())
    ]
    found += [
        f"{RULES}: [{table}] {key} must be {value}; received {rules.get(table, {}).get(key)}"
        for table, wanted in SETTINGS.items()
        for key, value in wanted.items()
        if rules.get(table, {}).get(key) != value
    ]
    found += [
        f"{RULES}: [bans] {key} must have rows of `crate`, {form}, and `reason`; received {row}"
        for key, form in CRATES.items()
        for row in bans.get(key, [])
        if not (isinstance(row, dict) and set(row) == {"crate", "reason"} and re.fullmatch(ROWS[key], row["crate"]))
    ]
    return found


def is_skipped(name: str, version: str, skipped: set[str]) -> bool:
    parts = version.split(".")
    return bool(skipped & {name, *(f"{name}@{'.'.join(parts[:n])}" for n in range(1, len(parts) + 1))})


def lock_faults(lock: Table, rules: Table) -> list[str]:
    """Return the banned and duplicate crates of a lock file, and those from another source than the registry."""
    banned = {each["crate"]: each["reason"] for each in rules["bans"]["deny"]}
    skipped = {each["crate"] for each in rules["bans"]["skip"]}
    versions = defaultdict(list)
    found = []
    for crate in lock["package"]:
        name, version, source = crate["name"], crate["version"], crate.get("source", REGISTRY)
        if name in banned:
            found.append(f"{name} must not be a dependency: {banned[name]}")
        if source != REGISTRY:
            found.append(f"{name} {version} must come from the one registry; received {source}")
        if not is_skipped(name, version, skipped):
            versions[name].append(version)
    found += [
        f"{name} must have one version; received {', '.join(each)}" for name, each in versions.items() if len(each) > 1
    ]
    return found


def graph_faults(graph: Table, rules: Table) -> list[str]:
    """Return the crates without an allowed licence, and our dependencies that accept any version."""
    allowed = set(rules["licenses"]["allow"])
    found = [
        f"{crate['name']} {crate['version']} must have an allowed licence; received {crate['license']}"
        for crate in graph["packages"]
        if not is_allowed(crate["license"] or "none", allowed)
    ]
    found += [
        f"{crate['name']} must name versions of {need['name']}; received *"
        for crate in graph["packages"]
        for need in crate["dependencies"]
        if crate["source"] is None and need["req"] == "*" and "path" not in need
    ]
    return found


def main() -> int:
    """Print the faults of both workspaces, and return the exit code."""
    rules = tomllib.loads((ROOT / RULES).read_text(encoding="utf-8"))
    found = unknown_rules(rules)
    for package in PACKAGES:
        lock = tomllib.loads((ROOT / package.lock).read_text(encoding="utf-8"))
        found += [f"{package.lock}: {each}" for each in lock_faults(lock, rules)]
        try:
            found += [f"{package.lock}: {each}" for each in graph_faults(metadata(package, is_offline=True), rules)]
        except MissingCratesError:
            sys.stdout.write(
                f"{package.lock}: licences not checked, because cargo's registry lacks some of its crates\n"
            )
        except SystemExit as refused:
            # A planted crate: the faults of the lock file say more.
            found.append(str(refused))
    sys.stderr.writelines(f"{each}\n" for each in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
