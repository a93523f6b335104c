"""The learners in one file of plain PyTorch: market, ends of episodes, learning, and the martingale control."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from train_page import run_example

import openoutcry as oo

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, PAGE = ROOT / "examples", (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
sys.path.insert(0, str(EXAMPLES))
NAMES = ("single_file_ppo", "single_file_sac", "single_file_dqn")
LEARNERS = [importlib.import_module(name) for name in NAMES]
learners = pytest.mark.parametrize("learner", LEARNERS, ids=NAMES)
replaying = pytest.mark.parametrize("learner", LEARNERS[1:], ids=NAMES[1:])


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def settings_of(learner: ModuleType) -> dict[str, Any]:
    return getattr(learner, "DISCRETE", {})


def lanes(learner: ModuleType, mode: AutoresetMode, n: int = 8) -> Any:
    markets = learner.markets_of("momentum", n, 0, "validation")
    episodes = {"window": "random", "episode_bars": 6, "autoreset_mode": mode}
    return learner.lanes_of(markets, **episodes, **settings_of(learner))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_short_and_imports_no_other_example(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert 150 <= text.count("\n") <= 260
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {each.name.split(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"numpy", "torch", "gymnasium", "openoutcry"}


@learners
def test_market_and_rule_are_those_of_the_recipes(learner: ModuleType) -> None:
    import recipe_markets as recipes

    for edge in learner.EDGES:
        assert learner.digest(edge) == recipes.EDGES[edge].digest()
        assert learner.digest(edge) in PAGE
    recipe = recipes.EDGES["momentum"]
    markets = learner.markets_of("momentum", 4, 64, "test")
    known = recipe.markets(4, seed=64, split="test")
    assert [each.fingerprint for each in markets] == [each.fingerprint for each in known]
    for mine, costs in ((learner.FEE_BPS, recipes.COSTS), (0.0, recipes.FREE)):
        theirs = recipes.sharpe(recipes.play(recipe, known, recipe.rule, costs=costs))
        assert np.allclose(learner.sharpe(markets, learner.rule, mine), theirs, rtol=0.0, atol=1e-12)


@replaying
def test_a_replay_buffer_has_true_next_observations_and_no_restart(learner: ModuleType) -> None:
    env = lanes(learner, AutoresetMode.NEXT_STEP)
    replay, rng = learner.Replay(10, env), np.random.default_rng(0)
    replay.seen[0], _ = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(37):
        replay.add(env.action_space.sample())
        seen, _, rewards, terminated, after = replay.sample(400, rng)
        # Four of five returns move by one bar, except from one episode to the next.
        assert torch.equal(after[:, :4], seen[:, 1:5])
        assert len(seen) > 200
        assert not terminated.any()
        assert bool((rewards != 0.0).any())
    # Each episode of five decisions has one row that restarts it, and the row being written has no action yet.
    assert replay.usable.mean() == pytest.approx(0.9 * 5 / 6, abs=0.07)


def test_a_target_goes_on_after_an_end_by_time_and_stops_at_ruin() -> None:
    torch.manual_seed(0)
    rewards, ruined = torch.tensor([1.0, 1.0]), torch.tensor([False, True])
    seen = torch.randn(2, 7)
    sac, dqn = LEARNERS[1:]
    actor, slow = sac.Actor(7), sac.Critic(7)
    found = sac.targets((seen, seen, rewards, ruined, seen), actor, slow, sac.Args(gamma=0.9))
    assert found[0] != 1.0
    assert found[1] == 1.0
    values, level = dqn.Values(7), torch.zeros(1, dtype=torch.int64)
    losses = [
        dqn.loss_of((seen[:1], level, rewards[:1], flag, seen[:1]), values, values, gamma).item()
        for gamma, flag in ((0.9, ruined[:1]), (0.9, ruined[1:]), (0.0, ruined[:1]))
    ]
    assert losses[1] == losses[2] != losses[0]


def test_a_rollout_values_the_last_observation_of_an_episode_and_not_the_next_episode() -> None:
    ppo = LEARNERS[0]
    rollout = ppo.Rollout(20, lanes(ppo, AutoresetMode.SAME_STEP))
    rollout.seen[-1], _ = rollout.env.reset(seed=0)
    agent = ppo.Agent(7, 0.35)
    # The last return but one: after a step, that is the last return before it.
    agent.value = lambda seen: seen[..., 3]
    values, after = rollout.collect(agent)
    assert rollout.ended.sum() == 20 // 5 * 8
    assert torch.equal(values, torch.from_numpy(rollout.seen[:-1, :, 3]))
    assert torch.equal(after, torch.from_numpy(rollout.seen[:-1, :, 4]))
    assert not np.array_equal(rollout.seen[1:, :, 3], rollout.seen[:-1, :, 4])


def ruinous(learner: ModuleType, mode: AutoresetMode) -> Any:
    """Return lanes whose price rises tenfold at bar 9, in which a short account is ruined by the fifth step."""
    dates = np.datetime64("2000-01-03") + np.arange(40)
    prices = np.where(np.arange(40) < 9, 100.0, 1000.0)[:, None]
    market = oo.Dataset.from_arrays(dates, ["X"], prices, periods_per_year=252.0)
    return learner.lanes_of([market] * 8, window=(4, 40), autoreset_mode=mode, **settings_of(learner))


def test_a_rollout_gives_ruin_no_later_value() -> None:
    ppo = LEARNERS[0]
    rollout = ppo.Rollout(5, ruinous(ppo, AutoresetMode.SAME_STEP))
    rollout.seen[-1], _ = rollout.env.reset(seed=0)
    agent = ppo.Agent(7, 1e-6)
    torch.nn.init.constant_(agent.mean[-1].bias, -1.0)
    agent.value = lambda seen: torch.ones(seen.shape[:-1])
    _, after = rollout.collect(agent)
    assert rollout.terminated.sum(axis=1).tolist() == [0, 0, 0, 0, 8]
    assert after.sum(dim=1).tolist() == [8, 8, 8, 8, 0]


@replaying
def test_a_replay_buffer_marks_ruin(learner: ModuleType) -> None:
    replay = learner.Replay(10, ruinous(learner, AutoresetMode.NEXT_STEP))
    replay.seen[0], _ = replay.env.reset(seed=0)
    short = np.zeros(8, np.int64) if settings_of(learner) else np.full((8, 1), -1.0, np.float32)
    for _ in range(6):
        replay.add(short)
    assert replay.terminated[:6].sum(axis=1).tolist() == [0, 0, 0, 0, 8, 0]
    assert replay.usable.sum(axis=1).tolist() == [8] * 5 + [0] * 5


def test_advantages_are_discounted_sums_within_each_episode() -> None:
    ppo, rng = LEARNERS[0], np.random.default_rng(0)
    rewards, values, after = (torch.from_numpy(rng.normal(size=(12, 3))) for _ in range(3))
    ended = torch.from_numpy(rng.random((12, 3)) < 0.3)
    found = ppo.advantages(rewards, values, after, ended, ppo.Args(gamma=0.9, lam=0.8))
    for lane in range(3):
        for t in range(12):
            total, weight = 0.0, 1.0
            for k in range(t, 12):
                total += weight * float(rewards[k, lane] + 0.9 * after[k, lane] - values[k, lane])
                weight *= 0.9 * 0.8
                if ended[k, lane]:
                    break
            assert float(found[t, lane]) == pytest.approx(total, abs=1e-12)


def test_the_loop_of_the_page_has_true_next_observations_except_where_it_skips() -> None:
    names = run_example("Plain PyTorch", 100)
    seen, skipped = names["seen"], names["skipped"]
    assert seen.shape == (33, 256, 190)
    assert not skipped.any()
    # Twenty bars of nine returns move by one bar.
    assert np.array_equal(seen[1:, :, :171], seen[:-1, :, 9:180])


@learners
def test_a_seed_gives_the_same_bits_twice_and_another_seed_others(learner: ModuleType) -> None:
    args = learner.arguments(["--steps", "10752"])
    one, two, other = ([*learner.train(args, seed).state_dict().values()] for seed in (0, 0, 1))
    assert all(map(torch.equal, one, two))
    assert not any(map(torch.equal, one, other))


@learners
def test_a_quick_run_learns_momentum_and_prints_its_table(
    learner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    learner.main(["--quick"])
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:-1]]
    assert [row[0] for row in rows] == ["seed", "---", "0", "all", "rule"]
    # The page states the same ratio of the rule.
    assert rows[4][1] in PAGE
    assert lines[-1].startswith("share of the rule: ")
    learnt, known = (float(rows[i][1].split()[0]) for i in (2, 4))
    assert learnt > 0.8 * known
    markets = learner.markets_of("momentum", learner.N_TEST, learner.N_TEST, "test")
    untrained = learner.train(learner.arguments(["--steps", "0"]), 0)
    # Undefined if an untrained network never changes its level.
    assert not learner.sharpe(markets, untrained.decide, **settings_of(learner)).mean() > learnt - 1.0


@learners
def test_nothing_is_learnt_on_martingales(learner: ModuleType) -> None:
    trained = learner.train(learner.arguments(["--edge", "martingale", "--steps", "24576"]), 0)
    markets = learner.markets_of("martingale", 256, 0, "validation")
    ratios = learner.sharpe(markets, trained.decide, 0.0, **settings_of(learner))
    # Four standard errors: by chance, one of 16,000 samples of markets is further from 0.
    assert abs(ratios.mean()) < 4.0 * ratios.std() / len(ratios) ** 0.5
