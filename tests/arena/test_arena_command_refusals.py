"""Invalid input of Arena commands is reported in one line with exit code 2 and no traceback."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import floor

from openoutcry.arena.season_scheduler import SetSeasonKind

pytestmark = pytest.mark.once

MARKET = "kalshi:KXIRANSTRIKE-DEMO1"
NO_SERVER = ("--url", "http://127.0.0.1:1")
SERVE = ("serve", "--port", "0", "--data-dir", "new")
OWN = ("--data-dir", "arena")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an arena with an agent, and files that commands must refuse."""
    found = tmp_path_factory.mktemp("refused")
    with floor(found / "arena") as ground:
        ground.publish()
        ground.register("ada")
    (found / "file").write_text("x")
    (found / "broken.json").write_text("[{")
    (found / "object.json").write_text("{}")
    (found / "feeds.json").write_text('{"feeds": {"a": 3}, "series": []}')
    (found / "captures" / "2026-05-08T12-00-00Z").mkdir(parents=True)
    (found / "captures" / "2026-05-08T12-00-00Z" / "rss.0.json").write_text("{}")
    (found / "nan.json").write_text(json.dumps([{"market_id": MARKET, "yes_probability": float("nan")}]))
    (found / "bytes.json").write_bytes(b"\xff")
    (found / "good.json").write_text(json.dumps([{"market_id": MARKET, "yes_probability": 0.5}]))
    (found / "full" / "junk").mkdir(parents=True)
    (found / "full" / "junk" / "x").write_text("x")
    (found / "spoiled").mkdir()
    (found / "spoiled" / "log.key").write_bytes((found / "arena" / "log.key").read_bytes())
    (found / "spoiled" / "arena.sqlite").write_text("junk")
    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("submit", "ada", "broken.json", *NO_SERVER), "a JSON file"),
        (("submit", "ada", "bytes.json", *NO_SERVER), "a JSON file"),
        (("submit", "ada", "nan.json", *NO_SERVER), "a JSON file"),
        (("questions", "full", "--out", "file"), "`--out` must be a new file"),
        (("questions", "full", "--out", "q", "--every-hours", "1e300"), "at most 1,000,000"),
        (("submit", "ada", "none.json", *NO_SERVER), "a JSON file"),
        (("submit", "ada", "full", *NO_SERVER), "a JSON file"),
        (("submit", "ada", "object.json", *NO_SERVER), "a JSON list"),
        (("submit", "ada", "good.json", *NO_SERVER), "an Arena server"),
        (("submit", "ada", "good.json", "--url", "junk"), "an Arena server"),
        (("submit", "ada", "good.json", "--as-of", "yesterday", *NO_SERVER), "`--as-of` must be a time in UTC"),
        ((*SERVE, "--proxy", "junk"), "networks such as 10.0.0.0/8"),
        ((*SERVE, "--public", "foo"), "an address such as https://arena.example, without a trailing slash"),
        ((*SERVE, "--public", "https://arena.example/"), "received 'https://arena.example/'"),
        ((*SERVE, "--plan", "none.json"), "No such file"),
        ((*SERVE, "--plan", "full"), "directory"),
        (
            (*SERVE, "--plan", "broken.json"),
            "the plan cannot be read: a JSON object is required; received invalid JSON",
        ),
        (
            (*SERVE, "--plan", "good.json"),
            "the plan cannot be read: a JSON object is required; received a list of 1",
        ),
        ((*SERVE, "--plan", "object.json"), "the plan cannot be read: `feeds` must be an object; received none"),
        ((*SERVE, "--plan", "feeds.json"), "the plan cannot be read: `feeds` must hold strings; received 3"),
        (("serve", "--port", "0", "--data-dir", "file"), "File exists"),
        (("serve", "--port", "0", "--data-dir", "spoiled"), "file is not a database"),
        (("season", "--data-dir", "spoiled"), "file is not a database"),
        (("season", *OWN, "--database", "junk"), "the database of an arena"),
        (("season", "all", *OWN, "--theater", "irn"), "`--theater` must be one of iran, israel"),
        (("season", *OWN, "--theater", "iran"), "of a season"),
        (("backup", "copy", "--data-dir", "spoiled"), "file is not a database"),
        (("backup", "file", *OWN), "Not a directory"),
        (("export", "file", *OWN), "Not a directory"),
        (("export", "file/x", *OWN), "Not a directory"),
        (("replay-season", "none", "--out", "again"), "received 'none' without captures"),
        (("replay-season", "file", "--out", "again"), "received 'file' without captures"),
        (("replay-season", "arena", "--out", "again"), "captures in folders named by snapshot time"),
        (("replay-season", "captures", "--out", "again"), "rss.0.json: `part` must be a string; received none"),
        (("replay-season", "full", "--out", "again"), "the captures of junk cannot be read"),
        (("replay-season", "full", "--out", "full"), "snapshots must go to an empty folder"),
        (("witness", "http://127.0.0.1:1", "--once", "--dir", "file"), "File exists"),
        (("issue-key", "eve", *OWN, "--name", "a\tb"), "invalid_registration"),
        (("issue-key", "eve", *OWN, "--name", "a\x7fb"), "invalid_registration"),
        (("issue-key", "eve", *OWN, "--name", "a\ud800b"), "invalid_registration"),
        (("issue-key", "eve", *OWN, "--name", "--"), "a name with a letter or a digit is required, or null"),
        (("suspend", "ada", "a\udcffb", *OWN), "invalid_payload"),
        (("resolve", MARKET, "void", "--source", "a\udcffb", *OWN), "invalid_payload"),
    ],
    ids=lambda expected: " ".join(expected).encode("ascii", "replace").decode() if isinstance(expected, tuple) else "",
)
def test_invalid_input_is_reported_in_one_line(
    folder: Path, words: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENOUTCRY_ARENA_KEY", "tarena_x")
    done = typed("arena", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert not re.search(r"Errno|Error\b|Expecting|codec|compliant|appear to be", done.stderr), "text of Python itself"


def test_a_key_that_is_no_valid_header_is_refused_before_a_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("", "tarena_\u00e9", "a\nb"):
        monkeypatch.setenv("OPENOUTCRY_ARENA_KEY", key)
        done = typed("arena", "submit", "ada", "good.json", *NO_SERVER, cwd=folder)
        assert (done.returncode, "must be the agent's API key" in done.stderr) == (2, True)


def test_a_folder_that_is_no_export_has_faults_and_no_traceback(folder: Path) -> None:
    done = typed("arena", "verify", "full", "--recompute-scores", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "log.jsonl" in done.stdout


def test_a_missing_folder_of_an_export_is_refused(folder: Path) -> None:
    for name, why in (("none", "does not exist"), ("file", "is not a folder")):
        done = typed("arena", "verify", name, "--recompute-scores", cwd=folder)
        wanted = f"a folder of an export is required; received '{name}', which {why}"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: argument_invalid: {wanted}\n"), name


@pytest.mark.parametrize("words", [["--practice"], ["--plan", "shipped"]])
def test_a_season_cannot_continue_as_another_kind(words: list[str], tmp_path: Path) -> None:
    #
    """Synthetic markets stay out of a live log, and real ones out of a demo's log."""
    with floor(tmp_path / "arena") as ground:
        ground.arena.writer.write(SetSeasonKind("demo"))
        size = ground.arena.writer.log.end.seq
    done = typed("arena", "serve", "--port", "0", *OWN, *words, cwd=tmp_path)
    assert (done.returncode, "the options of a demo season" in done.stderr) == (2, True), done.stderr
    with floor(tmp_path / "arena") as ground:
        ground.arena.writer.write(SetSeasonKind("demo"))
        assert ground.arena.writer.log.end.seq == size


def test_a_port_in_use_is_refused_before_any_file_is_created(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = typed("arena", "serve", "--port", port, "--data-dir", "new", cwd=tmp_path)
    assert (done.returncode, "a free address is required" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "new").exists()
