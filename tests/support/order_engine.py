"""The engine on the cases of `contract/vectors/orders.json`, and on the random runs of the reference."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from builders import dataset_of
from order_inputs import DayDraw

import openoutcry as oo

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import make_vectors

Json = dict[str, Any]
INFO = ("nav", "costs", "turnover", "interest", "dividends", "settlement", "events")


def run_engine(given: Json) -> list[Json]:
    """Return the result of each decision of a case, in the form of its `expected.steps`."""
    env, steps = make_vectors.environment(given), []
    env.reset()
    for text in given["decisions"]:
        observation, reward, done, info = env.step(text)
        shown, told = json.loads(observation), json.loads(info)
        steps.append(
            {
                "observation": {"cash": shown["cash"], "portfolio": shown["portfolio"]},
                "reward": reward,
                "info": {name: told[name] for name in INFO},
                "done": done,
            }
        )
    return steps


def run_of(draw: DayDraw) -> oo.Run:
    """Return the backtest of a random run of the reference."""
    ranges = {name: table for name in ("high", "low") if (table := getattr(draw.market, name)) is not None}
    limits = asdict(draw.rules.limits)
    most = limits.pop("max_participation")
    table = draw.table
    return oo.run_backtest(
        dataset_of(draw.market, **ranges),
        table.weight,
        (draw.start, draw.end),
        oo.CostModel(**asdict(draw.rules.costs)),
        oo.Limits(**limits, max_participation=None if most == inf else most),
        draw.rules.seed,
        limit_price=table.limit_price,
        stop_price=table.stop_price,
        stop_loss=table.stop_loss,
        take_profit=table.take_profit,
        at=np.where(table.at_close, "close", "open"),
    )
