"""Write the licence texts of the crates that the wheel and the npm package link.

    python scripts/licences.py             rewrite the two files
    python scripts/licences.py --check     fail if a file is not what this script writes

The crates come from the lock files, the texts from the sources in cargo's registry. Nothing is downloaded with
`--check`: if the registry lacks a crate, only the digest of the lock file is compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
NAME = "LICENSE-THIRD-PARTY"
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# Code in another language within a crate. zstd is also under GPL-2.0 (COPYING), by choice of the user.
INNER = {"zstd-sys": ("zstd/LICENSE",)}
# Crates packed without a licence file, and a crate of the same repository and author that has one.
SIBLINGS = {"pulp-wasm-simd-flag": "pulp"}
RULE = "=" * 100
HEAD = """\
Licences of the third-party code in {package}

Written by scripts/licences.py from {lock} and the sources of the crates. Do not edit: `make licences`.
Digest of the registry crates in {lock}: {digest}

It links these crates, and the standard library of the Rust toolchain (MIT OR Apache-2.0, The Rust Project Developers;
the text of Apache-2.0 is below). The texts follow.

{crates}
"""


@dataclass(frozen=True)
class Package:
    """A package that links crates: the folder of its licence file, its lock file and its root crate."""

    title: str
    folder: str
    lock: str
    root: str
    # Cargo's filter; without one, the crates of every platform.
    platform: str | None = None

    @property
    def manifest(self) -> Path:
        return (ROOT / self.lock).with_name("Cargo.toml")

    @property
    def path(self) -> Path:
        return ROOT / self.folder / NAME


PACKAGES = (
    Package("the wheel", "rust/python", "Cargo.lock", "openoutcry-py"),
    Package(
        "the npm package", "rust/wasm", "rust/wasm/Cargo.lock", "openoutcry-wasm", platform="wasm32-unknown-unknown"
    ),
)


class MissingCratesError(Exception):
    """Cargo's registry lacks sources, and downloads are off."""


def lock_digest(text: str) -> str:
    """Return the SHA-256 digest of the names, versions and checksums in a lock file."""
    crates = [each for each in tomllib.loads(text)["package"] if "checksum" in each]
    lines = sorted(f"{each['name']} {each['version']} {each['checksum']}\n" for each in crates)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def metadata(package: Package, is_offline: bool) -> dict[str, Any]:
    """Return `cargo metadata` of a package."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(package.manifest)]
    command += ["--filter-platform", package.platform] if package.platform else []
    done = subprocess.run([*command, *["--offline"] * is_offline], capture_output=True, text=True)
    if done.returncode and re.search("offline mode|--offline was specified", done.stderr):
        raise MissingCratesError(done.stderr.strip())
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
    return json.loads(done.stdout)


def linked(graph: dict[str, Any], root: str) -> list[dict[str, Any]]:
    """Return the registry crates linked into a crate: no build scripts, procedural macros or tests."""
    crates = {each["id"]: each for each in graph["packages"]}
    needs = {each["id"]: each["deps"] for each in graph["resolve"]["nodes"]}
    todo = [name for name, each in crates.items() if each["name"] == root]
    found = set()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for need in needs[name]:
            is_macro = any("proc-macro" in target["kind"] for target in crates[need["pkg"]]["targets"])
            if not is_macro and any(kind["kind"] is None for kind in need["dep_kinds"]):
                todo.append(need["pkg"])
    return sorted((crates[name] for name in found if crates[name]["source"]), key=title)


def title(crate: dict[str, Any]) -> str:
    return f"{crate['name']} {crate['version']}"


def texts(crate: dict[str, Any], others: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the licence texts of a crate; there is at least one."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
    files += [folder / each for each in INNER.get(crate["name"], ())]
    if not files and crate["name"] in SIBLINGS:
        sibling = next(each for each in others if each["name"] == SIBLINGS[crate["name"]])
        yield from texts(sibling, others)
        return
    if not files:
        raise SystemExit(f"a licence file in {title(crate)} is required; hint: add a row to SIBLINGS in this script")
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        yield "\n".join(line.rstrip() for line in lines).strip("\n")


def rendered(package: Package, is_offline: bool) -> str:
    """Return the licence file of a package: a row for each crate, and each distinct text once."""
    crates = linked(metadata(package, is_offline), package.root)
    users: dict[str, list[str]] = {}
    for crate in crates:
        for text in dict.fromkeys(texts(crate, crates)):
            users.setdefault(text, []).append(title(crate))
    rows = "\n".join(f"{title(each):32} {each['license'].replace('/', ' OR ')}" for each in crates)
    digest = lock_digest((ROOT / package.lock).read_text(encoding="utf-8"))
    head = HEAD.format(package=package.title, lock=package.lock, digest=digest, crates=rows)
    parts = []
    for text, names in users.items():
        used_by = fill(", ".join(names), len(RULE), break_on_hyphens=False)
        parts.append(f"\n{RULE}\n{used_by}\n{RULE}\n\n{text}\n")
    return head + "".join(parts)


def fault(package: Package) -> str | None:
    """Return how the licence file of a package differs from what this script writes, or None."""
    stored = package.path.read_text(encoding="utf-8")
    name = package.path.relative_to(ROOT)
    digest = lock_digest((ROOT / package.lock).read_text(encoding="utf-8"))
    if f": {digest}\n" not in stored:
        return f"{name} must be written from this {package.lock}; hint: make licences"
    try:
        is_equal = rendered(package, is_offline=True) == stored
    except MissingCratesError:
        sys.stdout.write(f"{name}: compared by digest only, because cargo's registry lacks some of its crates\n")
        return None
    return None if is_equal else f"{name} must be what scripts/licences.py writes; hint: make licences"


def main(arguments: list[str]) -> int:
    """Rewrite or check the licence files, and return the exit code."""
    if arguments not in ([], ["--check"]):
        raise SystemExit(f"the only option is --check; received {' '.join(arguments)}")
    if not arguments:
        for package in PACKAGES:
            package.path.write_text(rendered(package, is_offline="CARGO_NET_OFFLINE" in os.environ), encoding="utf-8")
        return 0
    faults = [found for package in PACKAGES if (found := fault(package))]
    sys.stderr.writelines(f"{each}\n" for each in faults)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
