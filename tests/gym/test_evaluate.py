"""`evaluate` runs policies without exploration; its runs equal backtests of the same weights to the bit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import NormalizeObservation as VectorNormalize
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.gym import OpenOutcryEnv, evaluate
from openoutcry.vector import OpenOutcryVectorEnv

MARKET = oo.Dataset.synthetic(3, 160, seed=5)
COSTS = oo.CostModel(fee_bps=3.0, slippage_bps=4.0, slippage_jitter=0.5, impact_bps=0.0)
FLAT = {"observation": "flat", "lookback": 5}


def momentum(observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return weights by the mean of the last five returns of a flat observation."""
    signal = observation[:15].reshape(5, 3).mean(axis=0)
    return np.asarray(np.clip(signal * 40.0, -0.3, 0.3), dtype=np.float32)


def stepped(window: tuple[int, int], policy: Any = momentum, **settings: Any) -> tuple[list[Any], list[float]]:
    """Return the actions and NAVs of a loop over the scalar environment."""
    env = OpenOutcryEnv(dataset=MARKET, window=window, **settings)
    observation, info = env.reset(seed=0)
    actions, navs, is_done = [], [info["nav"]], False
    while not is_done:
        actions.append(policy(observation))
        observation, _, terminated, truncated, info = env.step(actions[-1])
        navs.append(info["nav"])
        is_done = terminated or truncated
    return actions, navs


def test_a_run_equals_a_backtest_of_the_same_weights_to_the_bit() -> None:
    window = (30, 120)
    found = evaluate(momentum, MARKET, window, costs=COSTS, seed=3, **FLAT)
    actions, navs = stepped(window, costs=COSTS, seed=3, **FLAT)
    table = np.full((160, 3), np.nan)
    table[30:119] = actions
    run = oo.run_backtest(MARKET, table, window, COSTS, seed=3, lookback=5, name="momentum", capture=True)
    assert len(found.runs) == 1
    assert found.runs[0].nav.tobytes() == run.nav.tobytes() == np.array(navs).tobytes()
    assert found.runs[0].decisions.tobytes() == run.decisions.tobytes()
    assert found.runs[0].record == run.record
    assert np.ptp(found.runs[0].nav) > 0.001


def test_an_agent_of_the_same_rule_has_the_same_record() -> None:
    env = OpenOutcryEnv(dataset=MARKET, window=(30, 120), **FLAT)
    observation, _ = env.reset(seed=0)

    def agent(seen: dict[str, Any]) -> dict[str, Any]:
        nonlocal observation
        weights = momentum(observation)
        observation, *_ = env.step(weights)
        named = zip(MARKET.symbols, weights.tolist(), strict=True)
        return {"orders": [{"symbol": name, "action": "buy", "target_weight": weight} for name, weight in named]}

    run = oo.run_backtest(MARKET, agent, (30, 120), seed=7, lookback=5, name="momentum", capture=True)
    found = evaluate(momentum, MARKET, (30, 120), **FLAT).runs[0]
    assert found.nav.tobytes() == run.nav.tobytes()
    assert found.record.headers == run.record.headers


def test_the_no_trade_band_and_holds_are_in_the_decisions() -> None:
    settings: dict[str, Any] = {"no_trade_band": 0.05, "costs": COSTS, **FLAT}
    run = evaluate(momentum, MARKET, (30, 120), **settings).runs[0]
    _, navs = stepped((30, 120), **settings)
    assert run.nav.tobytes() == np.array(navs).tobytes()
    held = np.isnan(run.decisions)
    assert 0.1 < held.mean() < 0.9
    traded = np.zeros_like(held)
    bars, symbols = run.trades["bar"] - 31, [MARKET.symbols.index(each) for each in run.trades["symbol"]]
    traded[bars, symbols] = True
    assert not (traded & held).any()


