"""The examples of the pages: Python runs, JSON parses, and named commands, options and files exist.

The blocks of a page run in order in one namespace. A comment contains code that a block needs but a reader does not:

    <!-- setup
    frame = pandas.DataFrame(...)
    -->

A block marked `python notest` is skipped.
"""

from __future__ import annotations

import json
import re
import shlex
import traceback
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from openoutcry.cli.commands import app

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "contract" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTES = [ROOT / "GOVERNANCE.md", ROOT / "CHANGELOG.md"]
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.DOTALL | re.MULTILINE,
)

# In backticks, lower case and with a slash; or the target of a link. `Id/Name-v1` is an environment, not a file.
NAMED_FILE = re.compile(r"`([a-z][\w.*-]*(?:/[\w.*-]*)+)`|\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    """A fenced block or setup comment of a page; its text starts at `line`."""

    info: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page in order; a setup comment counts as Python."""
    found = []
    for match in BLOCK.finditer(page):
        group = "body" if match["setup"] is None else "setup"
        info = (match["info"] or "").strip() if group == "body" else "python"
        found.append(Block(info, dedent(match[group]), page.count("\n", 0, match.start(group)) + 1))
    return found


def run_python(page: str, name: str) -> int:
    """Run the Python blocks of a page, with its line numbers in tracebacks; return their number."""
    chosen = [block for block in blocks(page) if block.info == "python"]
    names: dict[str, object] = {"__name__": "__main__"}
    for block in chosen:
        exec(compile("\n" * (block.line - 1) + block.text, name, "exec", dont_inherit=True), names)
    return len(chosen)


def commands(page: str) -> list[list[str]]:
    """Return the words of each shell command; in a console block, of the lines with a prompt."""
    found = []
    for block in blocks(page):
        if block.info in {"console", "sh", "bash"}:
            lines = block.text.replace("\\\n", " ").splitlines()
            if block.info == "console":
                lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
            parts = [part for line in lines for part in re.split(r"&&|\|", line)]
            found += [words for part in parts if (words := shlex.split(part.split(" > ")[0], comments=True))]
    return found


def files_named(page: str) -> list[str]:
    """Return the paths in the prose of a page, including patterns."""
    return [match[1] or match[2] for match in NAMED_FILE.finditer(BLOCK.sub("", page))]


def is_here(name: str, folder: Path) -> bool:
    """Return whether a path exists, relative to the folder of the page or to the root."""
    return any(next(base.glob(name.rstrip("/")), None) is not None for base in (folder, ROOT))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def commands_named(program: str) -> list[list[str]]:
    every = {tuple(words) for page in PAGES for words in commands(read(page)) if words[0] == program}
    return [list(words) for words in sorted(every)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_python_of_a_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(read(path), path.relative_to(ROOT).as_posix())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_json_of_a_page_parses(path: Path) -> None:
    for block in blocks(read(path)):
        if block.info == "json":
            json.loads(block.text)


def test_the_readme_shows_the_two_commands_five_lines_of_python_and_a_rust_quickstart() -> None:
    page = read(ROOT / "README.md")
    assert {"demo", "test"} <= {words[1] for words in commands(page) if words[0] == "make"}
    kinds = [block.info.split(",")[0] for block in blocks(page)]
    assert "python" in kinds
    assert "rust" in kinds


@pytest.mark.parametrize("words", commands_named("openoutcry"), ids=" ".join)
def test_a_command_of_a_page_exists_with_its_options(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words[1:], "--help"])
    assert result.exit_code == 0, result.output


def test_the_python_in_a_command_of_a_page_imports_names_that_exist() -> None:
    shells = [block.text for page in PAGES for block in blocks(read(page)) if block.info in {"console", "sh", "bash"}]
    imports = {found for text in shells for found in re.findall(r"from openoutcry[\w.]* import [\w, ]+", text)}
    assert imports
    for statement in imports:
        exec(statement, {})


@pytest.mark.parametrize("words", commands_named("make"), ids=" ".join)
def test_a_make_target_of_a_page_exists(words: list[str]) -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", read(ROOT / "Makefile"), re.MULTILINE)
    assert {word for word in words[1:] if "=" not in word} <= set(targets)


def test_the_command_line_refuses_unknown_commands_and_options() -> None:
    for words in (["unheard-of"], ["data", "unheard-of"], ["demo", "--unheard-of"]):
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code != 0, words


@pytest.mark.parametrize("path", [*PAGES, *NOTES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_files_that_a_page_names_exist(path: Path) -> None:
    assert [name for name in files_named(read(path)) if not is_here(name, path.parent)] == []


def test_a_planted_path_is_found() -> None:
    page = "`tests/gone.py` and `tests/*.py`, [a page](gone.md#a) and [a site](https://a.b/c), `OpenOutcry/Gone-v1`\n"
    named = files_named(page + "```text\n`tests/in_a_block.py`\n```\n")
    assert named == ["tests/gone.py", "tests/*.py", "gone.md"]
    assert [name for name in named if not is_here(name, ROOT)] == ["tests/gone.py", "gone.md"]


PLANTED = """
<!-- setup
x = 1
-->
```python
y = x + 1
assert y == {y}
```
```python notest
raise SystemExit
```
- a list
  ```console
  $ openoutcry run --data a.csv \\
      --json | head > out.txt   # a comment
  what it prints
  ```
"""


def test_blocks_run_in_order_after_their_setup() -> None:
    assert run_python(PLANTED.format(y=2), "page.md") == 2


def test_a_planted_fault_is_found_at_its_line_of_the_page() -> None:
    with pytest.raises(AssertionError) as caught:
        run_python(PLANTED.format(y=3), "page.md")
    frame = traceback.extract_tb(caught.tb)[-1]
    assert (frame.filename, frame.lineno) == ("page.md", 7)


def test_commands_are_read_from_a_console() -> None:
    assert commands(PLANTED)[0] == ["openoutcry", "run", "--data", "a.csv", "--json"]
