"""State recovery attacks that break weak generators do not break ours, and agents see no secret.

Each attack first predicts the next price of a market of its own weak generator.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import weak_generators as known
from builders import count
from weak_generators import Array

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

pytestmark = pytest.mark.once

KEY = hashlib.sha256(b"a key that nobody was predicted").hexdigest()
SEED = 8_723_412_987_001_234_567
EXACT = 1e-11

# A symbol of `calm` uses six words of 64 bits per day.
INVERSIONS: dict[str, Callable[[Array, float], float | None]] = {
    **{f"xorshift, {k} words apart": partial(known.invert_xorshift, stride=k) for k in (1, 2, 6)},
    **{f"congruence of 48 bits, {k} apart": partial(known.invert_congruence, stride=k) for k in (1, 6)},
    **{f"of 64 bits, {k} apart": partial(known.invert_congruence, stride=k, law=known.MMIX) for k in (1, 6)},
    "twister": known.invert_twister,
}


def unit(words: Iterator[int], n_bits: int, n: int) -> list[float]:
    return [((next(words) >> max(n_bits - 53, 0)) + 0.5) / 2 ** min(n_bits, 53) for _ in range(n)]


def twister(seed: int, n: int) -> list[float]:
    return ((np.random.RandomState(seed).randint(0, 2**32, n, dtype=np.uint32) + 0.5) / 2**32).tolist()


@pytest.mark.parametrize(
    ("inversion", "uniforms"),
    [
        (INVERSIONS["congruence of 48 bits, 1 apart"], unit(known.congruence(20_261_001), 48, 40)),
        (INVERSIONS["of 64 bits, 1 apart"], unit(known.congruence(SEED, known.MMIX), 64, 40)),
        (INVERSIONS["of 64 bits, 6 apart"], unit(known.congruence(SEED, known.MMIX), 64, 240)[::6]),
        (INVERSIONS["xorshift, 1 words apart"], unit(known.xorshift(SEED), 64, 40)),
        (INVERSIONS["xorshift, 6 words apart"], unit(known.xorshift(SEED), 64, 240)[5::6]),
        (INVERSIONS["twister"], twister(19_937, 640)),
    ],
)
def test_the_attack_predicts_the_next_price_of_its_weak_generator(inversion: Any, uniforms: list[float]) -> None:
    *shown, hidden = known.walk_of(uniforms)
    predicted = inversion(known.uniforms_of(np.array(shown)), EXACT)
    assert predicted is not None
    assert shown[-1] * np.exp(known.VOL * known.NORMAL.inv_cdf(predicted)) == pytest.approx(hidden, rel=1e-9)


@pytest.mark.parametrize(
    ("inversion", "words"),
    [
        (INVERSIONS["of 64 bits, 6 apart"], known.congruence(SEED, known.MMIX)),
        (INVERSIONS["xorshift, 6 words apart"], known.xorshift(SEED)),
    ],
)
def test_the_attacks_need_only_the_upper_bits(inversion: Any, words: Iterator[int]) -> None:
    uniforms = np.array(unit(words, 64, 360)[5::6])
    error = 2.0**-13
    seen = uniforms + np.random.default_rng(0).uniform(-error, error, len(uniforms)) / 2.0
    assert inversion(seen[:-1], error) == pytest.approx(uniforms[-1], abs=1e-9)


def test_two_returns_reveal_a_market_of_splitmix() -> None:
    prices = known.prices_of(known.box_muller(known.splitmix(SEED), 20))
    for n_returns in (2, 3, 8):
        predicted = known.invert_splitmix(known.normals_of(prices[: n_returns + 1]), 1e-13)
        assert predicted is not None
        assert prices[n_returns] * np.exp(known.VOL * predicted) == pytest.approx(prices[n_returns + 1], rel=1e-9)


def clean_channel() -> Array:
    """Return uniforms of the market's own stream to 2^-13, one per day.

    This spec reveals the most: volume without slope or reaction is pure noise of a known distribution. The attacker
    also gets the level of volume, from a market of the same key without that noise.
    """

    def log_volume(noise: float) -> Array:
        changes = {"volume_slope": 0.0, "volume_reaction": 0.0, "halt_rate": 0.0, "volume_noise": noise}
        spec = ScenarioSpec("calm", n_symbols=3, n_days=800, **changes)
        return np.log(Scenario.revealed(spec, KEY).dataset()._core.column("volume") - 1.0)

    levels, logs = log_volume(0.0)[0], log_volume(2.0)
    best = int(np.argmax(levels))
    noise, kept = logs[:, best] - levels[best], 2.0 ** (-1 / 10)
    normals = (noise[1:] - kept * noise[:-1]) / (2.0 * np.sqrt(1.0 - kept * kept))
    return np.array([known.NORMAL.cdf(z) for z in normals])


def test_the_cleanest_channel_reveals_the_draws_of_the_stream() -> None:
    uniforms = clean_channel()
    steps = np.sort(uniforms) - (np.arange(len(uniforms)) + 0.5) / len(uniforms)
    assert np.abs(steps).max() < 1.63 / np.sqrt(len(uniforms))  # Kolmogorov-Smirnov at 1 %


def json_closes(data: oo.Dataset) -> Array:
    """Return the closes in JSON observations, shape `(n_steps, n_symbols)`."""
    env = native.TradingEnv.from_dataset(
        data._core, window=(1, data.n_bars), costs=oo.CostModel(), limits=oo.Limits(), lookback=1, seed=0
    )
    text, done, rows = env.reset(), False, []
    while not done:
        rows.append([each["close_history"][-1] for each in json.loads(text)["symbols"]])
        text, _, done, _ = env.step('{"orders":[]}')
    return np.array(rows)


def channels(data: oo.Dataset) -> list[Array]:
    """Return uniforms that an attacker computes from observations: closes, flat returns, days and nights."""
    closes = json_closes(data)
    n = data.n_bars - 1
    env = oo.OpenOutcryEnv(dataset=data, observation="flat", lookback=n, window=(n - 1, n + 1))
    flat = env.reset(seed=0)[0][: n * data.n_symbols].reshape(-1, data.n_symbols)
    columns = [np.diff(np.log(closes), axis=0), np.asarray(flat, np.float64)]
    columns.append(np.log(data.close / data._core.column("open")))
    shown = [each[:, i] for each in columns for i in range(data.n_symbols)]
    # The attacker also gets the volatility that best maps returns to normals.
    return [np.array([known.NORMAL.cdf(z) for z in each[1:] / each.std()]) for each in shown]


@pytest.mark.parametrize("market", ["sealed", "synthetic"])
@pytest.mark.parametrize("inversion", INVERSIONS.values(), ids=INVERSIONS)
def test_no_attack_recovers_our_state(inversion: Any, market: str) -> None:
    if market == "sealed":
        data = Scenario.revealed(ScenarioSpec("calm", n_symbols=2, n_days=800), KEY).dataset()
        assert inversion(clean_channel(), 2.0**-13) is None
    else:
        data = oo.Dataset.synthetic(2, 800, 7)
    for uniforms in channels(data):
        for error in (2.0**-13, 2.0**-24, 2.0**-34):
            assert inversion(uniforms, error) is None


def held(data: oo.Dataset, symbol: int) -> dict[str, Any]:
    """Return the parsed record of buying one symbol at the first close and holding it."""
    weights = np.full((data.n_bars, data.n_symbols), np.nan)
    weights[0] = np.arange(data.n_symbols) == symbol
    window, rules = (0, data.n_bars), (oo.CostModel.zero(), oo.Limits.off())
    record = oo.run_backtest(data, weights, window, *rules, lookback=1, capture=True).record
    run: dict[str, Any] = json.loads(record.to_json())["runs"][0]
    return run


def navs_of(run: dict[str, Any]) -> Array:
    return np.array([step["nav"] for step in (*run["steps"], run["end"])])


@pytest.mark.parametrize(
    ("inversion", "uniforms"),
    [
        (INVERSIONS["congruence of 48 bits, 1 apart"], unit(known.congruence(20_261_001), 48, 40)),
        (INVERSIONS["of 64 bits, 6 apart"], unit(known.congruence(SEED, known.MMIX), 64, 240)[::6]),
        (INVERSIONS["xorshift, 1 words apart"], unit(known.xorshift(SEED), 64, 40)),
    ],
)
def test_the_attack_predicts_the_next_price_from_a_record_of_its_weak_generator(
    inversion: Any, uniforms: list[float]
) -> None:
    *shown, hidden = known.walk_of(uniforms)
    dates = np.datetime64("2024-01-01") + np.arange(len(shown))
    navs = navs_of(held(oo.Dataset.from_arrays(dates, ["A"], np.array(shown)[:, None]), 0))
    predicted = inversion(known.uniforms_of(navs), EXACT)
    assert predicted is not None
    assert shown[-1] * np.exp(known.VOL * known.NORMAL.inv_cdf(predicted)) == pytest.approx(hidden, rel=1e-9)


@pytest.fixture(scope="module")
def of_records() -> list[Array]:
    """Return uniforms that an attacker computes from records: from NAVs, and from digests used as draws."""
    data = Scenario.revealed(ScenarioSpec("calm", n_symbols=2, n_days=800), KEY).dataset()
    shown = []
    for symbol in range(data.n_symbols):
        run = held(data, symbol)
        returns = np.diff(np.log(navs_of(run)))[1:]
        shown.append(np.array([known.NORMAL.cdf(z) for z in returns / returns.std()]))
        words = ([int(step[field][:16], 16) for step in run["steps"]] for field in ("observation", "link"))
        shown += [(np.array(each, np.float64) + 0.5) / 2**64 for each in words]
    return shown


@pytest.mark.parametrize("inversion", INVERSIONS.values(), ids=INVERSIONS)
def test_no_attack_recovers_our_state_from_a_record(inversion: Any, of_records: list[Array]) -> None:
    for uniforms in of_records:
        for error in (2.0**-13, 2.0**-34, EXACT):
            assert inversion(uniforms, error) is None


def test_a_record_contains_no_secret_of_its_market() -> None:
    spec = ScenarioSpec("calm", n_symbols=2, n_days=40)
    for scenario in (Scenario.revealed(spec, KEY), Scenario(spec, SEED, split="test")):
        text = json.dumps(held(scenario.dataset(), 0))
        assert scenario.commitment in text
        assert not any(secret in text for secret in (scenario.reveal(), str(SEED), hex(SEED)[2:], spec.digest))


def test_no_pair_of_returns_reveals_our_market() -> None:
    sealed = Scenario.revealed(ScenarioSpec("calm", n_symbols=1, n_days=40), KEY).dataset()
    for data in (sealed, oo.Dataset.synthetic(1, 40, 7)):
        for uniforms in channels(data):
            normals = np.array([known.NORMAL.inv_cdf(u) for u in uniforms])
            for first in range(2):
                assert known.invert_splitmix(normals[first : first + 8], 1e-5) is None


SCANNED: dict[str, Callable[[int], Array]] = {
    "numpy PCG64": lambda seed: np.random.default_rng(seed).standard_normal(8),
    "numpy MT19937": lambda seed: np.random.RandomState(seed).standard_normal(8),
    "python MT19937": lambda seed: python_normals(random.Random(seed)),
    "splitmix": lambda seed: known.box_muller(known.splitmix(seed), 4),
}


def python_normals(source: random.Random) -> Array:
    return np.array([source.gauss(0.0, 1.0) for _ in range(8)])


def scan(returns: Array, of: Callable[[int], Array], n_seeds: int) -> list[int]:
    """Return the seeds below `n_seeds` whose normals are proportional to the returns, at any volatility."""
    made = np.stack([of(seed) for seed in range(n_seeds)])
    likeness = made @ returns / np.linalg.norm(made, axis=1) / np.linalg.norm(returns)
    return np.flatnonzero(likeness > 0.9995).tolist()


@pytest.mark.parametrize("name", SCANNED)
def test_a_small_seed_of_a_weak_generator_is_found_by_enumeration_and_none_gives_our_market(name: str) -> None:
    of, n_seeds = SCANNED[name], count(200_000, 2_000)
    shown = np.round(known.prices_of(of(1_234)), 2)
    assert scan(np.diff(np.log(shown)), of, 2_000) == [1_234]
    spec = ScenarioSpec("calm", n_symbols=1, n_days=9, market_vol=0.0, sector_vol=0.0)
    ours = Scenario.revealed(spec, KEY).dataset()
    assert scan(np.diff(np.log(ours.close[:, 0])), of, n_seeds) == []


def test_the_seed_of_a_synthetic_market_is_found_by_enumeration() -> None:
    # No inversion is needed: seeds of `Dataset.synthetic`, `TradingEnv(seed)` and the environment ids are small.
    env = oo.OpenOutcryEnv(seed=1_871)
    shown, _ = env.reset(seed=0)
    text = json.loads(native.TradingEnv(4, 120, 1_871).reset())
    assert [each["close_history"][-1] for each in text["symbols"]] == shown["closes"].tolist()
    # The default window begins at the close of bar 19, and later days do not change earlier ones.
    guesses = (seed for seed in range(3_000) if (oo.Dataset.synthetic(4, 20, seed).close[-1] == shown["closes"]).all())
    assert list(guesses) == [1_871]
