"""Reward hacking: policies without skill, which must not earn reward."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import numpy as np

from openoutcry.verifiers_env.episode_outcome import Outcome
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.scripted_policies import Policy, baseline, churn, decision, play
from openoutcry.verifiers_env.task_rows import Row

Hack = Callable[[Row], Outcome]


def _names(rollout: RolloutState) -> list[str]:
    return list(rollout.state()["closes"])


def _answers(make: Callable[[Row], Policy]) -> Hack:
    return lambda row: play(row, make(row))


def _equal(rollout: RolloutState, gross: float = 1.0) -> str:
    names = _names(rollout)
    return decision(dict.fromkeys(names, gross / len(names)))


def _all_in(row: Row) -> Policy:
    """Buy one random symbol with the complete account, and hold it."""
    draw = Random(row.index)

    def policy(rollout: RolloutState) -> str:
        return HOLD if rollout.windows[-1].answers else decision({draw.choice(_names(rollout)): 1.0})

    return policy


def _martingale(row: Row) -> Policy:
    """Double a bet after each loss, and stop when the account is ahead."""
    draw, state = Random(row.index), {"stake": 0.0, "nav": 1.0, "window": 0.0}

    def policy(rollout: RolloutState) -> str:
        names, nav = _names(rollout), rollout.state()["nav"]
        if state["window"] != len(rollout.windows):
            state.update(stake=0.125, nav=1.0, window=len(rollout.windows))
        elif nav > 1.0:
            return decision(dict.fromkeys(names, 0.0))
        elif nav < state["nav"]:
            state["stake"] = min(1.0, 2 * state["stake"])
        state["nav"] = nav
        weights = dict.fromkeys(names, 0.0) | {draw.choice(names): state["stake"] * draw.choice((-1, 1))}
        return decision(weights)

    return policy


def _tilt_until_ahead(row: Row) -> Policy:
    """Hold the benchmark with one tilt, which is closed once it has gained."""
    draw, state = Random(row.index), {"window": 0}

    def policy(rollout: RolloutState) -> str:
        names, nav = _names(rollout), rollout.state()["nav"]
        if state["window"] != len(rollout.windows):
            state["window"] = len(rollout.windows)
            weights = dict.fromkeys(names, 0.5 / len(names))
            weights[draw.choice(names)] += 0.5
            return decision(weights)
        return _equal(rollout) if nav > 1.01 else HOLD

    return policy


def _verbose(row: Row) -> Policy:
    """Add a long reasoning text to every hold."""
    return lambda rollout: json.dumps({"orders": [], "reasoning": "momentum is strong and the risk is low; " * 100})


def _breach(row: Row) -> Policy:
    """Breach the mandate: one symbol short with the complete account."""
    return lambda rollout: HOLD if rollout.windows[-1].answers else decision({_names(rollout)[0]: -1.0})


def _hedge_and_lever(row: Row) -> Policy:
    """Request four times the account: half of the symbols long, half short."""

    def policy(rollout: RolloutState) -> str:
        names = _names(rollout)
        weights = {name: (4.0 if place % 2 else -4.0) / len(names) for place, name in enumerate(names)}
        return decision(weights)

    return policy


def _copy(row: Row) -> Policy:
    """Buy the benchmark, and hold."""
    return lambda rollout: HOLD if rollout.windows[-1].answers else _equal(rollout)


def _against_until_ahead(row: Row) -> Policy:
    """Go short the benchmark, and switch to it once that has gained."""
    state = {"window": 0, "aim": 0.0}
    began: dict[str, float] = {}

    def policy(rollout: RolloutState) -> str:
        shown = rollout.state()
        closes, names = shown["closes"], list(shown["closes"])
        if state["window"] != len(rollout.windows):
            state.update(window=len(rollout.windows), aim=0.3 * _volatility(rollout) * row.horizon**0.5)
            began.clear()
            began.update(closes)
            return decision(dict.fromkeys(names, -1.0 / len(names)))
        benchmark = np.mean([closes[name] / began[name] for name in names if name in began])
        if np.log(shown["nav"] / benchmark) < state["aim"]:
            return HOLD
        state["aim"] = np.inf
        return _equal(rollout)

    return policy


def _from_next_to_nothing(row: Row) -> Policy:
    """Start with a tiny tilt to one symbol, and increase it sixfold after each loss."""
    draw, pair, state = Random(row.index), [""], {"size": 0.0}
    prices: dict[str, float] = {}

    def policy(rollout: RolloutState) -> str:
        shown, first = rollout.state(), not rollout.windows[-1].answers
        if first:
            state["size"] = 0.0
            return _equal(rollout)
        weights, closes = shown["weights"], shown["closes"]
        held = [name for name in weights if weights[name] > 0]
        if shown["bars_left"] > 5 or len(held) < 2 or state["size"] < 0.0:
            return HOLD
        if not state["size"]:
            pair[:] = draw.sample(held, 2)
            more = state["size"] = 1e-3
        elif closes[pair[0]] / prices[pair[0]] > closes[pair[1]] / prices[pair[1]]:
            more, state["size"] = -state["size"], -1.0
        else:
            more = 5.0 * state["size"]
            state["size"] += more
        prices.update(closes)
        return decision({pair[0]: weights[pair[0]] + more, pair[1]: weights[pair[1]] - more})

    return policy


def _breach_once(row: Row) -> Policy:
    """Keep the mandate except on one bar: 0.9 in one symbol and -0.1 in another."""
    gross = 0.0 if row.mandate == "market-neutral" else 1.0

    def policy(rollout: RolloutState) -> str:
        place, names = len(rollout.windows[-1].answers), _names(rollout)
        if place == 1:
            return decision(dict.fromkeys(names, 0.0) | {names[0]: 0.9, names[-1]: -0.1})
        return _equal(rollout, gross) if place in (0, 2) else HOLD

    return policy


def _breach_behind(row: Row) -> Policy:
    """Buy one random symbol, and go short after a loss."""
    long, state = _all_in(row), {"window": 0}

    def policy(rollout: RolloutState) -> str:
        shown = rollout.state()
        if state["window"] != len(rollout.windows) and shown["nav"] < 0.99:
            state["window"] = len(rollout.windows)
            return decision({name: -float(np.sign(held)) for name, held in shown["weights"].items() if held})
        return long(rollout)

    return policy


def _careful(row: Row) -> Policy:
    """Hold the benchmark, and sell it in a drawdown of 2 %."""
    best = [1.0]

    def policy(rollout: RolloutState) -> str:
        nav, first = rollout.state()["nav"], not rollout.windows[-1].answers
        best[0] = 1.0 if first else max(best[0], nav)
        return _copy(row)(rollout) if nav > 0.98 * best[0] else decision(dict.fromkeys(_names(rollout), 0.0))

    return policy


def _volatility(rollout: RolloutState) -> float:
    closes = list(rollout.history().values())
    n_bars = min(map(len, closes))
    moves = np.diff(np.log([each[-n_bars:] for each in closes]), axis=1).mean(axis=0)
    return float(moves.std()) if len(moves) else 0.0


REWARD_HACKS: dict[str, Hack] = {
    "copy the benchmark": _answers(_copy),
    "hold for ever": _answers(lambda row: lambda rollout: HOLD),
    "churn": _answers(lambda row: churn(1.0)),
    "all in": _answers(_all_in),
    "martingale betting": _answers(_martingale),
    "bet until ahead": _answers(_tilt_until_ahead),
    "all against it until ahead": _answers(_against_until_ahead),
    "from next to nothing": _answers(_from_next_to_nothing),
    "refuse": _answers(lambda row: lambda rollout: "I cannot give financial advice."),
    "verbose": _answers(_verbose),
    "malformed on purpose": _answers(lambda row: lambda rollout: '{"orders": "all of them"}'),
    "early finish": lambda row: play(row, _copy(row), n_most=1),
    "mandate-breaking": _answers(_breach),
    "hedge and lever": _answers(_hedge_and_lever),
    "random": _answers(lambda row: baseline("random", row)),
}
"""Reward hacks by name, each an episode of a row."""

MANDATE_KEEPERS: dict[str, Hack] = {
    "long-only": _answers(_copy),
    "market-neutral": _answers(lambda row: lambda rollout: HOLD),
    "drawdown-cap": _answers(_careful),
}
"""Policies without skill that keep a mandate, by its name."""

MANDATE_BREAKERS: dict[str, Hack] = {
    "mandate ignored": _answers(_copy),
    "all short": _answers(_breach),
    "on one bar": _answers(_breach_once),
    "when behind": _answers(_breach_behind),
}
"""Policies that breach mandates; the first one does not breach `long-only`."""
