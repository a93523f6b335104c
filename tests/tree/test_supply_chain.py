"""Dependencies: licence texts of linked crates, rules for crates, and pinned actions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import tomllib
from crate_layers import dependencies

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# A full commit, which cannot be moved, and its version for readers; or a workflow of this repository.
PINNED = re.compile(r"\./\.github/\S+|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){2}")
RULES = tomllib.loads((ROOT / ".cargo" / "deny.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(ROOT / "scripts"))
    import dependency_rules
    import licences

    yield {"licences": licences, "rules": dependency_rules}
    sys.path.remove(str(ROOT / "scripts"))
    del sys.modules["dependency_rules"], sys.modules["licences"]


def lock(name: str) -> dict[str, list[dict[str, str]]]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def tree_of(package: object) -> set[str]:
    """Return the linked crates by `cargo tree`, which is another resolver of features and kinds than the script."""
    command = ["cargo", "tree", "--locked", "--offline", "--edges", "normal,no-proc-macro", "--prefix", "none"]
    command += ["--manifest-path", str(package.manifest), "--package", package.root]
    command += ["--target", package.platform or "all", "--format", "{p}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not run: cargo's registry lacks crates of {package.lock}")
    return {" ".join(line.split()[:2]).replace(" v", " ") for line in done.stdout.splitlines() if "(/" not in line}


@pytest.mark.parametrize("place", [0, 1], ids=["wheel", "npm"])
def test_every_linked_crate_has_its_licence_text(scripts: dict[str, ModuleType], place: int) -> None:
    package = scripts["licences"].PACKAGES[place]
    head, *parts = re.split(r"\n=+\n", package.path.read_text(encoding="utf-8"))
    listed = {" ".join(line.split()[:2]) for line in re.findall(r"^\S+ \d\S* +\S.*$", head, re.MULTILINE)}
    # Shorter texts are notices that refer to the licences.
    full = [names for names, text in zip(parts[::2], parts[1::2], strict=True) if len(text) > 400]
    assert {name for names in full for name in names.replace("\n", " ").split(", ")} == listed
    assert len(listed) > 30
    if shutil.which("cargo"):
        assert tree_of(package) == listed


def test_the_licence_files_are_those_of_the_lock_files(scripts: dict[str, ModuleType]) -> None:
    licences = scripts["licences"]
    for package in licences.PACKAGES:
        digest = licences.lock_digest((ROOT / package.lock).read_text(encoding="utf-8"))
        assert digest in package.path.read_text(encoding="utf-8"), "hint: make licences"
        shipped = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license-files"]
        assert package.path.relative_to(ROOT).as_posix() in shipped


def test_both_lock_files_know_the_dependencies_of_each_crate() -> None:
    # The workspace for JavaScript has a lock file of its own, which no build of the wheel updates.
    locked = {each["name"]: each for each in lock("rust/wasm/Cargo.lock")["package"]}
    for path in sorted((ROOT / "rust").glob("*/Cargo.toml")):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        name = manifest["package"]["name"]
        if name in locked:
            names = {each.split()[0] for each in locked[name].get("dependencies", [])}
            assert names == dependencies(manifest), name


def test_the_crates_follow_the_rules(scripts: dict[str, ModuleType]) -> None:
    rules = scripts["rules"]
    assert rules.unknown_rules(RULES) == []
    assert [rules.lock_faults(lock(name), RULES) for name in ("Cargo.lock", "rust/wasm/Cargo.lock")] == [[], []]


@pytest.mark.parametrize(
    ("crate", "fault"),
    [
        ({"name": "openssl-sys", "version": "0.9.1"}, "openssl-sys must not be a dependency"),
        ({"name": "a", "version": "1.0.0", "source": "git+https://example.org/a"}, "must come from the one registry"),
        ({"name": "libm", "version": "0.1.0"}, "libm must have one version; received"),
    ],
)
def test_a_planted_crate_is_refused(scripts: dict[str, ModuleType], crate: dict[str, str], fault: str) -> None:
    planted = {"package": [*lock("Cargo.lock")["package"], crate]}
    assert [fault in each for each in scripts["rules"].lock_faults(planted, RULES)] == [True]


def test_a_planted_licence_or_wildcard_is_refused(scripts: dict[str, ModuleType]) -> None:
    ours = {"name": "a", "version": "1.0.0", "license": "MIT", "source": None}
    wild = {**ours, "dependencies": [{"name": "b", "req": "*"}, {"name": "c", "req": "*", "path": "c"}]}
    foreign = {**ours, "name": "b", "license": "GPL-3.0", "source": "registry", "dependencies": []}
    found = scripts["rules"].graph_faults({"packages": [wild, foreign]}, RULES)
    assert [each.split(";")[0] for each in found] == [
        "b 1.0.0 must have an allowed licence",
        "a must name versions of b",
    ]


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("GPL-3.0 OR GPL-2.0 AND MIT", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT WITH unheard-of", False),
        ("MIT and GPL-3.0", False),
        ("MIT GPL-3.0", False),
        ("(MIT", False),
        ("MIT OR", False),
        ("", False),
    ],
)
def test_expressions_of_licences_are_read(scripts: dict[str, ModuleType], expression: str, is_allowed: bool) -> None:
    assert scripts["rules"].is_allowed(expression, set(RULES["licenses"]["allow"])) is is_allowed


def test_a_rule_that_the_offline_check_does_not_know_is_a_fault(scripts: dict[str, ModuleType]) -> None:
    unknown = {**RULES, "bans": {**RULES["bans"], "skip-tree": [], "wildcards": "allow"}}
    assert len(scripts["rules"].unknown_rules(unknown)) == 2
    for row in ({"crate": "a@1", "reason": ""}, {"crate": "a", "reason": "", "wrappers": ["b"]}, {"name": "a"}, "a"):
        planted = {**RULES, "bans": {**RULES["bans"], "deny": [row]}}
        assert len(scripts["rules"].unknown_rules(planted)) == 1, row
    planted = {**RULES, "bans": {**RULES["bans"], "skip": [{"crate": "syn@^2", "reason": ""}]}}
    assert len(scripts["rules"].unknown_rules(planted)) == 1


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is required")
def test_a_planted_git_repository_is_named_although_cargo_refuses_the_lock_file(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".cargo/deny.toml", "Cargo.lock", "rust/wasm/Cargo.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "Cargo.lock").open("a") as file:
        file.write('[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "git+https://example.org/a"\n')
    for module in scripts.values():
        # Without manifests: cargo refuses the folder.
        monkeypatch.setattr(module, "ROOT", tmp_path)
    assert scripts["rules"].main() == 1
    assert "a 1.0.0 must come from the one registry" in capsys.readouterr().err


def unpinned(text: str) -> list[str]:
    """Return the actions of a workflow that are not pinned to a commit."""
    used = re.findall(r"^\s*(?:- )?uses:\s*(.*?)\s*$", text, re.MULTILINE)
    return [each for each in used if not PINNED.fullmatch(each)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert unpinned(text) == []
    assert text.count("uses:") > 2


def commands(name: str) -> list[str]:
    return re.findall(r"- run: (.*)", (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def test_ci_runs_cargo_deny_on_both_workspaces_and_a_release_reads_the_advisories() -> None:
    workspaces = ("", "--manifest-path rust/wasm/Cargo.toml ")
    for other in workspaces:
        assert f"cargo deny --workspace {other}check licenses bans sources" in commands("ci.yml")
        assert f"cargo deny --workspace {other}check".strip() in commands("release.yml")
    assert any("pip-audit" in each and "constraints.txt" in each for each in commands("release.yml"))


def test_an_action_has_one_commit_in_all_workflows() -> None:
    used = {each for path in WORKFLOWS for each in re.findall(r"uses: (\S+@.*)", path.read_text(encoding="utf-8"))}
    assert len({each.split("@")[0] for each in used}) == len(used)


@pytest.mark.parametrize("action", ["actions/checkout@v6", "a/b@main # v1.0.0", "a/b@0123abc # v1.0.0", "docker://a:1"])
def test_a_planted_tag_is_found(action: str) -> None:
    assert unpinned(f"steps:\n  - uses: {action}\n") == [action]


def test_the_security_policy_names_existing_tests_pages_and_targets() -> None:
    # GitHub finds it in `.github`, at the top or in `docs`.
    text = (ROOT / ".github" / "SECURITY.md").read_text(encoding="utf-8")
    paths = re.findall(r"`(tests/[\w/.]+)`", text) + [
        f".github/{path}" for path in re.findall(r"\((\.\./[^)#]+)", text)
    ]
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}:" in makefile for target in re.findall(r"`make ([\w-]+)`", text))
