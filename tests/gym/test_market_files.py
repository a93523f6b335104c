"""Environments of users' files: by path, by snapshot and by registered id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import openoutcry as oo
from openoutcry.data.market_source import open_market
from openoutcry.data.snapshots.snapshot_files import freeze

FORMATS = Path(__file__).parent.parent / "data" / "formats"
PRICES = FORMATS / "tiingo.csv"
MARKET_ID = "openoutcry.gym:OpenOutcry/Market-v1"
SHORT: dict[str, Any] = {"episode_bars": 5, "lookback": 3}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return one market in every form that a path can name."""
    folder = tmp_path_factory.mktemp("markets")
    dataset = oo.Dataset.synthetic(2, 60, 5)
    manifest = freeze(dataset, folder / "frozen", "a test")
    (folder / "a.market").write_bytes(dataset.to_bytes())
    return {
        "manifest": manifest,
        "numbers": manifest.with_suffix(".npz"),
        "folder": manifest.parent,
        "bytes": folder / "a.market",
    }


@pytest.mark.parametrize("form", ["manifest", "numbers", "folder", "bytes"])
def test_every_form_of_a_market_opens_an_environment(sources: dict[str, Path], form: str) -> None:
    expected = oo.Dataset.synthetic(2, 60, 5).fingerprint
    path = sources[form]
    assert oo.OpenOutcryEnv(str(path)).dataset.fingerprint == expected
    assert oo.OpenOutcryEnv(dataset=path).dataset.fingerprint == expected
    assert oo.OpenOutcryVectorEnv(2, dataset=str(path)).dataset.fingerprint == expected
    assert oo.OpenOutcryVectorEnv(2, dataset=[path, path]).datasets[1].fingerprint == expected


@pytest.mark.parametrize("name", ["tiingo.csv", "binance_klines_ms.csv", "records.json", "freqtrade_30m.feather"])
def test_the_file_of_a_vendor_opens_an_environment(name: str) -> None:
    env = oo.OpenOutcryEnv(str(FORMATS / name), window=(0, 5))
    env.reset(seed=0)
    env.step(np.zeros(env.dataset.n_symbols, np.float32))


@pytest.mark.parametrize("options", [{}, {"tz": "America/New_York"}])
def test_a_file_and_its_dataset_give_the_same_bits(options: dict[str, str], tmp_path: Path) -> None:
    path = PRICES
    if options:
        # The options of a reader pass in a Dataset.
        path = tmp_path / "hours.csv"
        hours = [f"2024-03-{day:02d} {hour}:30:00" for day in range(4, 9) for hour in range(10, 16)]
        rows = [f"{time},{100 + 7 * k % 11}" for k, time in enumerate(hours)]
        path.write_text("\n".join(["date,close", *rows, ""]), encoding="utf-8")
    dataset = oo.Dataset.from_csv(path, **options)
    given: Any = dataset if options else str(path)
    envs: list[Any] = [oo.OpenOutcryEnv(each, info="full") for each in (given, dataset)]
    envs += [gymnasium.make(MARKET_ID, dataset=each, info="full", **SHORT) for each in (given, dataset)]
    played = [[*play(env)] for env in envs]
    assert played[0] == played[1]
    assert played[2] == played[3]


def play(env: Any) -> Any:
    """Yield the bits of an episode."""
    observation, info = env.reset(seed=7)
    size, done = env.unwrapped.dataset.n_symbols, False
    while not done:
        values = observation.values() if isinstance(observation, dict) else [observation]
        yield b"".join(np.asarray(value).tobytes() for value in values), info["nav"], info["date"]
        observation, reward, terminated, truncated, info = env.step(np.full(size, 0.7 / size, np.float32))
        done = terminated or truncated
        yield np.float64(reward).tobytes(), info["nav"], info["date"]


def test_a_registered_id_takes_a_file_and_its_spec_is_json() -> None:
    env = gymnasium.make(MARKET_ID, dataset=str(PRICES), **SHORT)
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    first, second = env.reset(seed=3)[0], again.reset(seed=3)[0]
    assert np.array_equal(first, second)
    check_env(gymnasium.make(MARKET_ID, dataset=str(PRICES), **SHORT).unwrapped)


def test_the_vector_entry_point_takes_a_file() -> None:
    envs = gymnasium.make_vec(MARKET_ID, num_envs=3, dataset=str(PRICES), **SHORT)
    assert isinstance(envs, oo.OpenOutcryVectorEnv)
    assert envs.reset(seed=0)[0].shape[0] == 3


def test_an_id_without_a_market_is_refused_with_what_to_type() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"`dataset` must be .*received none; hint: gymnasium\.make"):
        gymnasium.make(MARKET_ID)


def test_an_unknown_name_lists_the_bundled_ones_and_says_that_paths_are_accepted() -> None:
    with pytest.raises(
        oo.OpenOutcryError, match=r"ecb-fx, us-treasury, calm.*the path of a file is accepted"
    ) as refused:
        oo.OpenOutcryEnv("nasdaq")
    assert refused.value.slug == "unknown_dataset"


def test_a_json_file_of_columns_is_prices_and_not_a_snapshot(tmp_path: Path) -> None:
    days = [f"2024-03-{day:02d}" for day in range(1, 16)]
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"date": days, "AAA": [100.0 + k for k in range(15)], "BBB": [50.0] * 15}), "utf-8")
    assert open_market(path).symbols == ("AAA", "BBB")


def test_a_folder_of_two_snapshots_is_ambiguous(tmp_path: Path) -> None:
    for seed in (1, 2):
        freeze(oo.Dataset.synthetic(1, 30, seed), tmp_path, "a test")
    with pytest.raises(oo.OpenOutcryError, match="a folder of one snapshot is required; received 2"):
        open_market(tmp_path)


def test_a_market_shorter_than_an_episode_says_what_fits(tmp_path: Path) -> None:
    path = tmp_path / "ABC.csv"
    path.write_text("Date,Close\n2024-01-02,1\n2024-01-03,2\n2024-01-04,2\n", "utf-8")
    with pytest.raises(oo.OpenOutcryError, match=r"received 252; hint: episode_bars=3 or fewer, or window=None"):
        gymnasium.make(MARKET_ID, dataset=str(path))
    for keywords in ({"episode_bars": 3}, {"window": None}):
        gymnasium.make(MARKET_ID, dataset=str(path), **keywords).reset(seed=0)
