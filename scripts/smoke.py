"""Install an artefact in a clean environment, and compare its output with that of another build.

python scripts/smoke.py record FOLDER            write the version, a run and a replay of this Python's `openoutcry`
python scripts/smoke.py check FOLDER ARTEFACT    do the same with a wheel or sdist, and compare the bytes

Needs Python only, on every platform with a wheel.
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
# The tested artefact must not import from the checkout or from this Python.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def output_of(command: Path, folder: Path, *words: str) -> str:
    """Run a command in a folder and return its standard output."""
    done = subprocess.run(
        [command, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        sys.exit(f"{command.name} {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def record(command: Path, folder: Path) -> None:
    """Write the version of a build, a run with its record, and the replay of that record."""
    commands = {
        "version.json": ("--version", "--json"),
        "run.json": (*RUN, "--json"),
        "replay.json": ("replay", "record.jsonl", "--data", "ecb-fx", "--json"),
    }
    for name, words in commands.items():
        # As bytes: in text mode, Windows would change the line ends.
        (folder / name).write_bytes(output_of(command, folder, *words).encode())


def install(artefact: Path, folder: Path) -> Path:
    """Install an artefact and its dependencies in a new environment, and return its command."""
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    # The pins need Python 3.11 or newer. An environment variable also applies to the build of an sdist.
    pins = {"PIP_CONSTRAINT": str(CONSTRAINTS)} if sys.version_info >= (3, 11) else {}
    pip = [scripts / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", artefact.resolve()], cwd=folder, env=ENVIRONMENT | pins, check=True)
    subprocess.run([*pip, "check"], cwd=folder, env=ENVIRONMENT, check=True)
    return scripts / "openoutcry"


def has_engine(artefact: Path) -> bool:
    """Return whether an artefact has the WebAssembly engine, which self-verifying pages need."""
    if zipfile.is_zipfile(artefact):
        names = zipfile.ZipFile(artefact).namelist()
    else:
        with tarfile.open(artefact) as archive:
            names = archive.getnames()
    return any(name.endswith("openoutcry/report/engine/engine.wasm.gz") for name in names)


def lost_engine(artefact: Path) -> bool:
    """Return whether this checkout has the engine for pages and the artefact lacks it."""
    return (ENGINE / "engine.wasm.gz").exists() and not has_engine(artefact)


def check(reference: Path, artefact: Path) -> str:
    """Return the digest of the record of an artefact; exit if a byte differs from the reference."""
    if lost_engine(artefact):
        sys.exit(f"{artefact.name}: the engine for pages, which is in this checkout, is required; received none")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        command = install(artefact, folder)
        record(command, folder)
        for name in ("version.json", "run.json", "record.jsonl", "replay.json"):
            if (folder / name).read_bytes() != (reference / name).read_bytes():
                received = (folder / name).read_text(encoding="utf-8")
                sys.exit(f"{artefact.name}: {name} must be as in {reference}; received {received}")
        theirs = str((reference / "record.jsonl").resolve())
        replayed = json.loads(output_of(command, folder, "replay", theirs, "--data", "ecb-fx", "--json"))
        if has_engine(artefact):
            words = ("report", "record.jsonl", "--data", "ecb-fx", "--out", "page.html", "--self-verifying")
            output_of(command, folder, *words)
    if not replayed["verified"]:
        sys.exit(f"{artefact.name}: the record of the reference must be verified; received {replayed['differences']}")
    return str(replayed["digest"])


def main(words: list[str]) -> None:
    """Write the reference, or compare an artefact with it."""
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
