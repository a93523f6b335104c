"""Rewards of an environment: a scheme, a weighted sum of terms, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import type_of
from openoutcry.errors import refusal
from openoutcry.gym.episodes import finite

_Numbers: TypeAlias = npt.NDArray[np.float64]
_Flags: TypeAlias = npt.NDArray[np.bool_]

SHARPE = "differential-sharpe"
GAINS = ("simple", "log", SHARPE)

# Default rate or penalty of each scheme: the rate of Moody and Saffell, a penalty of 1 per unit of deeper drawdown, and
# 10 bps of turnover.
_PARAMETERS = {SHARPE: 0.01, "drawdown": 1.0, "turnover": 0.001}


@dataclass(frozen=True)
class StepFigures:
    """Figures of a step of every lane: the argument of a reward function.

    The scalar environment is one lane: `num_envs` is 1.

    Attributes:
        return_: Simple return of NAV over the bar, after costs, shape `(num_envs,)`, float64; -1 at ruin.
        previous_nav: NAV before the step, shape `(num_envs,)`, float64; 1 at the start of an episode.
        nav: NAV after the step, shape `(num_envs,)`, float64; 0 at ruin.
        turnover: Traded notional over the NAV of the decision, shape `(num_envs,)`, float64. Positions that a
            liquidation or a ruin closes are included.
        drawdown: Loss since the highest NAV of the episode, as a share of it, shape `(num_envs,)`, float64.
        n_steps: Steps of the episode, this one included, shape `(num_envs,)`, int64.
        terminated: Whether the account was liquidated or ruined, shape `(num_envs,)`, bool.
        truncated: Whether the window ended, shape `(num_envs,)`, bool.
        reset: Whether this step only started the next episode, shape `(num_envs,)`, bool. Rewards of these lanes are 0,
            and the values of the function for them are ignored. The other figures are then those of a step in cash.
    """

    return_: _Numbers
    previous_nav: _Numbers
    nav: _Numbers
    turnover: _Numbers
    drawdown: _Numbers
    n_steps: npt.NDArray[np.int64]
    terminated: _Flags
    truncated: _Flags
    reset: _Flags


RewardFunction: TypeAlias = Callable[[StepFigures], npt.NDArray[Any]]
Reward: TypeAlias = str | Mapping[str, float] | RewardFunction


@dataclass(frozen=True)
class RewardScheme:
    """A checked reward.

    Attributes:
        name: Name of the scheme or function, or the terms with their weights.
        engine: Name or terms of a reward of the engine; None for a function.
        parameter: Rate or penalty of the scheme, or rate of the differential Sharpe term.
        function: Function that computes the rewards; None for a reward of the engine.
    """

    name: str
    engine: str | list[tuple[str, float]] | None
    parameter: float = 0.0
    function: RewardFunction | None = None

    def write(self, rewards: _Numbers, figures: Mapping[str, npt.NDArray[Any]], flags: tuple[Any, Any, Any]) -> None:
        """Write the rewards of the function of a step.

        Args:
            rewards: Shape `(num_envs,)`, written.
            figures: Arrays of the native module by name.
            flags: Terminations, truncations and resets; resets are None without one.

        Raises:
            OpenOutcryError: the function did not return one finite number per lane. `rewards` is unchanged, and the
                accounts are those after the step.
        """
        if self.function is None:
            return
        terminated, truncated, reset = flags
        skipped = np.zeros(rewards.shape, dtype=np.bool_) if reset is None else reset.copy()
        values = self.function(
            StepFigures(**figures, terminated=terminated.copy(), truncated=truncated.copy(), reset=skipped.copy())
        )
        checked = _checked(self.name, values, rewards.shape, skipped)
        rewards[...] = np.where(skipped, 0.0, checked)

    def of_lane(self, core: native.TradingEnv) -> float:
        """Return the reward of the function for the last step of a scalar environment."""
        rewards = np.zeros(1)
        flags = np.array([core.terminated]), np.array([core.truncated])
        self.write(rewards, core.figures, (*flags, None))
        return float(rewards[0])


def reward_scheme(reward: Any, parameter: Any) -> RewardScheme:
    """Return the reward of the arguments `reward` and `reward_parameter`.

    Raises:
        OpenOutcryError: `argument_invalid`: an unknown name, a weight or a parameter out of range.
    """
    if isinstance(reward, Mapping):
        return _sum_of(reward, parameter)
    if isinstance(reward, str) and reward in native.REWARDS:
        if reward in _PARAMETERS:
            return RewardScheme(reward, reward, _parameter(reward, parameter))
        return RewardScheme(reward, reward, _without(f"the reward {reward}, which has no parameter", parameter))
    if not callable(reward):
        wanted = f"one of {', '.join(native.REWARDS)}, a dict of weights, or a function"
        raise refusal("argument_invalid", f"`reward` must be {wanted}; received {reward!r}")
    name = str(getattr(reward, "__name__", type(reward).__name__))
    return RewardScheme(name, None, _without("a reward function", parameter), reward)


def _sum_of(weights: Mapping[Any, Any], parameter: Any) -> RewardScheme:
    for name in weights:
        if name not in native.REWARD_TERMS:
            message = f"the terms of `reward` must be among {', '.join(native.REWARD_TERMS)}; received {name!r}"
            hint = f"; hint: {name}-penalty" if f"{name}-penalty" in native.REWARD_TERMS else ""
            raise refusal("argument_invalid", message + hint)
    terms = [(name, finite(f"reward[{name!r}]", weights[name])) for name in native.REWARD_TERMS if name in weights]
    if not any(weight > 0.0 for name, weight in terms if name in GAINS):
        message = f"`reward` must have a weight above 0 for one of {', '.join(GAINS)}; received {dict(weights)!r}"
        raise refusal("argument_invalid", f"{message}; hint: with penalties alone, cash is always best")
    if any(name == SHARPE and weight > 0.0 for name, weight in terms):
        rate = _parameter(SHARPE, parameter)
    else:
        rate = _without(f"a reward without {SHARPE}", parameter)
    return RewardScheme(", ".join(f"{name}={weight!r}" for name, weight in terms), terms, rate)


def _parameter(scheme: str, parameter: Any) -> float:
    number = _PARAMETERS[scheme] if parameter is None else finite("reward_parameter", parameter)
    if scheme == SHARPE and not 0.0 < number < 1.0:
        message = f"`reward_parameter` must be a rate above 0 and below 1; received {parameter!r}"
        raise refusal("argument_invalid", message)
    return number


def _without(reward: str, parameter: Any) -> float:
    """Refuse the parameter of a reward that has none."""
    if parameter is not None:
        raise refusal("argument_invalid", f"`reward_parameter` must be None for {reward}; received {parameter!r}")
    return 0.0


def _checked(name: str, values: Any, shape: tuple[int, ...], skipped: _Flags) -> _Numbers:
    """Return the values of a reward function as float64."""
    is_array = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
    if not is_array or values.shape != shape or values.dtype.kind not in "fiu" or values.dtype.itemsize > 8:
        received = f"{values.dtype} {values.shape}" if is_array else type_of(values)
        message = f"`reward` function {name} must return an array of numbers of shape {shape}; received {received}"
        raise refusal(
            "shape_mismatch", f"{message}; hint: return one reward per lane, computed from the arrays of its step"
        )
    numbers: _Numbers = values.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(numbers) | skipped))
    if bad.size:
        message = f"`reward` function {name} must return finite rewards; received {numbers[bad[0]]} for lane {bad[0]}"
        raise refusal("argument_invalid", f"{message}; hint: `nav` is 0 at ruin, as in np.log(np.maximum(nav, 1e-8))")
    return numbers


__all__ = ["Reward", "RewardFunction", "RewardScheme", "StepFigures", "reward_scheme"]
