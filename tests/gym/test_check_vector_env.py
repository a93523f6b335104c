"""`check_vector_env` accepts environments that follow Gymnasium's conventions and names a violation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium
import pytest
import walk_env
from gymnasium.vector import AutoresetMode
from packaging.version import Version

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.testing import CHECKS, VectorEnvError, check_vector_env
from openoutcry.vector import OpenOutcryVectorEnv

MODES = tuple(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
# Up to 1.2.0 `SyncVectorEnv` does not check the number of actions: with too few it steps only some lanes.
COUNTS_ACTIONS = Version(gymnasium.__version__) > Version("1.2.0")


def cart_pole(num_envs: int = 3, **options: Any) -> Any:
    return gymnasium.make_vec("CartPole-v1", num_envs=num_envs, vectorization_mode="sync", vector_kwargs=options)


def native_cart_pole() -> Any:
    return gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")


def walk(lane: int) -> Any:
    return walk_env.Walk()


def fault(make: Any, mode: AutoresetMode = NEXT_STEP, **options: Any) -> str:
    with pytest.raises(VectorEnvError) as caught:
        check_vector_env(make, walk, modes=[mode], n_steps=60, **options)
    assert str(caught.value).startswith(f"{caught.value.check}: ")
    assert caught.value.check in CHECKS
    return str(caught.value)


@pytest.mark.parametrize("mode", MODES)
def test_an_environment_that_follows_every_convention_passes_every_check(mode: AutoresetMode) -> None:
    ran = check_vector_env(walk_env.Lanes, walk, modes=[mode], n_steps=60)
    assert ran == [f"{mode.name}.{name}" for name in CHECKS]


def test_the_vector_environments_of_gymnasium_pass_all_but_the_documented_checks() -> None:
    # `SyncVectorEnv` steps the lanes before an invalid action; Gymnasium permits that.
    skip = ["unmoved"] if COUNTS_ACTIONS else ["unmoved", "wrong_actions"]
    ran = check_vector_env(cart_pole, lambda lane: gymnasium.make("CartPole-v1"), modes=MODES, n_steps=80, skip=skip)
    assert len(ran) == 3 * (len(CHECKS) - len(skip))
    # The native environment draws all lanes from one generator, so lanes have no seeds of their own.
    assert len(check_vector_env(native_cart_pole, skip=["lane_seeds"])) == len(CHECKS) - 2


def test_the_violations_of_the_vector_environments_of_gymnasium_are_found() -> None:
    with pytest.raises(VectorEnvError, match="lane_seeds: in call 0 of lane 0 of reset"):
        check_vector_env(native_cart_pole)
    with pytest.raises(VectorEnvError, match="unmoved: in call 3" if COUNTS_ACTIONS else "wrong_actions: "):
        check_vector_env(cart_pole)


def test_an_existing_environment_is_checked_and_left_open() -> None:
    env = walk_env.Lanes()
    env.reset(seed=1)
    assert "NEXT_STEP.seeding" in check_vector_env(env, walk, n_steps=20)
    env.reset(seed=1)
    env.close()


def test_one_lane_and_many_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    for lanes in (1, 2, 9):
        monkeypatch.setattr(walk_env.Lanes, "n_lanes", lanes)
        check_vector_env(walk_env.Lanes, walk, modes=MODES, n_steps=25)


@pytest.mark.parametrize(
    ("broken", "mode", "message"),
    [
        (walk_env.NoVector, None, "spaces: a gymnasium.vector.VectorEnv is required; received NoVector"),
        (walk_env.ModeIsText, None, r"spaces: .*must be an AutoresetMode; received 'NextStep'"),
        (walk_env.WrongSpace, NEXT_STEP, r"spaces: `observation_space` must be batch_space\(.*; received Dict"),
        (walk_env.ResetAlone, NEXT_STEP, r"reset: `reset` must return \(observation, infos\); received dict"),
        (walk_env.FourParts, NEXT_STEP, r"step: `step` must return .*; received a tuple of 4"),
        (
            walk_env.WrongDtype,
            NEXT_STEP,
            r"step: .*\['place'\] must be an array float32 \(3, 2\); received an array float64",
        ),
        (
            walk_env.WrongShape,
            NEXT_STEP,
            r"step: .*must be an array float32 \(3, 2\); received an array float32 \(2, 3\)",
        ),
        (walk_env.MissingKey, NEXT_STEP, r"step: .* must have the keys \['place', 'turns'\]; received \['place'\]"),
        (walk_env.OutOfBounds, NEXT_STEP, r"step: .*\['place'\]\[1, 0\] must be from -9.0 to 9.0.*; received 12.0"),
        (walk_env.ListOfRewards, NEXT_STEP, r"step: rewards must be an array of floats \(3,\); received list"),
        (walk_env.MissingReward, NEXT_STEP, r"step: the rewards of step 0 must be finite; received \[ *nan"),
        (
            walk_env.FlagsAreNumbers,
            NEXT_STEP,
            r"step: terminations must be an array bool \(3,\); received an array int8",
        ),
        (walk_env.InfoWithoutMask, NEXT_STEP, r"infos: infos\['far'\] must have a mask of lanes, "),
        (
            walk_env.InfoIsList,
            NEXT_STEP,
            r"infos: infos\['far'\] must be a dict or an array of 3 rows.*; received list",
        ),
        (
            walk_env.IgnoresSeed,
            NEXT_STEP,
            r"seeding: in call 0 of a second rollout of the same seed.*\['place'\]\[0, 0\] must be",
        ),
        (walk_env.InstanceSeed, NEXT_STEP, "seeding: in call 0 of the same rollout in another instance"),
        (walk_env.OneSeed, NEXT_STEP, r"lane_seeds: in call 0 of lane 0 of reset\(seed=2025\), which is lane 1"),
        (walk_env.SharedMemory, NEXT_STEP, r"copies: observation\['place'\] of call 1 must have its own memory"),
        (
            walk_env.SharedRewards,
            NEXT_STEP,
            "copies: rewards of call 2 must have its own memory; received that of call 1",
        ),
        (
            walk_env.LateInfo,
            NEXT_STEP,
            r"copies: in the results of call 1, after call 2, infos\['turns'\]\[0\] must have 1 items",
        ),
        (
            walk_env.ReadsBack,
            NEXT_STEP,
            "copies: in call 1 of lane 0, in a rollout whose old observations are overwritten",
        ),
        (
            walk_env.NoAutoreset,
            NEXT_STEP,
            r"autoreset: rewards\[\d\] of step \d+, which only resets.* must be 0.0; received",
        ),
        (walk_env.SilentAutoreset, NEXT_STEP, r"autoreset: rewards\[\d\] of step \d+, which only resets"),
        (
            walk_env.ActsOnReset,
            NEXT_STEP,
            r"autoreset: in call \d+ of lane \d, whose actions differ only in steps that reset",
        ),
        (
            walk_env.FinalObsIsNew,
            SAME_STEP,
            "autoreset: the observation of a step that ends an episode must be the first of the next episode",
        ),
        (walk_env.FinalObsIsOld, SAME_STEP, r"scalar: in call \d+ of lane 0, .*, final_obs\['place'\]\[0\] must be"),
        (walk_env.NoFinalObs, SAME_STEP, r"autoreset: infos\['_final_obs'\] of step \d+ .*must be an array bool"),
        (
            walk_env.WrongFinalMask,
            SAME_STEP,
            r"autoreset: infos\['_final_info'\] of step .* must be False; received True",
        ),
        (walk_env.GoesOn, DISABLED, "autoreset: `step` must refuse while the episode of a lane is over"),
        (
            walk_env.ResetsAll,
            DISABLED,
            r"autoreset: in lane \d, left out by the mask of a reset \(DISABLED\), observation\['place'\]",
        ),
        (walk_env.AnyMask, DISABLED, "autoreset: `reset` must refuse a mask of 4 lanes"),
        (walk_env.TakesAnything, NEXT_STEP, "wrong_actions: `step` must refuse actions of 4 lanes instead of 3"),
        (walk_env.MovesFirst, NEXT_STEP, r"unmoved: in call 3 of lane 0, in a rollout with invalid actions"),
        (walk_env.WritesActions, NEXT_STEP, "unmoved: the actions after the step"),
        (walk_env.WrongInfo, NEXT_STEP, r"scalar: in call 1 of lane 0, .*, info\['far'\] must be"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or getattr(value, "name", ""),
)
def test_a_violation_is_reported_by_check_name(broken: Any, mode: AutoresetMode | None, message: str) -> None:
    if mode is None:
        with pytest.raises(VectorEnvError, match=message):
            check_vector_env(broken() if broken is walk_env.NoVector else broken)
    else:
        assert re.match(message, received := fault(broken, mode)), received


def test_a_scalar_environment_that_differs_from_the_lanes_is_reported() -> None:
    with pytest.raises(
        VectorEnvError, match=r"scalar: in call 1 of lane 0, compared with the scalar environment of seed 2024"
    ):
        check_vector_env(walk_env.Lanes, lambda lane: walk_env.Slow(), n_steps=20)


def test_a_mode_that_the_factory_ignores_is_reported() -> None:
    with pytest.raises(
        VectorEnvError, match=r"spaces: metadata.* must be AutoresetMode.SAME_STEP, the argument of `make`"
    ):
        check_vector_env(lambda autoreset_mode: walk_env.Lanes(), modes=[SAME_STEP])


def test_autoreset_cannot_be_checked_if_no_episode_ends() -> None:
    with pytest.raises(
        VectorEnvError, match=r"autoreset: an episode must end within 5 steps.*hint: pass a larger `n_steps`"
    ):
        check_vector_env(OpenOutcryVectorEnv(2), n_steps=5)
    assert "NEXT_STEP.autoreset" not in check_vector_env(OpenOutcryVectorEnv(2), n_steps=5, skip=["autoreset"])


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`skip` must name checks, of .*; received colour"):
        check_vector_env(walk_env.Lanes, skip=["colour"])
    with pytest.raises(ValueError, match="`modes` must be None for an existing environment"):
        check_vector_env(walk_env.Lanes(), modes=MODES)


@pytest.fixture(autouse=True, scope="module")
def small_batches_use_threads() -> Iterator[None]:
    """Let small batches use several threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenOutcryVectorEnv, "_cells_a_thread", 1)
        yield


