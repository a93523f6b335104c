"""The npm package as a stranger has it: packed, installed elsewhere, compiled against, and run."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NPM = ROOT / "rust" / "wasm" / "npm"
LARGEST = 600_000
EXAMPLE = re.search(r"```ts\n(.*?)```", (NPM / "README.md").read_text(encoding="utf-8"), re.DOTALL)
# The compiler itself holds that each line below the word is an error, and that no other is.
WRONG = """
import { Dataset, TradingEnv } from "@general-liquidity/openoutcry";
const env = new TradingEnv(Dataset.synthetic(1, 40, 1n));
// @ts-expect-error
env.step({ orders: [{ symbol: "A", action: "purchase", target_weight: 1 }] });
// @ts-expect-error
env.step({ orders: [{ symbol: "A", action: "buy" }] });
// @ts-expect-error
new TradingEnv(Dataset.synthetic(1, 40, "1"));
// @ts-expect-error
new TradingEnv(Dataset.synthetic(1, 40, 1), { costs: { fees: 1 } });
// @ts-expect-error
env.nav = 2;
// @ts-expect-error
new Dataset();
"""


def told(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside of the checkout with the package in it, and a compiler beside."""
    folder = tmp_path_factory.mktemp("stranger")
    packed = json.loads(told("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder, cwd=NPM))
    (folder / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    archive = next(folder.glob("*.tgz"))
    told("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", archive, cwd=folder)
    entry = packed[0] if isinstance(packed, list) else next(iter(packed.values()))
    (folder / "packed.json").write_text(json.dumps(entry), encoding="utf-8")
    return folder


def compiled(folder: Path, text: str) -> str:
    (folder / "use.ts").write_text(text, encoding="utf-8")
    compiler = NPM / "node_modules" / "typescript" / "bin" / "tsc"
    words = ("--strict", "--target", "es2022", "--lib", "es2023,dom", "--module", "nodenext")
    return told("node", compiler, *words, "use.ts", cwd=folder)


def test_the_example_of_the_readme_compiles_and_runs(installed: Path) -> None:
    assert EXAMPLE is not None
    assert compiled(installed, EXAMPLE[1]) == ""
    nav, verified, verdict = told("node", "use.js", cwd=installed).splitlines()
    assert re.fullmatch(r"[0-9.]+ [0-9a-f]{64}", nav)
    assert (verified, verdict) == ("true", "insufficient")


def test_the_example_of_the_project_runs(installed: Path) -> None:
    example = re.search(r"```ts\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    (installed / "use.mjs").write_text(example[1], encoding="utf-8")
    assert told("node", "use.mjs", cwd=installed) == "true\n"


def test_the_types_refuse_what_the_contract_refuses(installed: Path) -> None:
    assert compiled(installed, WRONG) == ""


def test_the_package_is_small_whole_and_depends_on_nothing(installed: Path) -> None:
    entry = json.loads((installed / "packed.json").read_text(encoding="utf-8"))
    files = {each["path"] for each in entry["files"]}
    assert {"README.md", "LICENSE-MIT", "LICENSE-APACHE", "dist/node.js", "dist/node.d.ts", "dist/browser.js"} <= files
    assert not {each for each in files if each.startswith(("src/", "node_modules/"))}
    assert "dependencies" not in json.loads((NPM / "package.json").read_text(encoding="utf-8"))
    package = installed / "node_modules" / "@general-liquidity" / "openoutcry" / "dist"
    files_of_a_page = [*package.glob("*.js"), *package.glob("native/*.js"), *package.glob("native/*.wasm")]
    size = sum(len(gzip.compress(each.read_bytes(), 9)) for each in files_of_a_page)
    print(f"{size:,} bytes gzipped")
    assert size < LARGEST
    told = re.search(r"takes (\d+) kB over the wire", (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8"))
    assert told is not None
    assert size / 1_000 == pytest.approx(int(told[1]), rel=0.03)


def test_the_engine_names_no_folder_of_the_machine_that_built_it(installed: Path) -> None:
    package = installed / "node_modules" / "@general-liquidity" / "openoutcry" / "dist"
    engine = (package / "native" / "openoutcry_wasm_bg.wasm").read_bytes()
    assert b"rust/score/src" in engine
    for folder in (ROOT, Path.home()):
        assert str(folder).encode() not in engine


def test_what_is_packed_is_what_the_sources_give(installed: Path) -> None:
    shutil.rmtree(NPM / "check", ignore_errors=True)
    told("node", NPM / "node_modules/typescript/bin/tsc", "--outDir", "check", cwd=NPM)
    package = installed / "node_modules" / "@general-liquidity" / "openoutcry" / "dist"
    made = {each.name: each.read_bytes() for each in (NPM / "check").glob("*")}
    shutil.rmtree(NPM / "check")
    assert made
    assert made == {each.name: each.read_bytes() for each in package.glob("*") if each.is_file()}
