"""Hidden paths: no name of them, and nothing created later, is readable in any tier, for root as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openoutcry.harness.sandbox import Launch, Profile, Sandbox, Tier, this_host
from openoutcry.harness.sandbox.hidden_paths import hard_links, names_of

HOST = this_host()
TIERS = [each for each in (Tier.T2, Tier.T3) if each <= HOST.tier]
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {dict(HOST.missing)}"),
]

SECRET = "the future"
READER = """
import sys
for path in sys.stdin.read().splitlines():
    try:
        with open(path) as file:
            print(path, file.read())
    except OSError:
        pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agent's folder, as the working directory."""
    made = tmp_path / "around" / "agent"
    made.mkdir(parents=True)
    (made / "reader.py").write_text(READER)
    (made / "own.csv").write_text("open")
    monkeypatch.chdir(made)
    return made


def read(launch: Launch, paths: list[Path | str]) -> str:
    """Return what an agent reads of some paths."""
    made = subprocess.run(
        launch.command,
        env=dict(launch.environment),
        input="\n".join(map(str, paths)),
        text=True,
        capture_output=True,
        start_new_session=True,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def launches(folder: Path, hidden: list[Path | str], readable: list[Path] | None = None) -> list[Launch]:
    """Return a Python agent and a command in each tier, before anything else is created."""
    program = [os.path.realpath(sys.executable), "-I", "-S", str(folder / "reader.py")]
    made = []
    for tier in TIERS:
        sandbox = Sandbox.open(Profile(folder, hidden, readable or []), min_tier=tier, max_tier=tier)
        made += [sandbox.script(folder / "reader.py"), sandbox.command(program)]
    return made


def test_files_and_folders_are_hidden_under_every_name(folder: Path) -> None:
    ledger, key = folder / "ledger", folder / "season.keys"
    ledger.mkdir()
    (folder / "deep" / "own").mkdir(parents=True)
    for path in (ledger / "00000.jsonl", key, folder.parent / "outside.csv"):
        path.write_text(SECRET)
        # As root or not, permissions do not stop an agent.
        path.chmod(0o644)
    (folder / "soft").symlink_to(key)
    (folder / "soft-folder").symlink_to(ledger)
    os.link(key, folder / "deep" / "own" / "hard")
    os.link(ledger / "00000.jsonl", folder / "deep" / "hard-of-a-folder")
    os.link(folder.parent / "outside.csv", folder / "hard-of-outside")
    hidden: list[Path | str] = ["ledger", "./deep/../season.keys", "../outside.csv"]
    names = ["ledger/00000.jsonl", "season.keys", "soft", "soft-folder/00000.jsonl", "deep/own/hard"]
    names += ["deep/hard-of-a-folder", "hard-of-outside", "../outside.csv", f"../{folder.name}/season.keys"]
    for launch in launches(folder, hidden):
        text = read(launch, ["own.csv", *names, *(folder / name for name in names)])
        assert text == "own.csv open\n"


def test_what_is_created_during_a_run_is_hidden(folder: Path) -> None:
    """A record, a ledger in a new folder, a file in place of a link, and neighbors of a hidden file."""
    (folder / "out").mkdir()
    target = folder.parent / "elsewhere.jsonl"
    (folder / "linked.jsonl").symlink_to(target)
    created = ["record.json", "new/ledger/00000.jsonl", "out/report.html", "out/report.html.tmp", "linked.jsonl"]
    made = launches(folder, ["record.json", "new/ledger", "out/report.html", "linked.jsonl"])
    (folder / "linked.jsonl").unlink()
    for name in (*created, target):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    for launch in made:
        assert SECRET not in read(launch, [*created, *(folder / name for name in created), target])


def test_a_link_alone_hides_what_replaces_it(folder: Path) -> None:
    """No other hidden path is in the folder, so that nothing else splits it."""
    (folder / "record.jsonl").symlink_to(folder.parent / "elsewhere.jsonl")
    made = launches(folder, ["record.jsonl"])
    (folder / "record.jsonl").unlink()
    (folder / "record.jsonl").write_text(SECRET)
    for launch in made:
        assert SECRET not in read(launch, ["record.jsonl", folder / "record.jsonl"])


def test_a_parent_of_the_agents_folder_that_is_readable_shows_no_hidden_file(folder: Path) -> None:
    ledger = folder.parent / "ledger"
    ledger.mkdir()
    (folder.parent / "open.txt").write_text("open")
    made = launches(folder, [ledger / "00000.jsonl", ledger / "lock"], [folder.parent])
    (ledger / "00000.jsonl").write_text(SECRET)
    (ledger / "00001.jsonl").write_text(SECRET)
    for launch in made:
        paths = [ledger / "00000.jsonl", ledger / "00001.jsonl", "../ledger/00001.jsonl", "../open.txt"]
        assert read(launch, paths) == "../open.txt open\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_hidden_paths_are_covered_in_the_lowest_tier_for_root(folder: Path) -> None:
    """Permissions do not stop an agent of root, and this tier has no Landlock."""
    (folder / "ledger").mkdir()
    for path in ("ledger/00000.jsonl", "season.keys"):
        (folder / path).write_text(SECRET)
        (folder / path).chmod(0o600)
    (folder / "soft").symlink_to("season.keys")
    os.link(folder / "season.keys", folder / "hard")
    sandbox = Sandbox.open(Profile(folder, ["ledger", "season.keys"]), min_tier=Tier.T1, max_tier=Tier.T1)
    program = [os.path.realpath(sys.executable), "-I", "-S", str(folder / "reader.py")]
    for launch in (sandbox.script(folder / "reader.py"), sandbox.command(program)):
        text = read(launch, ["own.csv", "ledger/00000.jsonl", "season.keys", "soft", "hard", "/etc/hostname"])
        if subprocess.run(["unshare", "-m", "true"]).returncode == 0:
            assert SECRET not in text
        assert "own.csv open" in text
    assert (folder / "season.keys").read_text() == SECRET


def test_a_process_left_behind_reads_nothing_after_the_run(folder: Path) -> None:
    """The sandbox binds every descendant; outside a process namespace it may outlive its parent."""
    (folder / "ledger").mkdir()
    left = """
import os, sys, time
if os.fork() == 0:
    os.close(0)
    for _ in range(200):
        time.sleep(0.01)
        try:
            print(open("ledger/00000.jsonl").read(), flush=True)
            break
        except OSError as error:
            pass
    print("tried", flush=True)
"""
    (folder / "leaver.py").write_text(left)
    for tier in TIERS:
        sandbox = Sandbox.open(Profile(folder, ["ledger"]), min_tier=tier, max_tier=tier)
        launch = sandbox.command([os.path.realpath(sys.executable), "-I", "-S", str(folder / "leaver.py")])
        process = subprocess.Popen(
            launch.command,
            env=dict(launch.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.close()
        process.wait(20.0)
        (folder / "ledger" / "00000.jsonl").write_text(SECRET)
        text = process.stdout.read().decode()
        for pipe in (process.stdout, process.stderr):
            pipe.close()
        (folder / "ledger" / "00000.jsonl").unlink()
        assert SECRET not in text
        assert (text == "tried\n") == (tier is Tier.T2)


def test_the_names_of_a_path_are_those_of_its_links_and_of_its_target(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "real").mkdir()
    (root / "folder").symlink_to("real")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to(root / "folder" / "file")
    assert names_of(root / "one") == [f"{root}/one", f"{root}/two", f"{root}/real/file"]
    assert names_of(root / "folder" / ".." / "file") == [f"{root}/file"]
    assert names_of(root / "real" / "..") == [f"{root}"]
    (root / "loop").symlink_to("loop")
    assert f"{root}/loop" in names_of(root / "loop")


def test_hard_links_are_searched_for_only_if_a_file_has_several_names(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "file").write_text(SECRET)
    assert hard_links([str(tmp_path / "a")], [str(tmp_path / "absent"), str(tmp_path / "b")]) == []
    os.link(tmp_path / "a" / "file", tmp_path / "b" / "link")
    assert hard_links([str(tmp_path / "a")], [str(tmp_path / "b")]) == [str(tmp_path / "b" / "link")]
