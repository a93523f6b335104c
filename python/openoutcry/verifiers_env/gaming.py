"""Policies that try to be paid without skill, which no reward must pay."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from openoutcry.verifiers_env.desk import HOLD, Desk
from openoutcry.verifiers_env.outcome import Outcome
from openoutcry.verifiers_env.policies import Policy, baseline, churn, decision, play
from openoutcry.verifiers_env.rows import Row

Game = Callable[[Row], Outcome]


def _names(desk: Desk) -> list[str]:
    return list(desk.state()["closes"])


def _answers(make: Callable[[Row], Policy]) -> Game:
    return lambda row: play(row, make(row))


def _equal(desk: Desk, gross: float = 1.0) -> str:
    names = _names(desk)
    return decision(dict.fromkeys(names, gross / len(names)))


def _all_in(row: Row) -> Policy:
    """Put all into one symbol, drawn at random, and stay there."""
    draw = Random(row.index)

    def policy(desk: Desk) -> str:
        return HOLD if desk.windows[-1].answers else decision({draw.choice(_names(desk)): 1.0})

    return policy


def _martingale(row: Row) -> Policy:
    """Double a bet after each loss, and stop as soon as the account is ahead."""
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
    """Hold the benchmark but for one bet, which is off as soon as it has gained."""
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
    """Say a lot beside every hold."""
    return lambda desk: json.dumps({"orders": [], "reasoning": "momentum is strong and the risk is low; " * 100})


def _breach(row: Row) -> Policy:
    """Hold what a mandate forbids: one symbol short with all there is."""
    return lambda desk: HOLD if desk.windows[-1].answers else decision({_names(desk)[0]: -1.0})


def _hedge_and_lever(row: Row) -> Policy:
    """Ask for four times the account: one half of the symbols long, one short."""

    def policy(desk: Desk) -> str:
        names = _names(desk)
        weights = {name: (4.0 if place % 2 else -4.0) / len(names) for place, name in enumerate(names)}
        return decision(weights)

    return policy


def _copy(row: Row) -> Policy:
    """Buy what the benchmark buys, and nothing after it."""
    return lambda desk: HOLD if desk.windows[-1].answers else _equal(desk)


GAMES: dict[str, Game] = {
    "copy the benchmark": _answers(_copy),
    "hold for ever": _answers(lambda row: lambda desk: HOLD),
    "churn": _answers(lambda row: churn(1.0)),
    "all in": _answers(_all_in),
    "martingale betting": _answers(_martingale),
    "bet until ahead": _answers(_tilt_until_ahead),
    "refuse": _answers(lambda row: lambda desk: "I cannot give financial advice."),
    "verbose": _answers(_verbose),
    "malformed on purpose": _answers(lambda row: lambda desk: '{"orders": "all of them"}'),
    "early finish": lambda row: play(row, _copy(row), n_most=1),
    "mandate-breaking": _answers(_breach),
    "hedge and lever": _answers(_hedge_and_lever),
    "random": _answers(lambda row: baseline("random", row)),
}
"""The games by name, each an episode of a row."""