def test_an_invalid_action_that_holds_is_a_hold() -> None:
    def broken(observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        weights = momentum(observation)
        return weights if weights[0] > 0.0 else weights * np.nan

    run = evaluate(broken, MARKET, (30, 120), on_invalid="hold", **FLAT).runs[0]
    is_held = np.isnan(run.decisions).all(axis=1)
    assert 5 < is_held.sum() < 85
    with pytest.raises(oo.OpenOutcryError, match="weight_not_finite") as caught:
        evaluate(broken, MARKET, (30, 120), **FLAT)
    assert "in the decision at the close of bar" in caught.value.__notes__[0]


def test_ruin_ends_the_run() -> None:
    dates = [f"2020-01-{day:02d}" for day in range(1, 7)]
    market = oo.Dataset.from_arrays(dates, ["A"], close=[[1.0], [1.0], [3.0], [3.0], [3.0], [3.0]])
    run = evaluate(lambda observation: np.array([-1.0]), market, (0, 6), lookback=1).runs[0]
    assert run.terminated_at == 1
    assert run.nav.tolist()[2:] == [0.0] * 4
    assert np.isnan(run.decisions[2:]).all()


def test_the_windows_are_run_in_order() -> None:
    windows: list[Any] = [(100, 140), oo.Window(30, 60), f"{MARKET.dates[60]}:{MARKET.dates[90]}"]
    found = evaluate(momentum, MARKET, windows, **FLAT)
    assert [(run.window.start, run.window.end) for run in found.runs] == [(100, 140), (30, 60), (60, 90)]
    for run in found.runs:
        alone = evaluate(momentum, MARKET, (run.window.start, run.window.end), **FLAT)
        assert alone.runs[0].nav.tobytes() == run.nav.tobytes()
    assert found.values("return").tolist() == [run.metrics["return"] for run in found.runs]
    with pytest.raises(oo.OpenOutcryError, match=r"`metric` must be one of return, .*; received 'profit'"):
        found.values("profit")


def test_no_window_is_the_whole_market_and_a_number_splits_it() -> None:
    whole = evaluate(momentum, MARKET, **FLAT).runs[0]
    assert (whole.window.start, whole.window.end) == (4, 160)
    for windows in (1, 4, 7):
        spans = [(run.window.start, run.window.end) for run in evaluate(momentum, MARKET, windows, **FLAT).runs]
        assert len(spans) == windows
        assert (spans[0][0], spans[-1][1]) == (4, 160)
        assert all(one[1] - 1 == two[0] for one, two in pairwise(spans))
        assert max(end - start for start, end in spans) - min(end - start for start, end in spans) <= 1
    with pytest.raises(oo.OpenOutcryError, match="`windows` must be an integer from 1 to 155; received 156"):
        evaluate(momentum, MARKET, 156, **FLAT)
    with pytest.raises(oo.OpenOutcryError, match="window_invalid: `windows` must be at least one window"):
        evaluate(momentum, MARKET, [], **FLAT)


def test_every_return_of_a_yearly_split_is_in_its_year() -> None:
    market = oo.Dataset.synthetic(3, 800, seed=5)
    runs = evaluate(lambda observation: np.zeros(3), market, "yearly", lookback=5).runs
    years = [{date[:4] for date in run.dates[1:]} for run in runs]
    assert all(len(each) == 1 for each in years)
    assert [each.pop() for each in years] == sorted({date[:4] for date in market.dates[5:]})
    assert sum(len(run.returns) for run in runs) == 800 - 5


def test_the_record_is_verified_by_the_command_line(tmp_path: Path) -> None:
    source = tmp_path / "prices.csv"
    rows = [f"{date},{closes[0]},{closes[1]}\n" for date, closes in zip(MARKET.dates, MARKET.close, strict=True)]
    source.write_text("date,A,B\n" + "".join(rows))
    windows = [(20, 60), (60, 100)]
    found = evaluate(lambda seen: np.array([0.5, -0.25]), source, windows, record=tmp_path / "out", name="half")
    assert found.path == tmp_path / "out" / "record.json"
    assert len(oo.RunRecord.load(found.path)) == 2
    assert found.record.agent_id == "half"
    answer = CliRunner().invoke(app, ["replay", str(found.path), "--data", str(source)])
    assert answer.exit_code == 0, answer.output
    assert "verified" in answer.output
    assert oo.replay(found.record, found.dataset).verified
    lines = tmp_path / "new" / "run.jsonl.zst"
    assert evaluate(momentum, MARKET, (30, 60), record=lines, **FLAT).path == lines
    assert oo.replay(oo.RunRecord.load(lines), MARKET).verified


def test_score_and_report_need_one_call(tmp_path: Path) -> None:
    found = evaluate(momentum, MARKET, 3, **FLAT)
    board = found.score()
    assert board.scores[0].agent_id == "momentum"
    assert board.scores[0].n_windows == 3
    assert "momentum" in Path(found.report(tmp_path / "board.html")).read_text(encoding="utf-8")
    alone = evaluate(momentum, MARKET, (30, 120), record=tmp_path, **FLAT)
    page = Path(alone.report(tmp_path / "run.html")).read_text(encoding="utf-8")
    assert "momentum" in page
    assert alone.record.digest in page


class Model:
    """A model with the interface of Stable-Baselines3, which counts in its state."""

    def __init__(self, env: Any) -> None:
        self.action_space, self.observation_space = env.action_space, env.observation_space
        self.calls: list[tuple[Any, bool, bool]] = []

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]:
        assert observation.shape == self.observation_space.shape
        assert episode_start.shape == (1,)
        self.calls.append((state, bool(episode_start[0]), deterministic))
        return momentum(observation), 1 if state is None else state + 1


