"""Checks of all files: sizes, banned words, versions, licences, pins and pages.

Banned words are concatenated from parts, so that this file does not contain them.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest
import tomllib
from packaging.requirements import Requirement

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 1_500_000
MAX_LINES = 400
MAX_FUNCTION_LINES = 50
SOURCE_SUFFIXES = {".css", ".js", ".py", ".rs", ".sh", ".ts"}
GENERATED = {"Cargo.lock"}
HOSTS = ("pypi|org", "pythonhosted|org", "crates|io", "npmjs|org", "npmjs|com", "debian|org")
BANNED = {
    "a path of one machine": r"(^|[^A-Za-z0-9_.])/(work|farm|root|home)/",
    "the host of a registry": "|".join(re.escape(host.replace("|", ".")) for host in HOSTS),
    "unfinished work": rf"\b({'TO'}DO|{'FIX'}ME|{'X'}XX)\b|\b(unimplemented|{'to'}do)!",
}

# Ways around a term. The user `nobody` and a None that is "that is None" remain.
PRIVATE = "[Nn]obody|[Ww]hoever|dumb|by lot|what becomes of|what came of|came of it|that is none|made again"
PRIVATE_TERMS = re.compile(rf"(?<!['`])\b({PRIVATE})\b(?!['`])")
PROSE = ("README.md", "CONTRIBUTING.md", "GOVERNANCE.md", "docs/", "examples/", "python/")


def faults_of(text: str) -> list[str]:
    """Return the kinds of banned words in a text."""
    return [kind for kind, pattern in BANNED.items() if re.search(pattern, text, re.MULTILINE)]


def tree() -> list[Path]:
    """Return the tracked files, and untracked ones that git does not ignore, by path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


FILES = tree()


def texts() -> dict[str, str]:
    found = {}
    for path in FILES:
        content = path.read_bytes()
        if b"\0" not in content and path.name not in GENERATED:
            found[path.relative_to(ROOT).as_posix()] = content.decode("utf-8")
    return found


TEXTS = texts()


def table(name: str) -> dict[str, object]:
    return tomllib.loads(TEXTS[name])


PROJECT = table("pyproject.toml")["project"]
CARGO = table("Cargo.toml")["workspace"]


def pins(name: str) -> dict[str, str]:
    return dict(line.split("==") for line in TEXTS[name].splitlines())


def test_no_file_is_too_large_to_clone() -> None:
    assert [path.name for path in FILES if path.stat().st_size > MAX_BYTES] == []


def test_no_file_contains_a_banned_word() -> None:
    assert {name: found for name, text in TEXTS.items() if (found := faults_of(text))} == {}


def is_prose(name: str) -> bool:
    return name.startswith(PROSE) or re.match(r"rust/\w+/src/", name) is not None


def test_no_page_and_no_docstring_avoids_a_term() -> None:
    found = {name: PRIVATE_TERMS.findall(text) for name, text in TEXTS.items() if is_prose(name)}
    assert {name: words for name, words in found.items() if words} == {}
    assert sum(map(is_prose, TEXTS)) > 700
    assert PRIVATE_TERMS.findall("Nobody pays; `nobody` is a user; a value that is None") == ["Nobody"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("see /" + "home/someone/notes", "a path of one machine"),
        ("/" + "root/.cache", "a path of one machine"),
        ("https://" + "pypi." + "org/simple", "the host of a registry"),
        ("x = 1  # TO" + "DO: two", "unfinished work"),
        ("fn f() { to" + "do!() }", "unfinished work"),
    ],
)
def test_a_planted_word_is_found(text: str, kind: str) -> None:
    assert faults_of(text) == [kind]


def test_similar_words_are_allowed() -> None:
    assert faults_of("network/home/x, a.b/work/y, crates, TODOS, the todo list") == []


def test_every_source_file_is_short() -> None:
    lines = {name: text.count("\n") for name, text in TEXTS.items() if Path(name).suffix in SOURCE_SUFFIXES}
    assert {name: count for name, count in lines.items() if count >= MAX_LINES} == {}


def n_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without those of its docstring."""
    first = function.body[0]
    docstring = first.end_lineno - first.lineno + 1 if ast.get_docstring(function) else 0
    return function.end_lineno - function.lineno + 1 - docstring


def test_every_python_function_is_short() -> None:
    lines = {
        f"{name}:{node.lineno}": n_lines(node)
        for name, text in TEXTS.items()
        if name.endswith(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {place: count for place, count in lines.items() if count >= MAX_FUNCTION_LINES} == {}


def test_no_text_file_has_a_carriage_return() -> None:
    ours = {
        name: text for name, text in TEXTS.items() if not name.startswith(("tests/data/formats/", "tests/fuzz/corpus/"))
    }
    assert [name for name, text in ours.items() if "\r" in text] == []


def test_all_versions_are_equal() -> None:
    version = PROJECT["version"]
    declared = re.findall(r'^__version__ = "(.*)"$', TEXTS["python/openoutcry/__init__.py"], re.MULTILINE)
    inner = [each["version"] for each in CARGO["dependencies"].values() if isinstance(each, dict) and "path" in each]
    assert {CARGO["package"]["version"], *declared, *inner} == {version}


def test_the_minimum_rust_version_is_stated_once() -> None:
    manifests = [table(name) for name in TEXTS if re.fullmatch(r"rust/[a-z]+/Cargo\.toml", name)]
    assert all(each["package"]["rust-version"] == {"workspace": True} for each in manifests)
    assert all(each["package"]["version"] == {"workspace": True} for each in manifests)
    # `include` matters only for published crates.
    packed = {name: value for name, value in CARGO["package"].items() if name != "include"}
    assert table("rust/wasm/Cargo.toml")["workspace"]["package"] == packed
    assert json.loads(TEXTS["rust/wasm/npm/package.json"])["version"] == PROJECT["version"]


def test_both_licences_are_here_and_ship() -> None:
    assert PROJECT["license"] == CARGO["package"]["license"] == "MIT OR Apache-2.0"
    assert PROJECT["license-files"][:2] == ["LICENSE-MIT", "LICENSE-APACHE"]
    assert TEXTS["LICENSE-MIT"].startswith("MIT License")
    assert "Apache License\n                           Version 2.0, January 2004" in TEXTS["LICENSE-APACHE"]


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^\s*- [^:\n]+: (\S+\.md)$", TEXTS["mkdocs.yml"], re.MULTILINE)
    pages = {name.removeprefix("docs/") for name in TEXTS if name.startswith("docs/") and name.endswith(".md")}
    assert pages - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_the_pins_cover_the_requirements_of_the_package_and_its_tests() -> None:
    pinned = {name.lower(): version for name, version in pins("constraints.txt").items()}
    extras = PROJECT["optional-dependencies"]
    wanted = [Requirement(text) for text in [*PROJECT["dependencies"], *extras["dev"], *extras["oracle"]]]
    assert [str(each) for each in wanted if pinned.get(each.name, "missing") not in each.specifier] == []


def test_the_floor_pins_the_oldest_accepted_versions() -> None:
    floors = {each.name: next(iter(each.specifier)).version for each in map(Requirement, PROJECT["dependencies"])}
    pinned = pins("constraints-floor.txt")
    assert {name: ".".join(pinned[name].split(".")[:2]) for name in ("numpy", "gymnasium")} == {
        name: floors[name] for name in ("numpy", "gymnasium")
    }
