"""Random episodes run in Python, with expected results for other hosts of the engine."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from builders import Draw, draw, env_of
from day_order_samples import day_order, ranges
from numpy.typing import ArrayLike

import openoutcry as oo
from openoutcry import openoutcry_py as native

Fields = dict[str, Any]
ACTIONS = ("buy", "sell", "hold", "close")


def episode(seed: int, *, day_orders: bool = False) -> tuple[Fields, Fields]:
    """Return the inputs of a random episode, and its results in Python.

    With `day_orders`, half of the orders have conditions, in a market with highs and lows.
    """
    drawn, rng = draw(seed, odd_names=seed % 3 == 0), np.random.default_rng(seed)
    if day_orders:
        drawn = _with_ranges(drawn, np.random.default_rng([seed, 1]))
    lookback, fill_seed = int(rng.choice([1, 2, 5, 20])), int(rng.integers(2**64, dtype=np.uint64))
    market = oo.Dataset(_featured(drawn.dataset, rng)._core, name=f"market {seed}")
    agent = _agent(market.symbols, rng, day_orders=day_orders)
    run, results = _run(market, drawn, lookback, fill_seed, agent)
    given = {
        "agent_id": f"agent {seed}",
        "market": base64.b64encode(market._core.to_bytes()).decode(),
        "name": market.name,
        "decisions": run.decisions[0],
        "changed": _changed(run, rng),
        "settings": {
            "window": dict(zip(("start", "end"), drawn.window, strict=True)),
            "lookback": lookback,
            "seed": str(fill_seed),
            "costs": drawn.costs.to_dict(),
            "limits": {name: None if value == math.inf else value for name, value in drawn.limits.to_dict().items()},
        },
    }
    changed = oo.replay(oo.RunRecord.from_json(given["changed"]), market)
    first = None if changed.first is None else asdict(changed.first)
    if first is not None and first["ulps"] is not None:
        first["ulps"] = str(first["ulps"])
    return given, results | {"first": first, "n_differences": len(changed.differences)}


def _with_ranges(drawn: Draw, rng: np.random.Generator) -> Draw:
    """Return a draw with highs, lows and a gap of stops; a third of the accounts have no debt."""
    dataset, costs, limits = drawn.dataset, drawn.costs.to_dict(), drawn.limits.to_dict()
    tables = ranges(rng, dataset.close, dataset.open)
    costs["stop_gap"] = float(rng.choice([0.0, 0.25, 1.0]))
    if rng.random() < 1 / 3:
        limits |= {"allow_short": False, "cash_account": True}
    market = oo.Dataset.from_arrays(**(dataset._columns() | tables))
    return drawn._replace(dataset=market, costs=oo.CostModel(**costs), limits=oo.Limits(**limits))


def _featured(market: oo.Dataset, rng: np.random.Generator) -> oo.Dataset:
    """Return a market with features of symbols and of the market, in half of all episodes."""
    if rng.random() < 0.5:
        return market
    shape = (market.n_bars, market.n_symbols)
    return market.with_features({"signal \u00e9": rng.normal(size=shape), "breadth": rng.normal(size=shape[0])})


def _run(
    market: oo.Dataset, drawn: Draw, lookback: int, seed: int, agent: Callable[[Fields], str]
) -> tuple[Any, Fields]:
    answers = list[str]()

    def recorded(observation: Fields) -> str:
        answers.append(agent(observation))
        return answers[-1]

    run = oo.run_backtest(
        market, recorded, drawn.window, drawn.costs, drawn.limits, seed, lookback=lookback, name="agent", capture=True
    )
    record = oo.RunRecord.join(market.name.replace("market", "agent"), [run.record], 0)
    outputs, env = [], env_of(drawn._replace(dataset=market), seed=seed, lookback=lookback)
    outputs.append(env.reset())
    for answer in record.decisions[0]:
        observation, reward, _, info = env.step(answer)
        outputs += [observation, info, _bits([reward, env.nav]), f"{env.terminated} {env.truncated}".lower()]
    nav = run.nav
    return record, {
        "fingerprint": market.fingerprint,
        "json": _sha256("\n".join(outputs)),
        "nav": _bits(nav),
        "record": _sha256(record.to_json()),
        "verified": True,
        "n_steps": len(record.decisions[0]),
    }


def _agent(symbols: tuple[str, ...], rng: np.random.Generator, *, day_orders: bool) -> Callable[[Fields], str]:
    """Return an agent with canonical decisions, which JavaScript reproduces byte for byte."""
    names = [*symbols, "no such symbol"]

    def decide(observation: Fields) -> str:
        orders: list[Fields] = []
        closes = {view["symbol"]: view["close_history"][-1] for view in observation["symbols"]}
        for name in rng.permutation(names)[: rng.integers(len(names) + 1)].tolist():
            weight = round(float(rng.normal(0.0, rng.choice([0.3, 1.0, 60.0]))), 3) + 0.0
            action = ACTIONS[int(rng.choice(4, p=[0.4, 0.4, 0.1, 0.1]))]
            orders.append({"symbol": name, "action": action, "target_weight": weight})
            if rng.random() < 0.3:
                orders[-1] |= {"confidence": round(float(rng.random()), 2), "rationale": "déjà vu \u2028 \U0001f680"}
            if day_orders and name in closes and rng.random() < 0.5:
                orders[-1] = day_order(rng, name, closes[name])
        return native.canonicalize(json.dumps({"orders": orders}))

    return decide


def _changed(record: oo.RunRecord, rng: np.random.Generator) -> str:
    """Return the record with one change."""
    fields = json.loads(record.to_json())
    run, kind = fields["runs"][0], int(rng.integers(5))
    step = run["steps"][int(rng.integers(len(run["steps"])))]
    if kind == 0:
        step["decision"] = '{"orders":[]}' if step["decision"] != '{"orders":[]}' else '{"orders":[ ]}'
    elif kind == 1:
        step["nav"] = float(np.nextafter(step["nav"], 2.0))
    elif kind == 2:
        run["header"]["costs"]["fee_bps"] += 1.0
    elif kind == 3:
        fields["in_sample_trials"] += 1
    else:
        run["end"]["cash"] = float(np.nextafter(run["end"]["cash"], 2.0))
    return native.canonicalize(json.dumps(fields))


def _bits(values: ArrayLike) -> str:
    return " ".join(f"{each:x}" for each in np.asarray(values, dtype=np.float64).view(np.uint64).tolist())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
