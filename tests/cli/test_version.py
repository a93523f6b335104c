"""Test `openoutcry --version`."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
import tomllib
from command_line import typed
from report_proofs import part_of, small_page

import openoutcry as oo
from openoutcry.data.bundled.universe import NAMES
from openoutcry.report.wasm_engine import has_engine

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.once


def printed(*words: str) -> str:
    done = typed(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_versions_are_those_of_the_package_the_contract_and_the_engine() -> None:
    engine = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    stated = json.loads(printed("--version", "--json"))
    assert (stated["openoutcry"], stated["contract"]) == (oo.__version__, oo.CONTRACT_VERSION)
    assert stated["engine"] == engine


def test_the_digest_of_a_bundled_market_equals_that_in_records() -> None:
    markets = {f"{name}:{each}": oo.data.load(name, each) for name in oo.data.names() for each in NAMES}
    stated = json.loads(printed("--version", "--json"))["datasets"]
    assert stated == {source: market.fingerprint for source, market in markets.items()}
    run = oo.run_backtest(markets["us-treasury:major"], "momentum", (20, 24), capture=True)
    assert run.record.headers[0]["dataset.fingerprint"] == stated["us-treasury:major"]


def test_text_and_json_agree() -> None:
    stated = json.loads(printed("--json", "--version"))
    first, pages, *markets = printed("--version").splitlines()
    assert first == f"openoutcry {stated['openoutcry']}, contract {stated['contract']}, engine {stated['engine']}"
    assert pages.split(maxsplit=2) == ["WebAssembly", "engine", stated["engine_for_pages"] or "not built"]
    assert dict(line.split() for line in markets) == stated["datasets"]


def test_the_digest_of_the_engine_for_pages_equals_that_in_a_page(tmp_path: Path) -> None:
    stated = json.loads(printed("--version", "--json"))["engine_for_pages"]
    if not has_engine():
        assert stated is None
        return
    small_page(tmp_path / "page.html")
    named = json.loads(part_of((tmp_path / "page.html").read_text(encoding="utf-8"), "claims"))["engine"]
    packed = Path(oo.__file__).with_name("report") / "engine" / "engine.wasm.gz"
    assert stated == named == hashlib.sha256(gzip.decompress(packed.read_bytes())).hexdigest()


def test_json_before_a_command_is_refused_and_not_ignored() -> None:
    done = typed("--json", "data", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--json` must follow a command or go with `--version`" in done.stderr
