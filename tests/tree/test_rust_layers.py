"""Layers: the dependencies of each crate, and the uses between its folders and files.

A new crate, folder, dependency or use fails until its row is added.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib
from crate_layers import CRATES, MANIFESTS, ROOT, RUST, crate_faults, dependencies, rust_faults, stated_uses
from rust_graph import violations
from rust_layers import RUST_CYCLES, RUST_LAYERS

pytestmark = pytest.mark.once


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_crate_depends_on_what_its_row_allows(manifest: Path) -> None:
    text = manifest.read_text(encoding="utf-8")
    assert crate_faults(text) == []
    assert dependencies(tomllib.loads(text)) == CRATES[tomllib.loads(text)["package"]["name"]]


def test_every_crate_has_a_row_and_a_table_of_its_folders() -> None:
    assert {tomllib.loads(path.read_text(encoding="utf-8"))["package"]["name"] for path in MANIFESTS} == set(CRATES)
    assert [path.parent.name for path in MANIFESTS] == sorted(RUST_LAYERS)
    assert set(RUST_CYCLES) <= set(RUST_LAYERS)


@pytest.mark.parametrize("place", RUST, ids=str)
def test_a_rust_source_contains_no_pattern_banned_in_its_crate(place: Path) -> None:
    assert rust_faults(place.as_posix(), (ROOT / "rust" / place).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("crate", RUST_LAYERS)
def test_a_folder_of_a_crate_uses_only_its_row_and_no_cycle(crate: str) -> None:
    assert violations(ROOT / "rust" / crate / "src", RUST_LAYERS[crate], RUST_CYCLES.get(crate, ())) == []


@pytest.mark.parametrize("crate", RUST_LAYERS)
def test_the_comment_of_a_folder_states_its_row(crate: str) -> None:
    for folder, row in RUST_LAYERS[crate].items():
        home = ROOT / "rust" / crate / "src" / folder / "mod.rs"
        if home.exists():
            assert stated_uses(home.read_text(encoding="utf-8")) == row, home


def test_a_planted_comment_is_read() -> None:
    assert stated_uses("//! A.\n//!\n//! Imports `b` and\n//! `c`. More.") == {"b", "c"}
    assert stated_uses("//! Imports no other module of the crate.") == set()
    assert stated_uses("//! A.") is None


def planted(folder: Path, texts: dict[str, str], layers: dict[str, set[str]]) -> list[str]:
    """Return the violations of a crate of these sources."""
    for name, text in {"lib": "mod a;\nmod b;", "b": "pub struct B;\npub fn f() {}", **texts}.items():
        path = folder / f"{name}.rs"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return violations(folder, layers)


@pytest.mark.parametrize(
    "text",
    [
        "use crate::b::B;",
        "pub struct A; use crate::{b::B};",
        "pub use crate::b::B;",
        "pub(crate) use super::b::B;",
        "pub use super::b;",
        "use crate :: b :: B;",
        "use crate\n    ::\n    b::B;",
        "use\n    crate::b::B;",
        "use{crate::b::B};",
        "use r#super::b::B;",
        "use crate::r#b::B;",
        "use crate as root;\nfn g() { root::b::f() }",
        "use crate as Root;\nfn g() { Root::b::f() }",
        "use crate::{self as root};\nfn g() { root::b::f() }",
        "use super::super::b::B;",
        "use me::b::B;",
        "use ::me::b::B;",
        "use me as root;\nfn g() { root::b::f() }",
        "fn g() { ::me::b::f() }",
        "fn g() { crate :: b :: f() }",
        "fn g() { super::b::f() }",
        "fn g(_: impl Fn() -> crate::b::B) {}",
    ],
)
def test_a_planted_use_is_found(text: str, tmp_path: Path) -> None:
    texts = {"lib": "extern crate self as me;\nmod a;\nmod b;", "a": text}
    assert "a must not use b" in planted(tmp_path, texts, {"a": set(), "b": set()})
    # A name for the root is a use of the root, which is always a fault.
    assert set(planted(tmp_path, texts, {"a": {"b"}, "b": set()})) <= {"a must not use the root"}


def test_a_planted_cycle_is_found(tmp_path: Path) -> None:
    texts = {"a": "pub use crate::b::B;\npub struct A;", "b": "use crate::a::A;\npub struct B;"}
    assert planted(tmp_path, texts, {"a": set(), "b": {"a"}}) == [
        "a must not use b",
        "a and b use each other",
        "a and b use each other",
    ]


def test_a_planted_cycle_through_the_root_is_found(tmp_path: Path) -> None:
    texts = {"lib": "mod a;\nmod b;\npub fn f() { a::g() }", "a": "pub fn g() { crate::f() }"}
    assert planted(tmp_path, texts, {"a": set(), "b": set()}) == [
        "a must not use the root",
        "a and lib use each other",
        "a and lib use each other",
    ]


def test_a_planted_cycle_within_a_folder_is_found_and_a_known_one_must_exist(tmp_path: Path) -> None:
    texts = {
        "a/mod": "mod c;\nmod d;\npub use c::C;\npub use d::D;",
        "a/c": "use super::D;\npub struct C;",
        "a/d": "use super::C;\npub struct D;",
    }
    layers: dict[str, set[str]] = {"a": set(), "b": set()}
    assert planted(tmp_path, texts, layers) == ["a/c and a/d use each other"]
    assert violations(tmp_path, layers, [{"a/c", "a/d"}]) == []
    assert violations(tmp_path, layers, [{"a/c", "a/d"}, {"a/e", "a/f"}]) == ["a/e and a/f do not use each other"]


def test_rows_of_a_crate_must_be_complete_and_in_use(tmp_path: Path) -> None:
    texts = {"a": "pub struct A;", "c": "pub struct C;"}
    assert planted(tmp_path, texts, {"a": {"b"}, "b": set(), "d": set()}) == [
        "c must have a row",
        "d is a row without a folder",
        "a does not use b",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '[package]\nname = "openoutcry-engine"\n[dependencies]\nserde = "1"',
        '[package]\nname = "openoutcry-engine"\n[dependencies]\nlibm = { package = "serde", version = "1" }',
        '[package]\nname = "openoutcry-score"\n[dependencies]\nopenoutcry.workspace = true',
        '[package]\nname = "openoutcry-engine"\n[build-dependencies]\ncc = "1"',
        '[package]\nname = "openoutcry-engine"\n[target."cfg(unix)".dependencies]\nlibc = "0.2"',
        '[package]\nname = "openoutcry-unheard-of"',
    ],
)
def test_a_planted_dependency_is_found(text: str) -> None:
    assert len(crate_faults(text)) == 1


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("engine/src/account/book.rs", "use std::time::Instant;"),
        ("engine/src/account/book.rs", "use std::{fmt, fs};"),
        ("engine/src/account/book.rs", "fn f() { std::thread::spawn(|| ()); }"),
        ("engine/src/account/book.rs", "#[derive(serde::Serialize)] struct Book;"),
        ("env/src/backtest/run.rs", "use std::net::TcpStream;"),
        ("env/src/batch/thread_share.rs", "use std::thread::spawn;"),
        ("env/src/agents/trend.rs", "fn decide(data: &Dataset) {}"),
        ("score/src/lib.rs", "use std::collections::HashMap;"),
        ("python/src/lib.rs", '#[allow(dead_code)] const A: &str = "// not a comment";'),
        ("score/src/lib.rs", '#[path = "other.rs"]\nmod metrics;'),
        ("score/src/lib.rs", 'include!("other.rs");'),
        ("score/src/lib.rs", "mod inner { use crate::metrics; }"),
        ("python/src/lib.rs", "#![cfg_attr(test, allow(clippy::all))]"),
        ("engine/src/account/book.rs", r'fn f(c: char) { if c == \'"\' { println!("{c}"); } }'.replace("\\'", "'")),
    ],
)
def test_a_planted_source_is_found(place: str, text: str) -> None:
    assert len(rust_faults(place, text)) == 1


def test_comments_and_strings_may_contain_banned_patterns() -> None:
    text = '// println! in std::fs\n/* HashMap */ const A: [&str; 2] = ["#[allow(x)] std::time", r#"a "HashSet""#];'
    assert rust_faults("engine/src/account/book.rs", text) == []
