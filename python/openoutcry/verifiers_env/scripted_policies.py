"""Scripted policies: baselines, and an oracle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.agents import NAMES
from openoutcry.agents.decision_codec import decision_text
from openoutcry.backtest.decision_makers import is_named_agent, library_agent
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.observing_agent import ObservingAgent, observing_agent
from openoutcry.verifiers_env.episode_outcome import Outcome, outcome_of
from openoutcry.verifiers_env.rewards import excess_return_reward
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.task_rows import Row

Policy = Callable[[RolloutState], str]
"""Returns the text of the next decision, given the state of the rollout."""

BASELINES = ("random", "do-nothing", "equal-weight", "momentum", "oracle")
_NATIVE = {"do-nothing": "hold-cash", "buy-and-hold": "buy-and-hold"}


def play(row: Row, policy: Policy, *, n_most: int | None = None) -> Outcome:
    """Return the outcome of a policy on a row.

    Args:
        row: The task row.
        policy: Called for a decision on every bar.
        n_most: Maximum number of decisions; None for all.
    """
    rollout = RolloutState(row)
    while not rollout.done and (n_most is None or rollout.n_answers < n_most):
        rollout.decide(policy(rollout))
    return outcome_of(rollout)


def baseline(name: str, row: Row) -> Policy:
    """Return the policy of a name for a row.

    The name is one of `BASELINES`, a baseline of the package, a strategy or a candidate's file.
    """
    if name == "oracle":
        return oracle
    if name not in NAMES and is_named_agent(name) and name not in _NATIVE:
        return _strategy_policy(name)
    sessions: dict[int, native.Session] = {}

    def policy(rollout: RolloutState) -> str:
        window = len(rollout.windows)
        if window not in sessions:
            sessions[window] = native.Baseline(_NATIVE.get(name, name), row.index * 64 + window).session()
        return sessions[window].decide(rollout.observation)

    return policy


def _strategy_policy(name: str) -> Policy:
    """Return the policy of a strategy, with a new agent for each window."""
    strategy, agent_name = library_agent(name)
    assert isinstance(strategy, Strategy), "a baseline is a policy of its own"
    sessions: dict[int, ObservingAgent] = {}

    def policy(rollout: RolloutState) -> str:
        symbols = rollout.windows[-1].dataset.symbols
        agent = sessions.setdefault(len(rollout.windows), observing_agent(strategy, agent_name, symbols))
        return decision_text(agent(json.loads(rollout.observation)))

    return policy


def oracle(rollout: RolloutState) -> str:
    """Decide with knowledge of the next prices, within the mandate."""
    window = rollout.windows[-1]
    bar = rollout.row.window[0] + len(window.answers)
    gains = _gains(rollout, bar)
    names, weights = window.dataset.symbols, dict.fromkeys(window.dataset.symbols, 0.0)
    best, worst = int(np.argmax(gains)), int(np.argmin(gains))
    cost = 2e-4 * (rollout.row.cost_model.fee_bps + rollout.row.cost_model.slippage_bps)
    if rollout.row.mandate == "market-neutral":
        if gains[best] - gains[worst] > cost:
            weights |= {names[best]: 0.5, names[worst]: -0.5}
    elif rollout.row.mandate == "long-only" or gains[best] >= -gains[worst]:
        weights[names[best]] = float(gains[best] > cost)
    else:
        weights[names[worst]] = -float(-gains[worst] > cost)
    return decision(weights)


def decision(weights: Mapping[str, float]) -> str:
    """Return the decision that trades to the weights, as JSON."""
    orders = [
        {"symbol": name, "action": "buy" if weight > 0 else "sell" if weight < 0 else "close", "target_weight": weight}
        for name, weight in weights.items()
    ]
    return json.dumps({"orders": orders})


def is_valid_task(row: Row) -> bool:
    """Return whether a reward ranks an oracle above holding above churning.

    The churning policy alternates between half long and half short. It runs twice, with opposite signs, so that market
    returns cancel and the mean growth of both runs equals the trading costs.
    """
    nothing = play(row, lambda rollout: HOLD)
    churns = [play(row, churn(sign)) for sign in (1.0, -1.0)]
    growth = sum(float(each.log_returns.sum()) for outcome in churns for each in outcome.windows)
    kept = sum(2.0 * float(each.log_returns.sum()) for each in nothing.windows)
    return excess_return_reward(play(row, oracle)) > excess_return_reward(nothing) and kept > growth


def churn(sign: float) -> Policy:
    """Return a policy that alternates between half long and half short."""

    def policy(rollout: RolloutState) -> str:
        turn = sign if len(rollout.windows[-1].answers) % 2 == 0 else -sign
        names = list(rollout.history())
        return decision(dict.fromkeys(names, 0.5 * turn / len(names)))

    return policy


def _gains(rollout: RolloutState, bar: int) -> npt.NDArray[np.float64]:
    """Return each symbol's return from fill to fill, 0 if it cannot be traded."""
    dataset, last = rollout.windows[-1].dataset, rollout.row.window[1] - 1
    close, opened = dataset.close, dataset.open
    if opened is None:
        gains = close[bar + 1] / close[bar] - 1.0
    else:
        end = close[bar + 1] if bar + 1 == last else opened[bar + 2]
        gains = end / opened[bar + 1] - 1.0
    shown = {each["symbol"] for each in json.loads(rollout.observation)["symbols"]}
    is_shown = np.array([name in shown for name in dataset.symbols])
    return np.where(np.isfinite(gains) & is_shown, gains, 0.0)
