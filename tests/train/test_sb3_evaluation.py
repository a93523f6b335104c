"""`evaluate` runs models of Stable-Baselines3 and torch; the callback draws the learning curve of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv, evaluate
from openoutcry.sb3 import EvaluationCallback, OpenOutcryVecEnv
from openoutcry.vector import OpenOutcryVectorEnv

MARKET = oo.Dataset.synthetic(3, 160, seed=5)
SETTINGS: dict[str, Any] = {"dataset": MARKET, "observation": "flat", "lookback": 5}
WINDOW = (40, 80)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def lanes(**settings: Any) -> OpenOutcryVectorEnv:
    mode = AutoresetMode.SAME_STEP
    return OpenOutcryVectorEnv(4, window="random", episode_bars=20, autoreset_mode=mode, **SETTINGS | settings)


def model_of(env: Any, policy: str = "MlpPolicy") -> PPO:
    return PPO(policy, env, n_steps=16, batch_size=32, n_epochs=2, seed=1, device="cpu")


def looped(model: Any, normalize: Any = None, **settings: Any) -> np.ndarray:
    """Return the NAVs of the loop that a user writes."""
    env = OpenOutcryEnv(window=WINDOW, **SETTINGS | settings)
    observation, info = env.reset(seed=0)
    navs, is_done, state, start = [info["nav"]], False, None, np.array([True])
    while not is_done:
        shown = observation if normalize is None else normalize(observation)
        action, state = model.predict(shown, state=state, episode_start=start, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        navs.append(info["nav"])
        is_done, start = terminated or truncated, np.array([False])
    return np.array(navs)


@pytest.mark.parametrize("kind", ["flat", "dict"])
def test_a_trained_model_is_evaluated_with_the_settings_of_its_training(kind: str, tmp_path: Path) -> None:
    costs = oo.CostModel(fee_bps=7.0)
    env = VecMonitor(OpenOutcryVecEnv(lanes(observation=kind, costs=costs)))
    model = model_of(env, "MlpPolicy" if kind == "flat" else "MultiInputPolicy").learn(256)
    found = evaluate(model, windows=WINDOW)
    assert found.runs[0].nav.tobytes() == looped(model, observation=kind, costs=costs).tobytes()
    assert found.runs[0].cost_model == costs
    assert found.record.agent_id == "PPO"
    assert oo.replay(found.record, MARKET).verified
    # A loaded model has no environment.
    model.save(tmp_path / "model")
    loaded = PPO.load(tmp_path / "model", device="cpu")
    again = evaluate(loaded, MARKET, WINDOW, observation=kind, lookback=5, costs=costs)
    assert again.record == found.record


def test_vec_normalize_is_applied_and_not_updated(tmp_path: Path) -> None:
    normalized = VecNormalize(VecMonitor(OpenOutcryVecEnv(lanes())))
    model = model_of(normalized).learn(256)
    before = normalized.obs_rms.mean.tobytes()
    found = evaluate(model, windows=WINDOW).runs[0]
    assert normalized.obs_rms.mean.tobytes() == before
    assert found.nav.tobytes() == looped(model, normalized.normalize_obs).tobytes()
    assert found.nav.tobytes() != looped(model).tobytes()
    # Also with the settings of a plain environment, and with the saved statistics.
    assert evaluate(model, MARKET, WINDOW, env=OpenOutcryEnv(**SETTINGS)).runs[0].nav.tobytes() == found.nav.tobytes()
    model.save(tmp_path / "model")
    loaded = PPO.load(tmp_path / "model", device="cpu")
    settings = {"observation": "flat", "lookback": 5}
    again = evaluate(loaded, MARKET, WINDOW, normalize=normalized.normalize_obs, **settings)
    assert again.runs[0].nav.tobytes() == found.nav.tobytes()


def test_scalar_environments_in_monitors_are_evaluated(tmp_path: Path) -> None:
    env = Monitor(OpenOutcryEnv(window="random", episode_bars=9, **SETTINGS), str(tmp_path / "log"))
    model = SAC("MlpPolicy", env, learning_starts=8, seed=1, device="cpu").learn(20)
    assert evaluate(model, windows=WINDOW).runs[0].nav.tobytes() == looped(model).tobytes()
    env.close()


def test_frame_stacks_of_vectors_are_refused() -> None:
    stacked = VecFrameStack(DummyVecEnv([lambda: OpenOutcryEnv(**SETTINGS)]), 2)
    with pytest.raises(oo.OpenOutcryError, match=r"wrappers of a `VecEnv` must be .*; received VecFrameStack"):
        evaluate(SAC("MlpPolicy", stacked, device="cpu"), windows=WINDOW)


def test_a_recurrent_policy_keeps_its_state() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    model = contrib.RecurrentPPO(
        "MlpLstmPolicy", OpenOutcryVecEnv(lanes()), n_steps=16, batch_size=32, n_epochs=1, seed=1, device="cpu"
    ).learn(64)
    found = evaluate(model, windows=[WINDOW, WINDOW])
    assert found.runs[0].nav.tobytes() == found.runs[1].nav.tobytes() == looped(model).tobytes()


def test_a_maskable_policy_chooses_valid_levels() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    close = np.array(MARKET.close)
    close[60:, 0] = np.nan
    market = oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, close)
    levels: dict[str, Any] = {"action": "multi-discrete", "levels": [-1, 0, 1, "hold"], "dataset": market}
    model = contrib.MaskablePPO(
        "MlpPolicy", OpenOutcryVecEnv(lanes(**levels)), n_steps=16, batch_size=32, n_epochs=1, seed=1, device="cpu"
    ).learn(64)
    run = evaluate(model, windows=(40, 80)).runs[0]
    assert np.isnan(run.decisions[20:, 0]).all()
    env = OpenOutcryEnv(window=(40, 80), **SETTINGS | levels)
    observation, _ = env.reset(seed=0)
    navs, is_done = [1.0], False
    while not is_done:
        action, _ = model.predict(observation, deterministic=True, action_masks=env.action_masks())
        observation, _, terminated, truncated, info = env.step(action)
        navs.append(info["nav"])
        is_done = terminated or truncated
    assert run.nav.tobytes() == np.array(navs).tobytes()


def test_a_torch_module_is_called_with_a_batch_of_one() -> None:
    torch.manual_seed(1)
    layers = [torch.nn.Linear(19, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3), torch.nn.Tanh()]
    module = torch.nn.Sequential(*layers)
    module[0].eval()
    settings = {"observation": "flat", "lookback": 5}
    found = evaluate(module, MARKET, WINDOW, **settings).runs[0]
    assert [module.training, module[0].training, module[1].training] == [True, False, True]
    module.eval()

    def function(observation: Any) -> Any:
        with torch.no_grad():
            return module(torch.from_numpy(observation)[None])[0]

    assert found.nav.tobytes() == evaluate(function, MARKET, WINDOW, **settings).runs[0].nav.tobytes()
    with pytest.raises(
        oo.OpenOutcryError, match=r"`policy` must return a tensor .*; received tuple; hint: pass a func"
    ):
        evaluate(torch.nn.LSTM(19, 3), MARKET, WINDOW, **settings)


def test_an_actor_of_tensordict_returns_its_deterministic_action() -> None:
    nn = pytest.importorskip("tensordict.nn")

    class Noisy(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(19, 6)

        def forward(self, observation: torch.Tensor) -> Any:
            mean, scale = self.layer(observation).chunk(2, dim=-1)
            return mean.tanh(), scale.exp()

    torch.manual_seed(1)
    network = Noisy()
    module = nn.TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"])
    actor = nn.ProbabilisticTensorDictSequential(
        module,
        nn.ProbabilisticTensorDictModule(["loc", "scale"], ["action"], distribution_class=torch.distributions.Normal),
    )
    settings = {"observation": "flat", "lookback": 5}
    found = evaluate(actor, MARKET, WINDOW, **settings).runs[0]

    def mean(observation: Any) -> Any:
        return network(torch.from_numpy(observation)[None])[0][0]

    assert found.nav.tobytes() == evaluate(mean, MARKET, WINDOW, **settings).runs[0].nav.tobytes()


def test_the_callback_prints_logs_and_draws_and_does_not_change_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "curve.svg"
    callback = EvaluationCallback(windows=[(40, 80), (80, 120)], every=128, metric="sharpe", picture=picture)
    normalized = VecNormalize(OpenOutcryVecEnv(lanes()))
    model = model_of(normalized)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(320, callback=callback)
    model.logger.close()
    plain = model_of(VecNormalize(OpenOutcryVecEnv(lanes()))).learn(320)
    for one, other in zip(model.policy.parameters(), plain.policy.parameters(), strict=True):
        assert torch.equal(one, other)
    assert [steps for steps, _ in callback.history] == [0, 128, 256, 320]
    assert all(len(values) == 2 for _, values in callback.history)
    after = evaluate(model, windows=[(40, 80), (80, 120)])
    assert callback.history[-1][1] == tuple(after.values("sharpe").tolist())
    lines = capsys.readouterr().out.splitlines()
    mean = sum(callback.history[-1][1]) / 2
    assert lines[-1] == f"evaluation after 320 steps: sharpe {mean:+.4f}, mean of 2 windows"
    assert len([line for line in lines if line.startswith("evaluation")]) == 4
    drawn = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    marks = [each for each in drawn.iter() if each.tag.endswith("circle")]
    assert len(marks) == 4 * 3
    assert "evaluation/sharpe" in (tmp_path / "progress.csv").read_text().splitlines()[0].split(",")


def test_the_last_evaluation_is_of_the_final_model_if_training_ends_at_a_multiple_of_every() -> None:
    callback = EvaluationCallback(windows=[(40, 80)], every=128, verbose=0)
    model = model_of(OpenOutcryVecEnv(lanes())).learn(256, callback=callback)
    assert [steps for steps, _ in callback.history] == [0, 128, 256]
    assert callback.history[-1][1] == tuple(evaluate(model, windows=[(40, 80)]).values("return").tolist())


def test_an_undefined_metric_is_a_gap_of_the_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # With one return, a Sharpe ratio is undefined.
    picture = tmp_path / "curve.svg"
    callback = EvaluationCallback(MARKET, (40, 42), every=64, metric="sharpe", picture=picture)
    model_of(OpenOutcryVecEnv(lanes())).learn(64, callback=callback)
    assert "evaluation after 64 steps: sharpe undefined" in capsys.readouterr().out
    assert "It is undefined throughout." in picture.read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_written_does_not_end_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A folder is no file.
    callback = EvaluationCallback(windows=WINDOW, every=64, picture=tmp_path, verbose=0)
    model_of(OpenOutcryVecEnv(lanes())).learn(64, callback=callback)
    assert [steps for steps, _ in callback.history] == [0, 64]
    assert "the learning curve was not drawn: " in capsys.readouterr().err


def test_a_picture_is_written_to_a_new_folder(tmp_path: Path) -> None:
    picture = tmp_path / "new" / "curve.svg"
    model_of(OpenOutcryVecEnv(lanes())).learn(64, callback=EvaluationCallback(windows=WINDOW, picture=picture))
    assert ElementTree.fromstring(picture.read_text(encoding="utf-8")) is not None


def test_arguments_of_the_callback_are_checked_before_the_training() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"`metric` must be one of return, .*; received 'nope'"):
        EvaluationCallback(metric="nope")
    with pytest.raises(oo.OpenOutcryError, match="`picture` must be a text or a path; received int"):
        EvaluationCallback(picture=3)  # type: ignore[arg-type]


def test_a_model_of_padded_markets_is_evaluated_on_a_smaller_one() -> None:
    small = oo.Dataset.synthetic(2, 90, seed=3)
    env = OpenOutcryVecEnv(lanes(dataset=[small, MARKET], datasets="random"))
    callback = EvaluationCallback(small, WINDOW, every=1000, verbose=0)
    model = model_of(env).learn(64, callback=callback)
    assert [steps for steps, _ in callback.history] == [0, 64]
    assert callback.last is not None
    assert callback.last.dataset.symbols == small.symbols
    found = evaluate(model, small, WINDOW)
    assert found.record == callback.last.record
    assert oo.replay(found.record, small).verified