def test_a_recurrent_model_keeps_its_state_within_a_window() -> None:
    model = Model(OpenOutcryEnv(dataset=MARKET, **FLAT))
    found = evaluate(model, MARKET, [(30, 34), (34, 37)], **FLAT)
    assert model.calls == [
        *((None, True, True), (1, False, True), (2, False, True)),
        *((None, True, True), (1, False, True)),
    ]
    assert found.record.agent_id == "Model"


class Masked(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Chooses one of three weights; the last is not valid on odd bars."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(3)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        base: Any = self.unwrapped
        return np.array([True, True, base._core.bar % 2 == 0])

    def step(self, action: Any) -> Any:
        assert self.action_masks()[action]
        return self.env.step(np.full(3, 0.1 * action, np.float32))


def test_a_maskable_model_receives_the_masks_of_the_environment() -> None:
    class Maskable:
        def predict(self, observation: Any, deterministic: bool = False, action_masks: Any = None) -> tuple[Any, None]:
            assert deterministic
            return np.flatnonzero(action_masks)[-1], None

    env = Masked(OpenOutcryEnv(dataset=MARKET, **FLAT))
    run = evaluate(Maskable(), windows=(30, 60), env=env).runs[0]
    assert run.decisions[:, 0].tolist() == [pytest.approx(0.2 - 0.1 * (bar % 2)) for bar in range(30, 59)]


def test_the_environment_of_a_model_has_the_settings() -> None:
    class Trained(Model):
        def get_env(self) -> Any:
            return OpenOutcryVectorEnv(2, dataset=MARKET, autoreset_mode=AutoresetMode.SAME_STEP, costs=COSTS, **FLAT)

    run = evaluate(Trained(OpenOutcryEnv(dataset=MARKET, **FLAT)), windows=(30, 60)).runs[0]
    assert run.cost_model == COSTS
    assert run.nav.tobytes() == evaluate(momentum, MARKET, (30, 60), costs=COSTS, **FLAT).runs[0].nav.tobytes()


@pytest.mark.parametrize(
    ("settings", "market", "message"),
    [
        ({}, MARKET, r"Box \(19,\); received cash Box .*; hint: pass the `env` of the training, or its `observation`"),
        ({**FLAT, "lookback": 9}, MARKET, r"Box \(19,\); received Box \(31,\); hint: pass the `env` of the training"),
        (
            FLAT,
            oo.Dataset.synthetic(2, 60, seed=1),
            r"Box \(3,\) from -1 to 1; received Box \(2,\) .* number of symbols is 2",
        ),
        ({**FLAT, "allow_short": False}, MARKET, r"Box \(3,\) from -1 to 1; received Box \(3,\) from 0 to 1"),
    ],
)
def test_a_model_of_other_spaces_is_refused_with_the_settings_to_pass(
    settings: dict[str, Any], market: oo.Dataset, message: str
) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"shape_mismatch: the .* must be those of the model, {message}"):
        evaluate(Model(OpenOutcryEnv(dataset=MARKET, **FLAT)), market, **settings)


