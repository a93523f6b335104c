"""Check the size, tags, files, entry points and bill of materials of a wheel.

python scripts/check_wheel.py dist/openoutcry-0.1.0-cp310-abi3-manylinux_2_34_x86_64.whl
"""

from __future__ import annotations

import configparser
import json
import sys
import zipfile
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "pyproject.toml"
MAX_BYTES = 8_000_000
NEEDED = (
    "openoutcry/__init__.py",
    "openoutcry/openoutcry_py.pyi",
    "openoutcry/py.typed",
    "openoutcry/data/bundled/ecb_fx.zip",
    "openoutcry/data/bundled/us_treasury.csv.gz",
    "openoutcry/arena/pages/static/arena.css",
    "openoutcry/arena/pages/static/arena.js",
    "openoutcry/arena/pages/static/icon.svg",
    "openoutcry/arena/pages/templates/base.html",
    "openoutcry/arena/pages/templates/registry.html",
    "openoutcry/arena/snapshots/theaters.json",
    "openoutcry/arena/sources/plan.json",
    "openoutcry/audits/realism/bands.json",
    "openoutcry/report/pages/inspector.js",
    "openoutcry/report/pages/proof.css",
    "openoutcry/report/pages/proof.js",
    "openoutcry/report/pages/proof_page.js",
    "openoutcry/report/pages/sections.css",
    "openoutcry_arena/__init__.py",
    ".dist-info/entry_points.txt",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
    ".dist-info/licenses/rust/python/LICENSE-THIRD-PARTY",
    ".dist-info/licenses/rust/wasm/LICENSE-THIRD-PARTY",
)
# Built by `scripts/wasm`; a wheel built without it has neither.
ENGINE = ("openoutcry/report/engine/engine.js", "openoutcry/report/engine/engine.wasm.gz")
# For any Python, or for free-threaded Python, which has no abi3.
TAGS = ("-cp310-abi3-", "-cp314-cp314t-")
NATIVE = (".so", ".pyd")
FOREIGN = ("tests/", "target/", "__pycache__/", ".venv")


def faults(name: str, n_bytes: int, members: list[str]) -> list[str]:
    """Return the faults of a wheel's name, size and contents."""
    found = []
    if not any(tag in name for tag in TAGS):
        found.append(f"a wheel must be one of {', '.join(TAGS)}; received {name}")
    if not any(member.startswith("openoutcry/openoutcry_py.") and member.endswith(NATIVE) for member in members):
        found.append("a wheel must hold the engine, openoutcry/openoutcry_py")
    if n_bytes >= MAX_BYTES:
        found.append(f"a wheel must be smaller than {MAX_BYTES} bytes; received {n_bytes}")
    found += [f"a wheel must hold {each}" for each in NEEDED if not any(member.endswith(each) for member in members)]
    lacking = [each for each in ENGINE if each not in members]
    # Required if this checkout has the engine: a release that lost it could not write self-verifying pages.
    is_wanted = len(lacking) < len(ENGINE) or any((ROOT / "python" / each).exists() for each in ENGINE)
    found += [f"a wheel with the engine for pages must hold {each}" for each in lacking if is_wanted]
    found += [f"a wheel must not hold {member}" for member in members if any(part in member for part in FOREIGN)]
    return found


def entry_faults(text: str, members: list[str]) -> list[str]:
    """Return the entry points that a wheel does not declare, or declares for a missing module."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = {"console_scripts": project["scripts"], **project["entry-points"]}
    declared = configparser.ConfigParser(delimiters=("=",))
    declared.read_string(text)
    found = []
    for group, entries in wanted.items():
        for name, target in entries.items():
            received = declared.get(group, name, fallback=None)
            if received != target:
                found.append(f"a wheel must declare {group} {name} = {target}; received {received}")
            stem = target.partition(":")[0].replace(".", "/")
            if not {f"{stem}.py", f"{stem}/__init__.py"} & set(members):
                found.append(f"a wheel must hold {stem}.py for {group} {name}")
    return found


def sbom_faults(texts: list[str]) -> list[str]:
    """Return the faults of a wheel's bills of materials.

    A wheel must have exactly one, in CycloneDX, that lists each crate and version.
    """
    if len(texts) != 1:
        return [f"a wheel must hold one bill of materials; received {len(texts)}"]
    bill = json.loads(texts[0])
    if bill.get("bomFormat") != "CycloneDX":
        return [f"a bill of materials must be CycloneDX; received {bill.get('bomFormat')}"]
    listed = {(each["name"], each["version"]) for each in [bill["metadata"]["component"], *bill["components"]]}
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    crates = [tomllib.loads((ROOT / each / "Cargo.toml").read_text(encoding="utf-8")) for each in cargo["members"]]
    wanted = {(crate["package"]["name"], cargo["package"]["version"]) for crate in crates}
    return [f"a bill of materials must list {' '.join(each)}" for each in sorted(wanted - listed)]


def main(paths: list[str]) -> int:
    """Print the size and the faults of a wheel, and return the exit code."""
    if len(paths) != 1:
        sys.stderr.write(f"exactly one wheel is required; received {len(paths)}: {', '.join(paths)}\n")
        return 1
    wheel = Path(paths[0])
    n_bytes = wheel.stat().st_size
    archive = zipfile.ZipFile(wheel)
    members = archive.namelist()
    found = faults(wheel.name, n_bytes, members)
    found += [
        fault
        for member in members
        if member.endswith(".dist-info/entry_points.txt")
        for fault in entry_faults(archive.read(member).decode(), members)
    ]
    found += sbom_faults([archive.read(member).decode() for member in members if member.endswith(".cyclonedx.json")])
    sys.stdout.write(f"{wheel.name}: {n_bytes / 1e6:.2f} MB\n")
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
