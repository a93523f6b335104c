"""The second conformance episode: its events and its random seed."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import Any

import pytest
from builders import count
from conformance_agents import SEED, agent, judged, played, tiny

import openoutcry as oo
from openoutcry.cli import main
from openoutcry.harness.conformance import ConformanceError, check_agent, examine, launcher_of
from openoutcry.harness.conformance.finding_text import advice_texts
from openoutcry.harness.conformance.kit import kit, read
from openoutcry.harness.conformance.random_market import N_BARS, N_SYMBOLS, draw_seed, has_all_events, market
from openoutcry.openoutcry_py import conformance_files

pytestmark = pytest.mark.once


def shown(seed: int) -> tuple[list[dict[str, Any]], oo.Run]:
    """Return the observations and the run of an agent that buys every listed symbol."""
    seen: list[dict[str, Any]] = []

    def decide(observation: dict[str, Any]) -> dict[str, Any]:
        seen.append(observation)
        names = [view["symbol"] for view in observation["symbols"]]
        return {"orders": [{"symbol": name, "action": "buy", "target_weight": 0.9 / len(names)} for name in names]}

    return seen, oo.run_backtest(market(seed), decide, (0, N_BARS))


def test_symbols_are_listed_late_halted_and_delisted_and_have_news() -> None:
    for seed in filter(lambda seed: has_all_events(market(seed)), range(count(200, 8))):
        seen, run = shown(seed)
        names = [{view["symbol"] for view in each["symbols"]} for each in seen]
        assert len(seen) == N_BARS - 1
        assert any(after - before for before, after in pairwise(names))
        assert any(before - after for before, after in pairwise(names))
        assert 1 <= min(map(len, names)) <= max(map(len, names)) <= N_SYMBOLS
        assert {"filled", "delisted", "unfilled", "stale_price"} <= run.event_counts.keys()
        views = [view for each in seen for view in each["symbols"]]
        assert all(any(field in view for view in views) for field in ("news", "fundamentals"))
        assert {len(view["close_history"]) for view in views} > set(range(1, 20))


def test_a_market_without_all_kinds_of_events_is_not_drawn() -> None:
    assert not all(has_all_events(market(seed)) for seed in range(50))
    assert all(has_all_events(market(draw_seed())) for _ in range(count(300, 30)))


def test_a_seed_determines_the_market_and_each_examination_draws_one() -> None:
    assert market(SEED) == market(SEED)
    assert len({market(seed).fingerprint for seed in range(20)}) == 20
    assert len({market(seed).dates[0] for seed in range(20)}) == 20
    launcher = launcher_of(lambda observation: {"orders": []})
    assert len({examine(launcher, with_kit=tiny()).to_dict()["seed"] for _ in range(3)}) == 3
    assert examine(launcher, with_kit=tiny(), seed=SEED).to_dict()["seed"] == SEED


def test_the_market_generator_is_part_of_the_kit_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openoutcry.harness.conformance.random_market._NEWS_EVERY", 24)
    assert read(conformance_files()).digest != kit().digest


def test_a_failure_is_reproduced_with_its_seed() -> None:
    seen, _ = shown(SEED)
    closes = json.dumps(seen[100]["symbols"][0]["close_history"])

    def stumbles(observation: dict[str, Any]) -> dict[str, Any]:
        if any(json.dumps(view["close_history"]) == closes for view in observation["symbols"]):
            raise KeyError("of that market")
        return {"orders": []}

    assert examine(launcher_of(stumbles), with_kit=played(), seed=SEED + 1).conforms
    with pytest.raises(ConformanceError, match="of that market") as caught:
        check_agent(stumbles, seed=SEED)
    assert caught.value.check == "drawn_episode"
    assert f"  with the seed {SEED}" in str(caught.value).splitlines()


def test_the_command_takes_a_seed_and_advises_an_agent_without_orders(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--seed", "5", "--json"], ["--seed", "5"]):
        monkeypatch.setattr(sys, "argv", ["openoutcry", "conformance", "hold-cash", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        out = capsys.readouterr().out
        if "--json" in words:
            assert json.loads(out)["seed"] == 5
        else:
            assert "  advice: the agent placed no order, so the checks do not show that it reads observations" in out


def test_an_agent_without_orders_gets_advice() -> None:
    blind = judged(agent("answer = {'orders': []}"), tiny(), deterministic=False)
    assert blind.conforms
    assert blind.to_dict()["n_orders"] == 0
    assert advice_texts(blind)[-1] == "the agent placed no order, so the checks do not show that it reads observations"
    trading = judged(agent(), tiny(), deterministic=False)
    assert trading.to_dict()["n_orders"] > 300
    assert not any("ordered" in each for each in advice_texts(trading))
