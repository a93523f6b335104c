"""The release workflow: its files exist, and it publishes only on request."""

from __future__ import annotations

import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tomllib

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
RELEASE = WORKFLOWS["release.yml"]
JOBS: dict[str, dict[str, Any]] = RELEASE["jobs"]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
VERSION = CARGO["package"]["version"]
NPM = ROOT / "rust" / "wasm" / "npm"
GUARD = "${{ inputs.publish }}"
# Actions that publish.
PUBLISHERS = ("attest-", "pypi-publish", "crates-io-auth")
PLATFORMS = {
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "universal2-apple-darwin",
    "x86_64-pc-windows-msvc",
}


def texts() -> dict[str, str]:
    return {name: (FOLDER / name).read_text(encoding="utf-8") for name in WORKFLOWS}


def is_publishing(step: dict[str, Any]) -> bool:
    """Return whether a step publishes."""
    publishes = any("publish" in line and "--dry-run" not in line for line in step.get("run", "").splitlines())
    return publishes or any(word in step.get("uses", "") for word in PUBLISHERS)


def manifest(crate: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / crate / "Cargo.toml").read_text(encoding="utf-8"))


def published() -> dict[str, dict[str, Any]]:
    """Return the folder and manifest of each published crate."""
    found = {folder: manifest(folder) for folder in CARGO["members"]}
    return {folder: each for folder, each in found.items() if each["package"].get("publish", True)}


def test_a_release_is_a_rehearsal_unless_publish_is_set() -> None:
    # YAML reads the key `on` as true.
    publish = RELEASE[True]["workflow_dispatch"]["inputs"]["publish"]
    assert (publish["type"], publish["default"]) == ("boolean", False)
    publishing = {name for name, job in JOBS.items() if any(map(is_publishing, job.get("steps", [])))}
    assert publishing == {"provenance", "sbom", "publish-python", "publish-crates", "publish-npm"}
    assert {name: JOBS[name].get("if") for name in publishing} == dict.fromkeys(publishing, GUARD)


def test_only_publishing_jobs_have_write_permissions() -> None:
    assert all(each["permissions"] == {"contents": "read"} for each in WORKFLOWS.values())
    for name, job in JOBS.items():
        writes = {what for what, how in job.get("permissions", {}).items() if how != "read"}
        assert writes <= {"id-token", "attestations"}, name
        assert not writes or job["if"] == GUARD, name
        assert name.startswith("publish-") == (job.get("environment") == "release"), name


def test_the_gate_and_every_wheel_come_before_anything_is_published() -> None:
    def before(name: str) -> set[str]:
        needs = JOBS[name].get("needs", [])
        return set(needs).union(*(before(each) for each in needs))

    wanted = {"gate", "tag", "advisories", "engine", "linux", "desktop", "sdist", "crates", "gather"}
    wanted |= {"provenance", "sbom"}
    for name in ("publish-python", "publish-crates", "publish-npm"):
        assert before(name) >= wanted, name


def test_every_platform_has_a_wheel_of_either_kind() -> None:
    built = set()
    for name in ("linux", "desktop"):
        matrix = JOBS[name]["strategy"]["matrix"]
        built |= set(product(matrix["target"], matrix["python"]))
        machines = {row["target"] for row in matrix["include"] if "runner" in row}
        assert machines == set(matrix["target"]), name
    assert built >= set(product(PLATFORMS, ("3.13", "3.14t")))


def test_all_files_and_targets_of_a_workflow_exist() -> None:
    named = set().union(
        *(re.findall(r"(?<![\w/-])(?:scripts|rust|\.ci|docs)/[\w./-]*\w", text) for text in texts().values())
    )
    assert {"scripts/packages", "scripts/smoke.py", "scripts/check_wheel.py", "scripts/wasm", ".ci/run"} <= named
    missing = {each for each in named if not (ROOT / each).exists()}
    assert missing == (set() if NPM.exists() else {"scripts/wasm", "rust/wasm/npm"})
    made = set(re.findall(r"\bmake ([a-z-]+)$", "\n".join(texts().values()), re.MULTILINE))
    assert made == {"build", "fuzz", "test-javascript"}
    assert all(f"\n{each}:" in (ROOT / "Makefile").read_text(encoding="utf-8") for each in made)


