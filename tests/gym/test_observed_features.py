"""Test features in observations: scalar, lanes, wire and replay show the same bits, and none of a later bar."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import openoutcry as oo
from openoutcry.openoutcry_py import TradingEnv

N_BARS, N_LANES = 160, 11
SYMBOLS = ["A", "B", "C"]
DATES = np.datetime_as_string(np.datetime64("2020-01-01") + np.arange(N_BARS)).tolist()


def market(changed_from: int = N_BARS, *, n_symbols: int = 3) -> oo.Dataset:
    """Return a market with features; its bars from `changed_from` on are others."""
    tables = []
    for shape in ((N_BARS, n_symbols), (N_BARS, n_symbols), (N_BARS, n_symbols), (N_BARS,)):
        draw, other = np.random.default_rng(len(tables)), np.random.default_rng(100 + len(tables))
        table, later = draw.normal(size=shape), other.normal(size=shape)
        table[changed_from:] = later[changed_from:]
        tables.append(table)
    growth, traded, rsi, vix = tables
    close = 100 * np.cumprod(1 + 0.01 * growth, axis=0)
    close[:30, 1] = np.nan
    close[50:53, 2] = np.nan
    return oo.Dataset.from_arrays(
        DATES,
        [f"S{place}" for place in range(n_symbols)],
        close,
        volume=np.exp(10 + traded),
        features={"rsi": rsi, "vix": vix},
    )


def environments(kind: str, scale: str, **others: Any) -> dict[str, Any]:
    shown = {"observation": kind, "lookback": 5, "features": ("rsi", "volume", "vix"), "scale": scale}
    return {"dataset": market(), "window": "random", "episode_bars": 25, **shown, **others}


def parts(observation: Any) -> dict[str, Any]:
    return observation if isinstance(observation, dict) else {"flat": observation}


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("scale", ["none", "expanding", "window"])
@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_lanes_have_the_bits_of_the_scalar_environment(kind: str, scale: str, copy: bool) -> None:
    lanes = oo.OpenOutcryVectorEnv(N_LANES, **environments(kind, scale), copy=copy)
    scalars = [oo.OpenOutcryEnv(**environments(kind, scale)) for _ in range(N_LANES)]
    shown, _ = lanes.reset(seed=5)
    wanted = [scalar.reset(seed=5 + place)[0] for place, scalar in enumerate(scalars)]
    draw, ended = np.random.default_rng(3), np.zeros(N_LANES, dtype=bool)
    for _ in range(60):
        for name, values in parts(shown).items():
            for place in range(N_LANES):
                assert np.asarray(values[place]).tobytes() == np.asarray(parts(wanted[place])[name]).tobytes(), name
        actions = draw.uniform(-0.3, 0.3, size=(N_LANES, 3)).astype(np.float32)
        shown, rewards, terminated, truncated, _ = lanes.step(actions)
        for place, scalar in enumerate(scalars):
            if ended[place]:
                wanted[place] = scalar.reset()[0]
            else:
                wanted[place], reward, *_ = scalar.step(actions[place])
                assert reward == rewards[place]
        ended = terminated | truncated


@pytest.mark.parametrize("n_symbols", [1, 2, 3, 12])
def test_cursors_look_up_the_bars_of_flat_observations(n_symbols: int) -> None:
    settings = environments("flat", "expanding", dataset=market(n_symbols=n_symbols)) if n_symbols > 2 else None
    if settings is None:
        whole = market()
        settings = environments("flat", "expanding", dataset=whole.select(list(whole.symbols[:n_symbols])))
    flat = oo.OpenOutcryVectorEnv(N_LANES, **settings, copy=False)
    cursors = oo.OpenOutcryVectorEnv(N_LANES, **settings | {"observation": "cursor"})
    shown, _ = flat.reset(seed=1)
    found, _ = cursors.reset(seed=1)
    for _ in range(40):
        bars = cursors.histories(found["cursor"]).reshape(N_LANES, -1)
        assert np.concatenate([bars, found["account"]], axis=1).tobytes() == np.ascontiguousarray(shown).tobytes()
        actions = np.full((N_LANES, n_symbols), 0.1, dtype=np.float32)
        shown, found = flat.step(actions)[0], cursors.step(actions)[0]


@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_the_spaces_pass_the_checker(kind: str) -> None:
    check_env(oo.OpenOutcryEnv(**environments(kind, "window")), skip_render_check=True)


def test_the_wire_shows_the_numbers_of_the_dict_observation() -> None:
    found = market()
    window = (40, 80)
    arrays = oo.OpenOutcryEnv(dataset=found, window=window)
    wire = TradingEnv.from_dataset(
        found._core, window=window, costs=oo.CostModel(), limits=oo.Limits(), lookback=20, seed=7
    )
    observation, _ = arrays.reset(seed=0)
    text = wire.reset()
    for _ in range(30):
        told = json.loads(text)
        assert told["market_features"] == {"vix": observation["market_features"][0]}
        of_symbols = {each["symbol"]: each["features"]["rsi"] for each in told["symbols"]}
        assert list(of_symbols.values()) == observation["features"][:, 0].tolist()
        observation, *_ = arrays.step(np.zeros(3, dtype=np.float32))
        text, *_ = wire.step('{"orders":[]}')


@pytest.mark.parametrize("scale", ["none", "expanding", "window"])
@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_no_observation_depends_on_features_of_later_bars(kind: str, scale: str) -> None:
    for bar in (45, 60, 101):
        seen = []
        for dataset in (market(), market(bar + 1)):
            settings = environments(kind, scale, dataset=dataset, window=(40, 150), episode_bars=None)
            env = oo.OpenOutcryVectorEnv(2, **settings)
            observation, _ = env.reset(seed=2)
            for _ in range(bar - 40):
                observation, *_ = env.step(np.full((2, 3), 0.2, dtype=np.float32))
            found = dict(parts(observation))
            if kind == "cursor":
                found["bars"] = env.histories(observation["cursor"])
            seen.append({name: np.asarray(values).tobytes() for name, values in found.items()})
        assert seen[0] == seen[1]
        assert market() != market(bar + 1)


def test_a_scale_is_mean_and_deviation_of_the_bars_so_far() -> None:
    env = oo.OpenOutcryEnv(**environments("dict", "expanding", window=(60, 90), episode_bars=None))
    observation, _ = env.reset(seed=0)
    rsi, vix = (market().features[name].values for name in ("rsi", "vix"))
    so_far = vix[:61]
    assert observation["market_features"][0] == pytest.approx((so_far[-1] - so_far.mean()) / so_far.std(), rel=1e-12)
    # The second symbol is listed from bar 30 on.
    listed = rsi[30:61, 1]
    assert observation["features"][1, 0] == pytest.approx((listed[-1] - listed.mean()) / listed.std(), rel=1e-12)


def test_a_market_without_features_has_no_such_keys() -> None:
    plain = oo.OpenOutcryEnv(4, 60)
    assert list(plain.observation_space.spaces) == ["cash", "closes", "positions"]
    without = oo.OpenOutcryEnv(dataset=market(), features=())
    assert "features" not in without.observation_space.spaces


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"features": ("rsi", "open")}, "`features` must be among rsi, vix, close, volume; received 'open'"),
        ({"features": ("rsi", "rsi")}, "a list of different names"),
        ({"features": "rsi"}, "a list of different names; received 'rsi'"),
        ({"scale": "max"}, "`scale` must be one of none, expanding, window; received 'max'"),
        ({"features": (), "scale": "window"}, "`scale` must be none without `features`"),
    ],
)
@pytest.mark.parametrize("make", [oo.OpenOutcryEnv, lambda **settings: oo.OpenOutcryVectorEnv(2, **settings)])
def test_what_a_market_does_not_have_is_refused(make: Any, settings: dict[str, Any], wanted: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        make(dataset=market(), **settings)


def test_lanes_of_markets_with_other_features_are_refused() -> None:
    bare = oo.Dataset.from_arrays(DATES, ["S0", "S1", "S2"], market().close, volume=market().volume)
    with pytest.raises(
        oo.OpenOutcryError,
        match=r"of a symbol or of the market: rsi \(symbol\), vix \(market\); received none",
    ):
        oo.OpenOutcryVectorEnv(2, dataset=[market(), bare])


def test_a_run_with_features_is_replayed_from_its_record() -> None:
    run = oo.run_backtest(market(), "momentum", (40, 120), capture=True)
    assert run.record is not None
    assert oo.replay(run.record, market()).verified
    assert not oo.replay(run.record, market(100)).verified
