"""Resolve the newest versions of what pyproject.toml asks for, and pin them in the two constraints files.

    python scripts/pins.py

`constraints.txt` holds the base and every extra of development, `constraints-floor.txt` the oldest numpy and gymnasium
that the package accepts with what the tests need. Run it on the oldest Python that is to install them: a newer one may
choose what that one cannot.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]
EXTRAS = ("dev", "oracle")
# pyarrow 26 asks for numpy 2 where it is imported, not where it is installed.
FLOORS = ["numpy==1.26.*", "gymnasium==1.1.*", "pyarrow<26"]
# What no test imports, or only one that is marked `once`.
TOOLS = (
    "abi3audit",
    "arch",
    "fastapi",
    "httpx",
    "maturin",
    "mcp",
    "mkdocs-material",
    "mypy",
    "playwright",
    "ruff",
    "uvicorn",
)


def resolve(requirements: list[str]) -> str:
    """Return one `name==version` line per package that the requirements install in an empty environment."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        pip = [str(Path(directory, "bin", "pip")), "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *requirements], check=True)
        return subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write both files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base: list[str] = project["dependencies"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    newest = [*base, *(requirement for extra in EXTRAS for requirement in extras[extra])]
    floor = [*FLOORS, *(each for each in newest if not each.startswith(TOOLS))]
    for name, requirements in (("constraints.txt", newest), ("constraints-floor.txt", floor)):
        (ROOT / name).write_text(resolve(requirements), encoding="utf-8")
        sys.stdout.write(f"{name}: {len(requirements)} requirements resolved\n")


if __name__ == "__main__":
    main()
