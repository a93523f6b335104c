"""A feature that looks ahead is named, in every kind of observation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo
from openoutcry.audits.leakcheck import check

SYMBOLS = ("X", "Y")


def environment(kind: str, planted: str) -> Any:
    """Return a factory of environments with a feature that looks ahead."""

    def make(frame: Any) -> oo.OpenOutcryEnv:
        close = frame[["close", "open"]].ffill().to_numpy()
        change = np.vstack([np.zeros((1, 2)), close[1:] / close[:-1] - 1.0])
        features = {"momentum": change, "mood": change[:, 0], "calm": -change}
        if planted:
            features[planted] = np.concatenate([features[planted][1:], features[planted][:1] * 0.0])
        dates = [str(date)[:10] for date in frame.index]
        market = oo.Dataset.from_arrays(dates, SYMBOLS, close, features=features)
        return oo.OpenOutcryEnv(dataset=market, observation=kind, lookback=2, info="full")

    return make


@pytest.mark.parametrize("kind", ["dict", "flat"])
@pytest.mark.parametrize(("planted", "labels"), [("calm", ("[calm][X]", "[calm][Y]")), ("mood", ("[mood]",)), ("", ())])
def test_the_report_names_a_planted_feature(kind: str, planted: str, labels: tuple[str, ...]) -> None:
    prices = oo.Dataset.synthetic(2, 60, seed=4)
    frame = pd.DataFrame(prices.close, columns=["close", "open"], index=pd.DatetimeIndex(prices.dates))
    report = check(environment(kind, planted), frame, kind="env", without=["nan", "truncation"], n_cuts=5)
    found = {leak.reach.column for leak in report.leaks}
    place = {"dict": {"calm": "observation.features", "mood": "observation.market_features"}}
    assert found == {f"{place.get(kind, {}).get(planted, 'observation')}{label}" for label in labels}


@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_every_number_of_an_observation_has_a_label(kind: str) -> None:
    market = oo.Dataset.synthetic(3, 40).with_features({"a": np.ones((40, 3)), "b": np.ones(40)})
    options: dict[str, Any] = {"mask": True} if kind == "flat" else {}
    options |= {"history": ("close", "volume", "a")} if kind == "dict" else {}
    env = oo.OpenOutcryEnv(dataset=market, observation=kind, lookback=4, **options)
    shown, _ = env.reset(seed=0)
    labels = env.observation_labels
    sizes = {name: part.size for name, part in shown.items()} if isinstance(shown, dict) else {"": shown.size}
    for name in sizes.keys() & labels.keys():
        assert len(labels[name]) == sizes[name], name
    assert sizes.keys() - labels.keys() <= {"cash", "cursor"}
    assert all(len({*each}) == len(each) for each in labels.values())
