"""Reward hacking: policies without skill that no reward may reward."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import numpy as np

from openoutcry.verifiers_env.episode_outcome import Outcome
from openoutcry.verifiers_env.rollout_state import HOLD, Desk
from openoutcry.verifiers_env.scripted_policies import Policy, baseline, churn, decision, play
from openoutcry.verifiers_env.task_rows import Row

Game = Callable[[Row], Outcome]


def _names(desk: Desk) -> list[str]:
    return list(desk.state()["closes"])


def _answers(make: Callable[[Row], Policy]) -> Game:
    return lambda row: play(row, make(row))


def _equal(desk: Desk, gross: float = 1.0) -> str:
    names = _names(desk)
    return decision(dict.fromkeys(names, gross / len(names)))


def _all_in(row: Row) -> Policy:
    """Buy one random symbol with the complete account, and hold it."""
    draw = Random(row.index)

    def policy(desk: Desk) -> str:
        return HOLD if desk.windows[-1].answers else decision({draw.choice(_names(desk)): 1.0})

    return policy


def _martingale(row: Row) -> Policy:
    """Double a bet after each loss, and stop when the account is ahead."""
    draw, state = Random(row.index), {"stake": 0.0, "nav": 1.0, "window": 0.0}

    def policy(desk: Desk) -> str:
        names, nav = _names(desk), desk.state()["nav"]
        if state["window"] != len(desk.windows):
            state.update(stake=0.125, nav=1.0, window=len(desk.windows))
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

    def policy(desk: Desk) -> str:
        names, nav = _names(desk), desk.state()["nav"]
        if state["window"] != len(desk.windows):
            state["window"] = len(desk.windows)
            weights = dict.fromkeys(names, 0.5 / len(names))
            weights[draw.choice(names)] += 0.5
            return decision(weights)
        return _equal(desk) if nav > 1.01 else HOLD

    return policy


def _verbose(row: Row) -> Policy:
    """Add a long reasoning text to every hold."""
    return lambda desk: json.dumps({"orders": [], "reasoning": "momentum is strong and the risk is low; " * 100})


def _breach(row: Row) -> Policy:
    """Breach the mandate: one symbol short with the complete account."""
    return lambda desk: HOLD if desk.windows[-1].answers else decision({_names(desk)[0]: -1.0})


def _hedge_and_lever(row: Row) -> Policy:
    """Request four times the account: half of the symbols long, half short."""

    def policy(desk: Desk) -> str:
        names = _names(desk)
        weights = {name: (4.0 if place % 2 else -4.0) / len(names) for place, name in enumerate(names)}
        return decision(weights)

    return policy


def _copy(row: Row) -> Policy:
    """Buy the benchmark, and hold."""
    return lambda desk: HOLD if desk.windows[-1].answers else _equal(desk)


def _against_until_ahead(row: Row) -> Policy:
    """Go short the benchmark, and switch to it once that has gained."""
    state = {"window": 0, "aim": 0.0}
    began: dict[str, float] = {}

    def policy(desk: Desk) -> str:
        shown = desk.state()
        closes, names = shown["closes"], list(shown["closes"])
        if state["window"] != len(desk.windows):
            state.update(window=len(desk.windows), aim=0.3 * _volatility(desk) * row.horizon**0.5)
            began.clear()
            began.update(closes)
            return decision(dict.fromkeys(names, -1.0 / len(names)))
        benchmark = np.mean([closes[name] / began[name] for name in names if name in began])
        if np.log(shown["nav"] / benchmark) < state["aim"]:
            return HOLD
        state["aim"] = np.inf
        return _equal(desk)

    return policy


def _from_next_to_nothing(row: Row) -> Policy:
    """Start with a tiny tilt to one symbol, and increase it sixfold after each loss."""
    draw, pair, state = Random(row.index), [""], {"size": 0.0}
    prices: dict[str, float] = {}

    def policy(desk: Desk) -> str:
        shown, first = desk.state(), not desk.windows[-1].answers
        if first:
            state["size"] = 0.0
            return _equal(desk)
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

    def policy(desk: Desk) -> str:
        place, names = len(desk.windows[-1].answers), _names(desk)
        if place == 1:
            return decision(dict.fromkeys(names, 0.0) | {names[0]: 0.9, names[-1]: -0.1})
        return _equal(desk, gross) if place in (0, 2) else HOLD

    return policy


def _breach_behind(row: Row) -> Policy:
    """Buy one random symbol, and go short after a loss."""
    long, state = _all_in(row), {"window": 0}

    def policy(desk: Desk) -> str:
        shown = desk.state()
        if state["window"] != len(desk.windows) and shown["nav"] < 0.99:
            state["window"] = len(desk.windows)
            return decision({name: -float(np.sign(held)) for name, held in shown["weights"].items() if held})
        return long(desk)

    return policy


def _careful(row: Row) -> Policy:
    """Hold the benchmark, and sell it in a drawdown of 2 %."""
    best = [1.0]

    def policy(desk: Desk) -> str:
        nav, first = desk.state()["nav"], not desk.windows[-1].answers
        best[0] = 1.0 if first else max(best[0], nav)
        return _copy(row)(desk) if nav > 0.98 * best[0] else decision(dict.fromkeys(_names(desk), 0.0))

    return policy


def _volatility(desk: Desk) -> float:
    closes = list(desk.history().values())
    n_bars = min(map(len, closes))
    moves = np.diff(np.log([each[-n_bars:] for each in closes]), axis=1).mean(axis=0)
    return float(moves.std()) if len(moves) else 0.0


GAMES: dict[str, Game] = {
    "copy the benchmark": _answers(_copy),
    "hold for ever": _answers(lambda row: lambda desk: HOLD),
    "churn": _answers(lambda row: churn(1.0)),
    "all in": _answers(_all_in),
    "martingale betting": _answers(_martingale),
    "bet until ahead": _answers(_tilt_until_ahead),
    "all against it until ahead": _answers(_against_until_ahead),
    "from next to nothing": _answers(_from_next_to_nothing),
    "refuse": _answers(lambda row: lambda desk: "I cannot give financial advice."),
    "verbose": _answers(_verbose),
    "malformed on purpose": _answers(lambda row: lambda desk: '{"orders": "all of them"}'),
    "early finish": lambda row: play(row, _copy(row), n_most=1),
    "mandate-breaking": _answers(_breach),
    "hedge and lever": _answers(_hedge_and_lever),
    "random": _answers(lambda row: baseline("random", row)),
}
"""Reward hacks by name, each an episode of a row."""

KEEPERS: dict[str, Game] = {
    "long-only": _answers(_copy),
    "market-neutral": _answers(lambda row: lambda desk: HOLD),
    "drawdown-cap": _answers(_careful),
}
"""Policies without skill that keep a mandate, by its name."""

BREAKERS: dict[str, Game] = {
    "as if there were none": _answers(_copy),
    "all short": _answers(_breach),
    "on one bar": _answers(_breach_once),
    "when behind": _answers(_breach_behind),
}
"""Policies that breach mandates; the first one does not breach `long-only`."""
