"""The npm package for a user: packed, installed outside the checkout, type-checked and run."""

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
LARGEST = 640_000
EXAMPLE = re.search(r"```ts\n(.*?)```", (NPM / "README.md").read_text(encoding="utf-8"), re.DOTALL)
# The compiler checks that each line after the marker is an error, and no other line.
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
// @ts-expect-error
const periods: number = Dataset.synthetic(1, 40, 1n).periodsPerYear;
const known: number | undefined = Dataset.synthetic(1, 40, 1n).periodsPerYear;
const notices: string[] = Dataset.synthetic(1, 40, 1n).notices;
// @ts-expect-error
Dataset.synthetic(1, 40, 1n).periodsPerYear = 252;
"""


def output_of(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside the checkout with the installed package and a compiler."""
    folder = tmp_path_factory.mktemp("user")
    packed = json.loads(output_of("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder, cwd=NPM))
    (folder / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    archive = next(folder.glob("*.tgz"))
    output_of("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", archive, cwd=folder)
    entry = packed[0] if isinstance(packed, list) else next(iter(packed.values()))
    (folder / "packed.json").write_text(json.dumps(entry), encoding="utf-8")
    return folder


def compiled(folder: Path, text: str) -> str:
    (folder / "use.ts").write_text(text, encoding="utf-8")
    compiler = NPM / "node_modules" / "typescript" / "bin" / "tsc"
    words = ("--strict", "--target", "es2022", "--lib", "es2023,dom", "--module", "nodenext")
    return output_of("node", compiler, *words, "use.ts", cwd=folder)


def test_the_example_of_the_readme_compiles_and_runs(installed: Path) -> None:
    assert EXAMPLE is not None
    assert compiled(installed, EXAMPLE[1]) == ""
    nav, verified, verdict = output_of("node", "use.js", cwd=installed).splitlines()
    assert re.fullmatch(r"[0-9.]+ [0-9a-f]{64}", nav)
    assert (verified, verdict) == ("true", "insufficient")


def test_the_first_example_of_the_page_runs(installed: Path) -> None:
    example = re.search(r"```ts\n(.*?)```", (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    (installed / "use.mjs").write_text(example[1], encoding="utf-8")
    assert output_of("node", "use.mjs", cwd=installed) == "true\n"


def test_the_types_refuse_what_the_contract_refuses(installed: Path) -> None:
    assert compiled(installed, WRONG) == ""


def test_the_package_is_small_complete_and_has_no_dependencies(installed: Path) -> None:
    entry = json.loads((installed / "packed.json").read_text(encoding="utf-8"))
    files = {each["path"] for each in entry["files"]}
    assert {"README.md", "dist/node.js", "dist/node.d.ts", "dist/browser.js"} <= files
    assert {"LICENSE-MIT", "LICENSE-APACHE", "LICENSE-THIRD-PARTY"} <= files
    assert not {each for each in files if each.startswith(("src/", "node_modules/"))}
    assert "dependencies" not in json.loads((NPM / "package.json").read_text(encoding="utf-8"))
    package = installed / "node_modules" / "@general-liquidity" / "openoutcry" / "dist"
    files_of_a_page = [*package.glob("*.js"), *package.glob("native/*.js"), *package.glob("native/*.wasm")]
    size = sum(len(gzip.compress(each.read_bytes(), 9)) for each in files_of_a_page)
    print(f"{size:,} bytes gzipped")
    assert size < LARGEST
    stated = re.search(r"takes (\d+) kB over the wire", (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8"))
    assert stated is not None
    assert size / 1_000 == pytest.approx(int(stated[1]), rel=0.03)


def test_the_engine_contains_no_path_of_the_build_machine(installed: Path) -> None:
    package = installed / "node_modules" / "@general-liquidity" / "openoutcry" / "dist"
    engine = (package / "native" / "openoutcry_wasm_bg.wasm").read_bytes()
    assert b"rust/score/src" in engine
    for folder in (ROOT, Path.home()):
        assert str(folder).encode() not in engine


def test_the_packed_files_equal_the_compiled_sources(installed: Path) -> None:
    shutil.rmtree(NPM / "check", ignore_errors=True)
    output_of("node", NPM / "node_modules/typescript/bin/tsc", "--outDir", "check", cwd=NPM)
    package = installed / "node_modules" / "@general-liquidity" / "openoutcry" / "dist"
    made = {each.name: each.read_bytes() for each in (NPM / "check").glob("*")}
    shutil.rmtree(NPM / "check")
    assert made
    assert made == {each.name: each.read_bytes() for each in package.glob("*") if each.is_file()}
