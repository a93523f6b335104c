"""Options of `reset` are applied or refused, and attributes cannot be assigned."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

SHARED: dict[str, Any] = {"window": "random", "episode_bars": 6, "observation": "flat", "lookback": 4}
DEAR = oo.CostModel(fee_bps=80.0)
TIGHT = oo.Limits(max_gross=0.3)


def played(env: OpenOutcryEnv) -> list[float]:
    return [env.step(np.full(4, 0.2, np.float32))[1] for _ in range(5)]


def test_options_hold_from_their_episode_on() -> None:
    env = OpenOutcryEnv(**SHARED)
    env.reset(seed=3)
    space = env.action_space
    first, options = played(env), {"costs": DEAR, "limits": TIGHT}
    env.reset(options=options)
    second = played(env)
    env.reset()
    third = played(env)
    assert (env.costs, env.limits) == (DEAR, TIGHT)
    assert env.action_space is space
    twin = OpenOutcryEnv(**SHARED, costs=DEAR, limits=TIGHT)
    twin.reset(seed=3)
    assert played(twin) != first
    twin.reset()
    assert played(twin) == second
    twin.reset()
    assert played(twin) == third
    env.reset(seed=3, options={"costs": None, "limits": oo.Limits()})
    assert played(env) == first


def test_a_window_option_replaces_the_windows() -> None:
    env, fixed = OpenOutcryEnv(**SHARED), OpenOutcryEnv(window=(30, 50), observation="flat", lookback=4)
    env.reset(seed=3, options={"window": (30, 50)})
    fixed.reset()
    assert env.clone_state() == fixed.clone_state()
    env.reset(options={"window": "random", "episode_bars": 9, "within": (20, 60)})
    start, end = env.clone_state().window
    assert end - start == 9
    assert 20 <= start < end <= 60
    env.reset(options={"episode_bars": 5})
    assert env.clone_state().window[1] - env.clone_state().window[0] == 5
    with pytest.raises(oo.OpenOutcryError, match="`episode_bars`"):
        fixed.reset(options={"episode_bars": 5})


BAD: dict[str, tuple[Any, str, str]] = {
    "an unknown name": ({"cots": DEAR}, "argument_invalid", "received 'cots'"),
    "another number of symbols": ({"dataset": "ecb-fx"}, "argument_invalid", "at most as many symbols as before, 4"),
    "a mask": ({"reset_mask": np.array([True])}, "argument_invalid", "reset_mask"),
    "a list": ([DEAR], "argument_invalid", "`options`"),
    "costs of another type": ({"costs": 3.0}, "cost_invalid", "`costs`"),
    "limits of another type": ({"limits": DEAR}, "limit_invalid", "`limits`"),
    "a window outside": ({"window": (0, 999)}, "window_invalid", "999"),
}


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_option_is_refused_and_changes_nothing(what: str) -> None:
    options, slug, text = BAD[what]
    env = OpenOutcryEnv(**SHARED)
    env.reset(seed=1)
    env.step(np.full(4, 0.2, np.float32))
    before = env.clone_state()
    with pytest.raises(oo.OpenOutcryError) as refused:
        env.reset(options=options)
    assert refused.value.slug == slug
    assert text in str(refused.value)
    assert env.clone_state() == before
    twin = OpenOutcryEnv(**SHARED)
    twin.reset(seed=1)
    twin.reset()
    env.reset()
    assert env.clone_state() == twin.clone_state()


ARGUMENTS = [
    (kind, name)
    for kind in (OpenOutcryEnv, OpenOutcryVectorEnv)
    for name in (*signature(kind).parameters, "reward_scheme")
    if name != "render_mode"
]


@pytest.mark.parametrize(("kind", "name"), ARGUMENTS)
def test_an_assignment_is_refused(kind: Any, name: str) -> None:
    env = kind()
    kept = getattr(env, name, None)
    with pytest.raises(oo.OpenOutcryError, match=f"`{name}` must be an argument of the constructor.*hint: "):
        setattr(env, name, kept)
    assert getattr(env, name, None) is kept


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("window", "env.reset(options={'window': ...}) changes it from that episode on"),
        ("max_weight", "env.reset(options={'limits': Limits(max_weight=...)}) changes it from that episode on"),
        ("n_days", "env.reset(options={'dataset': Dataset.synthetic(n_symbols, n_days)}) changes it"),
        ("reward", "create another environment with reward=..."),
        ("num_envs", "create another environment with num_envs=..."),
    ],
)
def test_an_assignment_has_the_hint_of_its_argument(name: str, hint: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=re.escape(f"received an assignment; hint: {hint}")):
        setattr(OpenOutcryVectorEnv(), name, 1)


@pytest.mark.parametrize("kind", [OpenOutcryEnv, OpenOutcryVectorEnv])
def test_attributes_of_gymnasium_and_of_a_user_can_be_assigned(kind: Any) -> None:
    env = kind()
    values = {"render_mode": "ansi", "spec": None, "metadata": {}, "np_random": np.random.default_rng(0), "mine": 3}
    if kind is OpenOutcryEnv:
        values |= {"action_space": env.action_space, "observation_space": env.observation_space}
    for name, value in values.items():
        setattr(env, name, value)
        assert getattr(env, name) is value


def test_an_option_of_a_wrapper_is_passed_on() -> None:
    OpenOutcryEnv().reset(options={"minari_autoseed": False})


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_options_of_lanes_are_those_of_scalar_environments(mode: AutoresetMode, copies: bool) -> None:
    mine = OpenOutcryVectorEnv(3, **SHARED, autoreset_mode=mode, copy=copies)
    theirs: Any = SyncVectorEnv([lambda: OpenOutcryEnv(**SHARED)] * 3, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    resets: list[dict[str, Any]] = [{"costs": DEAR}, {"limits": TIGHT, "window": (10, 18)}, {"window": "random"}]
    for options in [{}, *resets, {}]:
        if options.get("window") == "random":
            options |= {"episode_bars": 7}
        assert (
            mine.reset(options=dict(options), seed=4)[0].tobytes() == theirs.reset(options=options, seed=4)[0].tobytes()
        )
        for _ in range(12):
            actions = rng.normal(0.0, 0.4, (3, 4)).astype(np.float32)
            one, other = mine.step(actions), theirs.step(actions)
            assert [each.tobytes() for each in one[:4]] == [each.tobytes() for each in other[:4]]


def test_options_change_only_the_lanes_of_the_mask() -> None:
    env = OpenOutcryVectorEnv(3, **SHARED, autoreset_mode="Disabled")
    plain = OpenOutcryVectorEnv(3, **SHARED, autoreset_mode="Disabled")
    for each in (env, plain):
        each.reset(seed=2)
        each.step(np.full((3, 4), 0.2))
    mask, fees = np.array([False, True, False]), [oo.CostModel(fee_bps=float(k)) for k in range(3)]
    env.reset(options={"reset_mask": mask, "costs": fees})
    plain.reset(options={"reset_mask": mask})
    assert [cost.fee_bps for cost in env.costs] == [1.0, 1.0, 1.0]
    env.reset(options={"reset_mask": mask, "costs": DEAR})
    plain.reset(options={"reset_mask": mask})
    assert [cost.fee_bps for cost in env.costs] == [1.0, 80.0, 1.0]
    one, other = (each.step(np.full((3, 4), -0.2)) for each in (env, plain))
    assert (one[1] == other[1]).tolist() == [True, False, True]


def test_a_list_of_seeds_is_one_seed_per_lane() -> None:
    mine, theirs = OpenOutcryVectorEnv(4, **SHARED), [OpenOutcryEnv(**SHARED) for _ in range(4)]
    mine.reset(seed=0)
    for lane, env in enumerate(theirs):
        env.reset(seed=lane)
    for seeds in ([7, None, 7, 2**64 - 1], (3, 1, None, None), np.array([5, 6, 5, 0])):
        shown, _ = mine.reset(seed=seeds)  # type: ignore[arg-type]
        expected = [env.reset(seed=None if s is None else int(s))[0] for env, s in zip(theirs, seeds, strict=True)]
        assert shown.tobytes() == np.stack(expected).tobytes()
    mask = np.array([True, True, False, False])
    shown, _ = mine.reset(seed=[9, None, 9, 9], options={"reset_mask": mask})
    assert shown[:2].tobytes() == np.stack([theirs[0].reset(seed=9)[0], theirs[1].reset()[0]]).tobytes()
    drawn = [OpenOutcryVectorEnv(2, **SHARED).reset(seed=[1, None])[0] for _ in range(6)]
    assert len({each[0].tobytes() for each in drawn}) == 1
    assert len({each[1].tobytes() for each in drawn}) > 1


@pytest.mark.parametrize("way", ["list", "ints", "half", "columns", "strides", "double"])
def test_actions_of_lanes_have_the_forms_of_scalar_actions(way: str) -> None:
    rng = np.random.default_rng(3)
    base = rng.integers(-1, 2, (3, 4)) if way == "ints" else np.round(rng.normal(0.0, 0.3, (3, 4)), 3)
    forms: dict[str, Any] = {
        "list": base.tolist(), "ints": base, "half": base.astype(np.float16), "double": base.astype(np.float64),
        "columns": np.asfortranarray(base), "strides": np.repeat(base, 2, axis=1)[:, ::2],
    }  # fmt: skip
    env = OpenOutcryVectorEnv(3, **SHARED)
    env.reset(seed=1)
    hold = np.asfortranarray(rng.random((3, 4)) < 0.3)
    for held in (None, hold, hold.tolist()):
        shown, rewards, *_ = env.step(forms[way], hold=held)
        for lane in range(3):
            if held is None:
                alone = OpenOutcryEnv(**SHARED)
                alone.reset(seed=1 + lane)
                expected = alone.step(forms[way][lane])
                assert shown[lane].tobytes() == expected[0].tobytes()
                assert rewards[lane] == expected[1]
    exact = OpenOutcryVectorEnv(3, **SHARED)
    exact.reset(seed=1)
    for held in (None, hold, hold):
        contiguous = np.ascontiguousarray(np.asarray(forms[way]), dtype=np.float64)
        exact.step(contiguous, hold=None if held is None else np.ascontiguousarray(held))
    assert exact.nav.tobytes() == env.nav.tobytes()


def test_an_id_takes_a_market_of_the_user_and_its_spec_is_json(tmp_path: Path) -> None:
    base = oo.Dataset.synthetic(3, 300, 1)
    rows = [
        ",".join([date, *(repr(float(close)) for close in row)])
        for date, row in zip(base.dates, base.close, strict=True)
    ]
    path = tmp_path / "prices.csv"
    path.write_text("\n".join(["date,A,B,C", *rows]), encoding="utf-8")
    own: Any = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", dataset=base)
    assert own.unwrapped.dataset is base or own.unwrapped.dataset == base
    small: Any = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", n_symbols=2, n_days=300)
    assert (small.unwrapped.dataset.n_symbols, small.unwrapped.dataset.n_bars) == (2, 300)
    usual: Any = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2")
    assert (usual.unwrapped.dataset.n_symbols, usual.unwrapped.dataset.n_bars) == (4, 1260)
    for name in ("Market-v1", "Synthetic-v2"):
        env: Any = gymnasium.make(f"openoutcry.gym:OpenOutcry/{name}", dataset=str(path), info="full")
        again: Any = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
        assert again.unwrapped.dataset == env.unwrapped.dataset
        assert again.reset(seed=3)[0].tobytes() == env.reset(seed=3)[0].tobytes()
    lanes: Any = gymnasium.make_vec("openoutcry.gym:OpenOutcry/Synthetic-v2", num_envs=2, dataset=base)
    assert lanes.datasets == (base,)