MARKETS: dict[str, dict[str, Any]] = {
    "dict": {"observation": "dict"},
    "history": {"observation": "dict", "lookback": 5},
    "flat": {"observation": "flat", "reward": "log"},
    "cursor": {"observation": "cursor"},
    "two threads": {"observation": "flat", "threads": 2},
    "late listings": {"observation": "flat", "dataset": oo.data.load("ecb-fx", "all"), "within": (0, 400)},
    "all costs": {
        "costs": oo.CostModel(fee_bps=5, slippage_bps=2, slippage_jitter=0.5, impact_bps=10, financing_bps=100),
        "limits": oo.Limits(max_participation=0.5, maintenance_margin=0.1),
        "no_trade_band": 0.05,
        "reward": "differential-sharpe",
    },
}


@pytest.mark.parametrize("market", MARKETS)
def test_the_vector_environment_passes_every_check_in_every_mode(market: str) -> None:
    options = {"window": "random", "episode_bars": 9, **MARKETS[market]}
    scalar = {key: value for key, value in options.items() if key != "threads"}
    make = partial(OpenOutcryVectorEnv, 4, **options)
    ran = check_vector_env(make, lambda lane: OpenOutcryEnv(**scalar), modes=MODES, n_steps=50)
    assert ran == [f"{mode.name}.{name}" for mode in MODES for name in CHECKS]


def test_lanes_with_different_costs_equal_scalar_environments_with_those_costs() -> None:
    costs = [oo.CostModel(fee_bps=fee) for fee in (0, 5, 50)]
    options = {"window": "random", "episode_bars": 9}
    make = partial(OpenOutcryVectorEnv, 3, costs=costs, **options)
    check_vector_env(make, lambda lane: OpenOutcryEnv(costs=costs[lane], **options), skip=["lane_seeds"])
    with pytest.raises(VectorEnvError, match=r"lane_seeds: in call \d+ of lane 0"):
        check_vector_env(make)


def test_rotating_buffers_share_memory_and_pass_every_other_check() -> None:
    make = partial(OpenOutcryVectorEnv, 3, window="random", episode_bars=9, copy=False)
    with pytest.raises(VectorEnvError, match=r"copies: .* of call 2 must have its own memory; received that of call 0"):
        check_vector_env(make)
    assert len(check_vector_env(make, skip=["copies"])) == len(CHECKS) - 2
