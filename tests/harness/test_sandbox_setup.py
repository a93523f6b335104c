"""Profiles, readable paths and the choice of a tier."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import openoutcry as oo
from openoutcry.harness.sandbox import Host, Profile, Protection, Sandbox, Tier, describe_sandbox, readable_paths
from openoutcry.harness.sandbox import sandbox as opening
from openoutcry.harness.sandbox.host_features import this_host

pytestmark = pytest.mark.once

HOST = this_host()


def test_a_link_is_granted_by_both_names_unless_its_target_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "open.txt").write_text("", encoding="utf-8")
    hidden = tmp_path / "real" / "hidden.txt"
    hidden.write_text("", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    root, folder = [(str(tmp_path / "link"), readable_paths.READ)], str(tmp_path)
    assert readable_paths.grants(root, []) == [
        (readable_paths.READ, folder, ["real"]),
        (readable_paths.READ, folder, ["link"]),
    ]
    split = [(readable_paths.LIST, folder, ["real"]), (readable_paths.READ, f"{folder}/real", ["open.txt"])]
    assert readable_paths.grants(root, [str(hidden)]) == split
    assert readable_paths.grants(root, [folder]) == []


def test_hidden_files_are_identified_by_inode_and_not_by_name(tmp_path: Path) -> None:
    """A file may have hard links, and on case-insensitive file systems many names."""
    (tmp_path / "deep").mkdir()
    for name in ("keys.txt", "deep/data.txt", "open.txt", "deep/open.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "copy.txt").hardlink_to(tmp_path / "keys.txt")
    (tmp_path / "deep" / "Keys.txt").hardlink_to(tmp_path / "keys.txt")
    root, folder = [(str(tmp_path), readable_paths.READ)], str(tmp_path)
    hidden = [str(tmp_path / name) for name in ("keys.txt", "deep/data.txt", "deep/yet-to-be-made")]
    listed = [(readable_paths.LIST, str(tmp_path.parent), [tmp_path.name]), (readable_paths.LIST, folder, ["deep"])]
    assert readable_paths.grants(root, hidden) == [
        *listed,
        (readable_paths.READ, f"{folder}/deep", ["open.txt"]),
        (readable_paths.READ, folder, ["open.txt"]),
    ]


def test_links_that_lead_out_of_an_installation_are_not_granted(tmp_path: Path) -> None:
    folder, program = str(tmp_path / "agent"), str(tmp_path / "tool" / "bin" / "run")
    (tmp_path / "tool" / "bin").mkdir(parents=True)
    (tmp_path / "tool" / "lib").mkdir()
    (tmp_path / "tool" / "lib64").symlink_to("lib")
    (tmp_path / "tool" / "libexec").symlink_to("/")
    granted = {path for path, _ in readable_paths.of_command(program, folder) if path.startswith(str(tmp_path))}
    assert granted == {program, *(str(tmp_path / "tool" / name) for name in ("bin", "lib", "lib64", "pyvenv.cfg"))}
    assert {
        path for path, _ in readable_paths.of_command(program, str(tmp_path)) if path.startswith(str(tmp_path))
    } == {program}


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES"])
def test_variables_that_load_code_are_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With `PYTHONPATH` a `ctypes.py` in the agent's folder would run in the launcher before any protection."""
    monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(oo.OpenOutcryError, match=f"must not load code before .*; received `{name}`"):
        Profile(tmp_path, pass_on=[name])


def test_an_unavailable_tier_is_refused_with_the_reason(tmp_path: Path) -> None:
    host = Host("x86_64", 0, None, MappingProxyType({Tier.T2: "no Landlock", Tier.T3: "no bwrap"}))
    assert host.tier is Tier.T1
    assert replace(host, missing={Tier.T3: "no bwrap"}).tier is Tier.T2
    assert replace(host, missing={}).tier is Tier.T3
    assert replace(host, missing={Tier.T2: "no Landlock"}).tier is Tier.T1
    with pytest.raises(oo.OpenOutcryError, match=r"must reach T2; received T1, as `max_tier` requires") as raised:
        Sandbox.open(Profile(tmp_path), max_tier=Tier.T1)
    assert raised.value.slug == "argument_invalid"
    if HOST.tier < Tier.T3:
        with pytest.raises(oo.OpenOutcryError, match=rf"must reach T3; received {HOST.tier.name}, for"):
            Sandbox.open(Profile(tmp_path), min_tier=Tier.T3)


