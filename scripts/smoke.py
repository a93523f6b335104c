"""Install an artefact in a clean environment, and hold it to the numbers that another build made.

python scripts/smoke.py record FOLDER            what the `openoutcry` beside this Python says, runs and replays
python scripts/smoke.py check FOLDER ARTEFACT    the same of a wheel or a source distribution, compared to the byte

Needs nothing but Python, on every platform that there is a wheel for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
ENGINE = ROOT / "python" / "openoutcry" / "report" / "engine"
RUN = (
    "run",
    "--data",
    "ecb-fx",
    "--agent",
    "momentum",
    "--window",
    "2019-01-01:2020-01-01",
    "--record",
    "record.jsonl",
)
# Nothing of the checkout or of this Python may reach what is tried.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def said(command: Path, folder: Path, *words: str) -> str:
    """Return what a command prints in a folder."""
    done = subprocess.run(
        [command, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        sys.exit(f"{command.name} {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def record(command: Path, folder: Path) -> None:
    """Write what a build says of itself, a run of it with its record, and what it makes of that record."""
    asked = {
        "version.json": ("--version", "--json"),
        "run.json": (*RUN, "--json"),
        "replay.json": ("replay", "record.jsonl", "--data", "ecb-fx", "--json"),
    }
    for name, words in asked.items():
        # As bytes: Windows would end the lines of a text in its own way.
        (folder / name).write_bytes(said(command, folder, *words).encode())


def installed(artefact: Path, folder: Path) -> Path:
    """Return the command of an artefact that was installed with its dependencies and nothing else."""
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    # The pins are of Python 3.11 or newer. As a variable they reach what pip builds an sdist with, too.
    pins = {"PIP_CONSTRAINT": str(CONSTRAINTS)} if sys.version_info >= (3, 11) else {}
    pip = [scripts / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", artefact.resolve()], cwd=folder, env=ENVIRONMENT | pins, check=True)
    subprocess.run([*pip, "check"], cwd=folder, env=ENVIRONMENT, check=True)
    return scripts / "openoutcry"


def has_engine(artefact: Path) -> bool:
    """Return whether an artefact holds the engine for pages, of which one that was built without can make none."""
    if zipfile.is_zipfile(artefact):
        names = zipfile.ZipFile(artefact).namelist()
    else:
        with tarfile.open(artefact) as archive:
            names = archive.getnames()
    return any(name.endswith("openoutcry/report/engine/engine.wasm.gz") for name in names)


def lost_engine(artefact: Path) -> bool:
    """Return whether this checkout has the engine for pages and an artefact of it has not."""
    return (ENGINE / "engine.wasm.gz").exists() and not has_engine(artefact)


def check(reference: Path, artefact: Path) -> str:
    """Return the digest that an artefact and the reference have in common; exit if a byte differs."""
    if lost_engine(artefact):
        sys.exit(f"{artefact.name}: the engine for pages, which is in this checkout, is required; received none")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        command = installed(artefact, folder)
        record(command, folder)
        for name in ("version.json", "run.json", "record.jsonl", "replay.json"):
            if (folder / name).read_bytes() != (reference / name).read_bytes():
                received = (folder / name).read_text(encoding="utf-8")
                sys.exit(f"{artefact.name}: {name} must be as in {reference}; received {received}")
        theirs = str((reference / "record.jsonl").resolve())
        replayed = json.loads(said(command, folder, "replay", theirs, "--data", "ecb-fx", "--json"))
        if has_engine(artefact):
            words = ("report", "record.jsonl", "--data", "ecb-fx", "--out", "page.html", "--self-verifying")
            said(command, folder, *words)
    if not replayed["verified"]:
        sys.exit(f"{artefact.name}: the record of the reference must be verified; received {replayed['differences']}")
    return str(replayed["digest"])


def main(words: list[str]) -> None:
    """Make the reference, or hold artefacts to it."""
    match words:
        case ["record", folder]:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / "record.jsonl").unlink(missing_ok=True)
            record(Path(sys.executable).with_name("openoutcry"), Path(folder))
        case ["check", folder, artefact]:
            digest = check(Path(folder), Path(artefact))
            sys.stdout.write(f"{Path(artefact).name}: record {digest}, as in the reference\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
