"""Task rows: disjoint splits, reproducible markets, and no information about the future."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_rows import SECRET, csv_of, row_of

import openoutcry as oo
from openoutcry.scenarios.scenario import NAMES
from openoutcry.verifiers_env import prompts, row_markets
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.rewards import RewardTerms
from openoutcry.verifiers_env.rollout_state import RolloutState
from openoutcry.verifiers_env.scripted_policies import decision, is_valid_task
from openoutcry.verifiers_env.task_rows import HELD_OUT_SECRET, SPLITS, STYLES, Row, market_key

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HELD_OUT_SECRET, SECRET)


@pytest.mark.parametrize("market", [*NAMES, "ecb-fx", "us-treasury"])
def test_a_deserialised_row_draws_the_same_market(market: str) -> None:
    row = row_of(market, 7)
    again = Row(**json.loads(json.dumps(asdict(row))))
    assert again == row
    assert row_markets.draw(again, 0).fingerprint == row_markets.draw(row, 0).fingerprint


def test_no_market_is_in_two_splits_tasks_or_windows() -> None:
    drawn = [
        row_markets.draw(row_of(index=index, split=split, n_windows=3), window).fingerprint
        for split in SPLITS
        for index in range(40)
        for window in range(3)
    ]
    assert len(set(drawn)) == len(drawn)


def test_splits_of_real_data_share_no_bar() -> None:
    seen: dict[str, set[str]] = {}
    for split in SPLITS:
        rows = [row_of("ecb-fx", index, split=split, masked=False) for index in range(150)]
        seen[split] = {day for row in rows for day in row_markets.draw(row, 0).dates}
        assert len(seen[split]) > 500
    assert max(seen["train"]) < min(seen["validation"])
    assert max(seen["validation"]) < min(seen["held-out"])


def test_real_data_is_masked_by_default() -> None:
    plain, masked = (row_markets.draw(row_of("ecb-fx", masked=masked), 0) for masked in (False, True))
    assert set(masked.symbols) == {"S01", "S02", "S03"}
    assert not set(masked.dates) & set(oo.data.load("ecb-fx").dates)
    assert set(plain.symbols) <= set(oo.data.load("ecb-fx").symbols)
    assert not np.isclose(masked.close[0], plain.close[0]).any()
    returns = [np.sort(each.close[-1] / each.close[0]) for each in (plain, masked)]
    assert np.allclose(*returns)


def test_held_out_markets_depend_on_the_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = row_of(split="held-out")
    first = row_markets.draw(row, 0).fingerprint
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    monkeypatch.setenv(HELD_OUT_SECRET, f"@{tmp_path / 'secret'}")
    assert row_markets.draw(row, 0).fingerprint == first
    monkeypatch.setenv(HELD_OUT_SECRET, "another secret, of another worker")
    assert row_markets.draw(row, 0).fingerprint != first


@pytest.mark.parametrize("secret", ["", "short", "@/nowhere/to/be/found"])
def test_held_out_rows_without_a_secret_are_refused(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv(HELD_OUT_SECRET, secret)
    with pytest.raises(oo.OpenOutcryError, match=HELD_OUT_SECRET):
        row_markets.draw(row_of(split="held-out"), 0)
    # Other splits need no secret.
    row_markets.draw(row_of(split="train"), 0)


def test_a_market_that_differs_from_the_row_is_refused(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "mine.csv", np.linspace(1.0, 2.0, 120).reshape(60, 2))
    row = row_of(str(path), n_symbols=2)
    row_markets.draw(row, 0)
    with pytest.raises(oo.OpenOutcryError, match="must have the digest"):
        row_markets.draw(replace(row, digest="0" * 64), 0)
    with pytest.raises(oo.OpenOutcryError, match="unknown_dataset"):
        row_of(str(tmp_path / "none.csv"))


def test_a_file_too_short_for_the_row_is_refused(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "mine.csv", np.linspace(1.0, 2.0, 40).reshape(20, 2))
    with pytest.raises(oo.OpenOutcryError, match=r"validation part .* must have at least 11 bars; received 4 of 20"):
        row_markets.draw(row_of(str(path), split="validation"), 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [("split", "test"), ("mandate", "win"), ("horizon", 1), ("lookback", 1), ("n_symbols", 0), ("n_windows", 0)],
)
def test_an_invalid_row_is_refused(field: str, value: object) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"`{field}` must be"):
        Row(**{**asdict(row_of()), field: value})


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("market", ["pairs", "ecb-fx"])
def test_no_message_to_a_model_depends_on_a_later_bar(monkeypatch: pytest.MonkeyPatch, market: str, style: str) -> None:
    row = row_of(market)
    real, cut = row_markets.draw(row, 0), 3

    def messages() -> list[str]:
        said = [prompts.prompt(row, style, RewardTerms())]
        rollout = RolloutState(row)
        for place in range(cut):
            said.append(rollout.decide(decision({rollout.windows[0].dataset.symbols[place]: 0.3}))[1])
            said.append(json.dumps([rollout.state(), rollout.history()]))
        return said

    before = messages()
    start = row.window[0]
    columns = real._columns()
    for name in ("close", "open", "high", "low"):
        if columns[name] is not None:
            columns[name] = np.array(columns[name])
            columns[name][start + cut + 1 :] *= 3.0
    future = oo.Dataset.from_arrays(**columns, name=real.name)
    monkeypatch.setattr(row_markets, "draw", lambda row, window: future)
    assert messages() == before
    assert future.fingerprint != real.fingerprint


@pytest.mark.parametrize("mandate", MANDATES)
def test_the_prompt_describes_market_costs_and_mandate(mandate: str) -> None:
    row = row_of(
        "us-treasury", mandate=mandate, n_windows=3, costs=oo.CostModel(fee_bps=7.0, impact_bps=11.0).to_dict()
    )
    said = prompts.prompt(row, "tools", RewardTerms())
    assert "There are 3 windows" in said
    assert "In each there are 6 decisions" in said
    assert "fill at that close" in said
    assert "7 bps fee and 2 bps slippage" in said
    # Without volume, impact depends on the order's share of the account.
    assert "11 bps times the square root of the order's share of the account" in said
    assert (f"Mandate: {MANDATES[mandate].description}." in said) == bool(MANDATES[mandate].description)
    assert ("The benchmark is cash." in said) == (mandate == "market-neutral")
    shown = json.loads(said.rsplit("\n", 1)[-1])
    assert (shown["window"], shown["bars_left"], shown["nav"], shown["cash"]) == ("1 of 3", 6, 1.0, 1.0)
    assert shown["weights"] == {}
    closes = shown["history"].values()
    assert [len(each) for each in closes] == [5] * 3
    assert [each[-1] for each in closes] == list(shown["closes"].values())


def test_no_message_to_a_model_holds_a_key_seed_or_index() -> None:
    row = row_of(index=987_654_321)
    said = prompts.prompt(row, "tools", RewardTerms()) + RolloutState(row).decide('{"orders":[]}')[1]
    for secret in ("987654321", market_key(row, 0).hex(), row.digest, row.split, "pairs"):
        assert secret not in said


@pytest.mark.parametrize("mandate", MANDATES)
@pytest.mark.parametrize("market", ["pairs", "regime-shift", "calm", "ecb-fx", "us-treasury"])
def test_the_reward_ranks_an_oracle_above_holding_and_holding_above_churning(market: str, mandate: str) -> None:
    assert all(is_valid_task(row_of(market, index, mandate=mandate, horizon=10)) for index in range(10))


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 2**31 - 1), st.sampled_from(NAMES), st.integers(1, 9), st.integers(2, 40), st.integers(2, 30))
def test_every_row_can_be_played(index: int, market: str, n_symbols: int, horizon: int, lookback: int) -> None:
    rollout = RolloutState(row_of(market, index, n_symbols=n_symbols, horizon=horizon, lookback=lookback))
    while not rollout.done:
        rollout.decide('{"orders":[]}')
    assert rollout.n_answers == horizon
