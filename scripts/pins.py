"""Resolve the newest versions of the requirements in pyproject.toml, and pin them in the two constraints files.

    python scripts/pins.py                 the newest version of every package
    python scripts/pins.py --only ruff     the pinned versions, but the newest ruff

`constraints.txt` pins the base and all development extras. `constraints-floor.txt` pins the oldest supported numpy and
gymnasium with the packages that the tests need. Run it on the oldest Python that installs them: a newer one may resolve
versions that the oldest cannot install.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]
EXTRAS = ("dev", "oracle")
# pyarrow 26 requires numpy 2 on import, which its metadata does not declare.
FLOORS = ["numpy==1.26.*", "gymnasium==1.1.*", "pyarrow<26"]
# Packages that no test imports, or only tests marked `once`. verifiers also requires numpy 2.1.
TOOLS = (
    "abi3audit",
    "alembic",
    "anthropic",
    "arch",
    "brotli",
    "fastapi",
    "feedparser",
    "hatchling",
    "httptools",
    "httpx",
    "jinja2",
    "maturin",
    "mcp",
    "mkdocs-material",
    "mypy",
    "openai",
    "optuna",
    "playwright",
    "psycopg",
    "python-ulid",
    "ruff",
    "sqlalchemy",
    "uvicorn",
    "uvloop",
    "verifiers",
    "zstandard",
)


def resolve(requirements: list[str], kept: list[str]) -> str:
    """Return a `name==version` line for each package of an empty environment."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        pip = [str(Path(directory, "bin", "pip")), "--disable-pip-version-check"]
        constraints = Path(directory, "kept.txt")
        constraints.write_text("\n".join(kept), encoding="utf-8")
        subprocess.run([*pip, "install", "--quiet", "--constraint", str(constraints), *requirements], check=True)
        return subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Pin the requirements of pyproject.toml.")
    parser.add_argument("--only", nargs="+", metavar="PACKAGE", help="keep the pinned versions of all other packages")
    only: list[str] | None = parser.parse_args().only
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base: list[str] = project["dependencies"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    newest = [*base, *(requirement for extra in EXTRAS for requirement in extras[extra])]
    floor = [*FLOORS, *(each for each in newest if not each.startswith(TOOLS))]
    for name, requirements in (("constraints.txt", newest), ("constraints-floor.txt", floor)):
        pinned = (ROOT / name).read_text(encoding="utf-8").splitlines()
        kept = [] if only is None else [line for line in pinned if line.partition("==")[0] not in only]
        (ROOT / name).write_text(resolve(requirements, kept), encoding="utf-8")
        sys.stdout.write(f"{name}: {len(requirements)} requirements resolved\n")


if __name__ == "__main__":
    main()