def test_the_best_sandbox_states_why_no_higher_tier_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "this_host", lambda: host)
    missing = {Tier.T2: "no Landlock", Tier.T3: "no bwrap"}
    host = Host("x86_64", 0, None, MappingProxyType(missing))
    sandbox = Sandbox.best(Profile(tmp_path))
    assert sandbox is not None
    assert sandbox.tier is Tier.T1
    message = "sandbox T1; no T2: no Landlock; no T3: no bwrap; an agent can read all your files, including keys"
    assert describe_sandbox(sandbox).startswith(message)
    host = Host("x86_64", 0, None, MappingProxyType({Tier.T1: "this is Darwin", **missing}))
    assert Sandbox.best(Profile(tmp_path)) is None
    assert (
        describe_sandbox(None)
        == "no sandbox, the agent has all your permissions; no T1: this is Darwin; no T2: no Landlock; no T3: no bwrap"
    )


@pytest.mark.skipif(HOST.tier < Tier.T1, reason=f"T1: {dict(HOST.missing)}")
def test_the_best_sandbox_is_of_the_highest_tier(tmp_path: Path) -> None:
    for most in (Tier.T1, Tier.T2, Tier.T3):
        sandbox = Sandbox.best(Profile(tmp_path), max_tier=most)
        assert sandbox is not None
        assert sandbox.tier is min(most, HOST.tier)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folder": Path.home()}, "must not contain the home directory"),
        ({"folder": "/"}, "must not contain the home directory"),
        ({"folder": "no-such-folder"}, "`folder` must be a folder; received 'no-such-folder'"),
        ({"hidden": ["."], "folder": "."}, "`hidden` must not contain the agent's folder"),
        ({"readable": ["no-such-file"]}, "`readable` must be existing files and folders"),
        ({"readable": [Path.home()]}, "`readable` must not contain the home directory"),
        ({"pass_on": ["NO_SUCH_VARIABLE"]}, "received `NO_SUCH_VARIABLE`, which is not"),
        ({"memory_bytes": 0}, "`memory_bytes` must be a whole number above 0; received 0"),
        ({"cpu_seconds": 1.5}, "`cpu_seconds` must be a whole number above 0; received 1.5"),
    ],
)
def test_an_invalid_profile_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(oo.OpenOutcryError) as raised:
        Profile(**{"folder": tmp_path} | change)
    assert message in str(raised.value)


@pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {dict(HOST.missing)}")
def test_a_version_manager_shim_is_refused_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shim would search in an unreadable home directory and exit with code 127."""
    (tmp_path / "shims").mkdir()
    stand_in = tmp_path / "shims" / "python"
    stand_in.write_text("#!/bin/sh\n", encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(stand_in.parent))
    with pytest.raises(oo.OpenOutcryError, match="such as `pyenv which python`") as raised:
        Sandbox.open(Profile(tmp_path)).command(["python", "agent.py"])
    assert raised.value.slug == "unknown_agent"


@pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {dict(HOST.missing)}")
def test_a_missing_program_is_refused(tmp_path: Path) -> None:
    sandbox = Sandbox.open(Profile(tmp_path))
    for command in ([], ["no-such-program"], ["./agent"]):
        with pytest.raises(oo.OpenOutcryError, match="must be a program that can be run"):
            sandbox.command(command)


def test_each_tier_includes_the_protections_of_lower_tiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {
        tier: Sandbox.open(Profile(tmp_path), min_tier=tier, max_tier=tier)._protections
        for tier in Tier
        if Tier.T0 < tier <= HOST.tier
    }
    for lower, higher in zip(held.values(), list(held.values())[1:], strict=False):
        assert lower < higher
    if HOST.tier >= Tier.T2:
        assert held[Tier.T2] - held[Tier.T1] == {Protection.LANDLOCK}
        bare = replace(HOST, has_filters=False)
        monkeypatch.setattr(opening, "this_host", lambda: bare)
        without = Sandbox.open(Profile(tmp_path), min_tier=Tier.T1, max_tier=Tier.T1)._protections
        assert held[Tier.T1] - without == {Protection.SECCOMP}
    with suppress(KeyError):
        assert held[Tier.T3] == set(Protection)