def test_a_release_needs_the_parity_tests_in_node_and_a_browser() -> None:
    assert JOBS["gate"]["uses"] == "./.github/workflows/ci.yml"
    steps = [step.get("run") for job in WORKFLOWS["ci.yml"]["jobs"].values() for step in job["steps"]]
    assert {"bash .ci/run", "make test-javascript"} <= set(steps)


def test_the_npm_package_states_its_repository() -> None:
    # npm refuses the provenance of a package that states another repository, or none.
    lines = "\n".join(step.get("run", "") for step in JOBS["engine"]["steps"]).splitlines()
    stated = next(place for place, line in enumerate(lines) if line.startswith("npm pkg set repository.type=git"))
    assert '"repository.url=git+$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git"' in lines[stated]
    assert stated < lines.index("npm pack")
    assert "npm publish --provenance" in JOBS["publish-npm"]["steps"][-1]["run"]


def test_a_wheel_that_lost_the_engine_for_pages_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import check_wheel

    def lost(members: tuple[str, ...]) -> list[str]:
        return [each for each in check_wheel.faults("x-cp310-abi3-y.whl", 1, [*members]) if "engine for pages" in each]

    monkeypatch.setattr(check_wheel, "ROOT", tmp_path)
    assert lost(()) == lost(check_wheel.ENGINE) == []
    assert len(lost(check_wheel.ENGINE[:1])) == 1
    (tmp_path / "python" / check_wheel.ENGINE[0]).parent.mkdir(parents=True)
    (tmp_path / "python" / check_wheel.ENGINE[0]).touch()
    assert len(lost(())) == 2
    assert lost(check_wheel.ENGINE) == []
    sys.modules.pop("check_wheel")


def test_the_engine_for_pages_is_downloaded_before_a_build_reports_its_digest() -> None:
    for name, job in JOBS.items():
        lines = [str(step.get("run") or step.get("with", {}).get("path")) for step in job.get("steps", [])]
        smoke = [place for place, line in enumerate(lines) if "scripts/smoke.py" in line]
        assert not smoke or lines.index("python/openoutcry/report/engine") < smoke[0], name
        assert not smoke or "engine" in job["needs"], name


def test_the_npm_package_has_the_version_of_the_project() -> None:
    found = [json.loads(path.read_text(encoding="utf-8"))["version"] for path in NPM.glob("package.json")]
    assert found in ([], [VERSION])


def test_crates_are_packed_in_the_order_of_their_dependencies() -> None:
    script = (ROOT / "scripts" / "packages").read_text(encoding="utf-8")
    order = re.search(r"^crates=\((.*)\)$", script, re.MULTILINE)
    assert order is not None
    names = order[1].split()
    needs = {each["package"]["name"]: {*each["dependencies"]} & {*names} for each in published().values()}
    assert set(names) == set(needs)
    assert all(needs[name] <= set(names[:place]) for place, name in enumerate(names))


def test_a_published_crate_reads_only_its_own_files_and_has_its_licences() -> None:
    for folder, read in published().items():
        assert read["package"]["include"] == {"workspace": True}, folder
        sources = [path.read_text(encoding="utf-8") for path in (ROOT / folder / "src").rglob("*.rs")]
        reach = [found for text in sources for found in re.findall(r'include\w*!\([^)]*?"((?:\.\./)+[^"]*)"', text)]
        assert set(reach) <= {"../README.md"}, folder
        for name in ("LICENSE-MIT", "LICENSE-APACHE"):
            assert (ROOT / folder / name).read_bytes() == (ROOT / name).read_bytes()


def test_a_wheel_whose_bill_of_materials_lacks_a_crate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from check_wheel import sbom_faults

    names = [manifest(folder)["package"]["name"] for folder in CARGO["members"]]
    parts = [{"name": name, "version": VERSION} for name in names]
    bill = {"bomFormat": "CycloneDX", "metadata": {"component": parts[0]}, "components": parts[1:]}
    assert sbom_faults([json.dumps(bill)]) == []
    assert sbom_faults([]) == ["a wheel must hold one bill of materials; received 0"]
    bill["components"] = parts[1:-1]
    assert sbom_faults([json.dumps(bill)]) == [f"a bill of materials must list {names[-1]} {VERSION}"]
    sys.modules.pop("check_wheel")
