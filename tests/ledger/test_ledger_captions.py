"""Captions of `ledger compare` distinguish runs, with as few facts as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import typed
from hypothesis import given
from hypothesis import strategies as st
from ledger_runs import id_of, ledger_at, ledger_run, market

from openoutcry.ledger import rules_of
from openoutcry.ledger.run_captions import distinct_captions
from openoutcry.openoutcry_py import CostModel, Limits

BASE: dict[str, Any] = {"strategy": {"name": "momentum"}, "rules": rules_of(CostModel(), Limits(), 20)}
LATER = ("2020-02-01", "2020-12-31")
CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "market": ({"market": market("n")}, ["momentum on m", "momentum on n"]),
    "symbols": ({"market": replace(market("n"), name="m", symbols=("C",))}, ["momentum, A, B", "momentum, C"]),
    "window": ({"window": LATER}, ["momentum, 2020-01-01 .. 2020-12-31", "momentum, 2020-02-01 .. 2020-12-31"]),
    "costs": (
        {"rules": rules_of(CostModel(fee_bps=0.0), Limits(), 20)},
        ["momentum, fee 1 bps", "momentum, fee 0 bps"],
    ),
    "capital": (
        {"rules": rules_of(CostModel(capital=5e5), Limits(), 20)},
        ["momentum, capital 1,000,000", "momentum, capital 500,000"],
    ),
    "limits": (
        {"rules": rules_of(CostModel(), Limits(allow_short=False), 20)},
        ["momentum, long and short", "momentum, long only"],
    ),
    "lookback": ({"rules": rules_of(CostModel(), Limits(), 5)}, ["momentum, lookback 20", "momentum, lookback 5"]),
    "engine": ({"engine_version": "2"}, ["momentum, 1", "momentum, 2"]),
    "nothing": ({}, ["momentum, run 1 of 2", "momentum, run 2 of 2"]),
    "strategy": ({"strategy": {"name": "trend"}}, ["momentum", "trend"]),
    "params": (
        {"strategy": {"name": "momentum", "params": {"n": 3}}, "window": LATER},
        ["momentum", "momentum(n=3)"],
    ),
}


@pytest.fixture
def captions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return the captions of a comparison of all runs of a ledger."""
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "200")

    def of(*changes: dict[str, Any]) -> list[str]:
        runs = [ledger_run(number, **BASE | change) for number, change in enumerate(changes)]
        with ledger_at(tmp_path / "ledger") as ledger:
            ledger.add(runs)
        done = typed("ledger", "compare", *(run.run_id for run in runs), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()[: len(runs)]
        assert [line[3:39] for line in lines] == [id_of(number) for number in range(len(runs))]
        return [line[41:] for line in lines]

    return of


@pytest.mark.parametrize("what", CHANGES)
def test_a_caption_states_only_what_differs(captions: Callable[..., list[str]], what: str) -> None:
    change, expected = CHANGES[what]
    assert captions({}, change) == expected


def test_captions_of_many_runs_are_distinct(captions: Callable[..., list[str]]) -> None:
    rounded = [{"strategy": {"strategy": "own", "params": {"a": 0.1234567 + each / 1e9}}} for each in range(2)]
    free = {"rules": rules_of(CostModel.zero(), Limits(), 20)}
    found = captions({}, {}, free, {"window": LATER}, free | {"window": LATER}, *rounded, {"rules": {}}, {"rules": {}})
    assert len(set(found)) == len(found)
    assert found[5:7] == ["own(a=0.123457), a=0.1234567", "own(a=0.123457), a=0.123456701"]
    assert captions({}) == ["momentum"]


FACTS = st.tuples(st.sampled_from("ab"), st.sampled_from(["", "x", "y"]), st.sampled_from(["", "1"]))


@given(st.lists(st.tuples(st.sampled_from("st"), FACTS), max_size=8))
def test_captions_are_distinct_and_start_with_their_text(runs: list[tuple[str, tuple[str, str, str]]]) -> None:
    texts = {str(place): text for place, (text, _) in enumerate(runs)}
    found = distinct_captions(texts, {str(place): facts for place, (_, facts) in enumerate(runs)})
    assert len(set(found.values())) == len(runs)
    assert all(found[each].startswith(text) for each, text in texts.items())
