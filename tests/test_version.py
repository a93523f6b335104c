"""`openoutcry --version`: what a stranger compares before he compares numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomllib
from commands import typed

import openoutcry as oo
from openoutcry.data.universe import NAMES

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.once


def printed(*words: str) -> str:
    done = typed(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_versions_are_those_of_the_package_the_contract_and_the_engine() -> None:
    engine = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    told = json.loads(printed("--version", "--json"))
    assert (told["openoutcry"], told["contract"]) == (oo.__version__, oo.CONTRACT_VERSION)
    assert told["engine"] == engine


def test_the_digest_of_a_bundled_market_is_the_one_that_records_bind() -> None:
    markets = {f"{name}:{each}": oo.data.load(name, each) for name in oo.data.names() for each in NAMES}
    told = json.loads(printed("--version", "--json"))["datasets"]
    assert told == {source: market.fingerprint for source, market in markets.items()}
    run = oo.run_backtest(markets["us-treasury:major"], "momentum", (20, 24), capture=True)
    assert run.record.headers[0]["dataset.fingerprint"] == told["us-treasury:major"]


def test_the_words_say_what_the_json_says() -> None:
    told = json.loads(printed("--json", "--version"))
    first, *markets = printed("--version").splitlines()
    assert first == f"openoutcry {told['openoutcry']}, contract {told['contract']}, engine {told['engine']}"
    assert dict(line.split() for line in markets) == told["datasets"]


def test_json_before_a_command_is_refused_and_not_ignored() -> None:
    done = typed("--json", "data", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--json` must follow a command or go with `--version`" in done.stderr