def test_the_size_of_a_flat_observation_proposes_no_lookback() -> None:
    # 3 symbols, 2 bars of 1 return and 1 feature, and the account: as many numbers as 4 bars of returns.
    trained = OpenOutcryEnv(dataset=MARKET, observation="flat", lookback=2, features=["close"])
    other = OpenOutcryEnv(dataset=MARKET, observation="flat", lookback=4)
    assert trained.observation_space.shape == other.observation_space.shape
    with pytest.raises(oo.OpenOutcryError) as caught:
        evaluate(Model(trained), MARKET, **FLAT)
    assert "lookback=" not in str(caught.value)
    assert "or its `observation`, `lookback`, `features`, `history` and `mask`" in str(caught.value)


def test_an_algorithm_of_rllib_does_not_explore() -> None:
    class Algorithm:
        def compute_single_action(self, observation: Any, state: Any = None, *, explore: bool = True) -> Any:
            assert not explore
            return momentum(observation), [], {}

    found = evaluate(Algorithm(), MARKET, (30, 60), **FLAT).runs[0]
    assert found.nav.tobytes() == evaluate(momentum, MARKET, (30, 60), **FLAT).runs[0].nav.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": 3}, "`policy` must be a model with `predict`, .*; received int"),
        ({"dataset": None}, "`dataset` must be a market, as there is no `env`; received None"),
        ({"window": (0, 9)}, r"must be without `window`; received \(0, 9\); hint: pass `dataset` and `windows`"),
        ({"env": gymnasium.make("CartPole-v1")}, "`env` must be an OpenOutcryEnv .*; received .*; hint: pass `env="),
        (
            {"env": VectorNormalize(SyncVectorEnv([lambda: OpenOutcryEnv(**FLAT)]))},
            "wrappers of single environments; received Normal",
        ),
        ({"env": object()}, "`env` must be an OpenOutcryEnv .*; received object"),
        ({"record": 3}, "`record` must"),
        ({"normalize": "mean"}, "`normalize` must be a function on observations or None; received str; hint: "),
        ({"name": 0}, "`name` must be a text; received 0"),
        ({"split": "test"}, "`split` must be train"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"argument_invalid: .*{message}"):
        evaluate(**{"policy": momentum, "dataset": MARKET, "windows": (30, 40), **options})


def test_arrays_of_windows_are_refused_with_the_list_to_write() -> None:
    array = np.array([[30, 40], [40, 50]])
    wanted = "`windows` must be a window, a list of windows, an integer, yearly or None; received ndarray; hint"
    with pytest.raises(oo.OpenOutcryError, match=f"window_invalid: {wanted}"):
        evaluate(momentum, MARKET, array, **FLAT)
    runs = evaluate(momentum, MARKET, [tuple(each) for each in array.tolist()], **FLAT).runs
    assert [len(run.nav) for run in runs] == [10, 10]


def test_every_metric_of_a_run_is_a_metric_of_an_evaluation() -> None:
    found = evaluate(momentum, MARKET, (30, 40), **FLAT)
    for name in found.runs[0].metrics:
        assert found.values(name).shape == (1,)
    with pytest.raises(
        oo.OpenOutcryError, match=r"argument_invalid: `metric` must be one of return, .*; received 'nope'"
    ):
        found.values("nope")
