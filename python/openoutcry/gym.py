"""The Gymnasium environment. Importing this module registers the ids."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry import openoutcry_py as native
from openoutcry.arguments import lookback_of, plain, rules_of, seed_of
from openoutcry.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits, OpenOutcryError, State
from openoutcry.window import Edge, Window, as_window

Observation = dict[str, npt.NDArray[Any]]

# Finite, so that `sample()` works; no price or share count comes near it.
_BOUND = 1e300


class _Default(int):
    """A default that can be told from the same number given."""


_N_SYMBOLS, _N_DAYS = _Default(4), _Default(120)


class OpenOutcryEnv(gym.Env[Observation, npt.NDArray[np.float32]]):
    """A market to trade bar by bar.

    Decide at a close, fill at the next open, be paid at the next close.

    Action: target weights, shape `(n,)`, float32, signed fractions of NAV.

    Observation, float64 but the mask: `closes` `(n,)`, account currency, 0 where a symbol is not listed; `listed`
    `(n,)`, int8; `positions` `(n,)`, shares; `cash` `(1,)`; with `lookback` also `history` `(lookback, n)`,
    oldest first, 0 before a listing.

    Reward: simple return of NAV. `terminated` is ruin or liquidation, `truncated` the window's end. `info` holds `nav`,
    `date`, `events` and the costs paid by kind.

    The market is fixed by the constructor, and so is the window: `reset(seed=...)` seeds `np_random` and nothing else.

    Args:
        n_symbols: Symbols of the synthetic market, 4 by default.
        n_days: Days of the synthetic market, 120 by default.
        seed: Seed of the synthetic market and of the slippage noise. With `dataset` it is the key of that noise alone,
            which matters only where `slippage_jitter` is above 0.
        dataset: A market to use instead of a synthetic one; the sizes are then its own.
        window: Bars or dates `[start, end)`.
        costs: What trading costs; None for the defaults of `CostModel`.
        limits: What an action may ask for; None for the defaults of `Limits`.
        lookback: Bars of `history`; None for no history.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.
        render_mode: `ansi` for a line of text, `rgb_array` for a picture.

    Raises:
        OpenOutcryError: an argument cannot be used: the window, a cost, a limit, both `limits` and a shorthand for it,
            both `dataset` and a size, or an unknown render mode.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 12}  # noqa: RUF012 as in Gymnasium

    def __init__(
        self,
        n_symbols: int = _N_SYMBOLS,
        n_days: int = _N_DAYS,
        seed: int = 7,
        *,
        dataset: Dataset | None = None,
        window: Window | tuple[Edge, Edge] | str | None = None,
        costs: CostModel | None = None,
        limits: Limits | None = None,
        lookback: int | None = None,
        max_weight: float | None = None,
        allow_short: bool | None = None,
        render_mode: str | None = None,
    ) -> None:
        if limits is not None and (max_weight is not None or allow_short is not None):
            shorthands = "`max_weight` and `allow_short`, which are shorthands for it"
            raise refusal("limit_invalid", f"`limits` must be None beside {shorthands}; received both")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            message = f"`render_mode` must be ansi, rgb_array or None; received {render_mode!r}"
            raise refusal("argument_invalid", message)
        shown = native.DEFAULT_LOOKBACK if lookback is None else lookback_of(lookback)
        self.costs, self.limits = rules_of(costs, limits)
        if limits is None:
            self.limits = Limits(max_weight=max_weight, allow_short=allow_short)
        self.dataset = _market(n_symbols, n_days, seed_of(seed), dataset)
        self.render_mode = render_mode
        self._core = native.TradingEnv.from_dataset(
            self.dataset._core,
            window=as_window(window).resolve(self.dataset, shown),
            costs=self.costs,
            limits=self.limits,
            lookback=shown,
            seed=seed,
        )
        self._navs: list[float] = []
        n = self.dataset.n_symbols
        top = _float32_below(min(self.limits.max_weight, native.MAX_ABS_WEIGHT))
        self.action_space = spaces.Box(-top if self.limits.allow_short else 0.0, top, (n,), np.float32)
        self.observation_space: spaces.Dict = spaces.Dict(_spaces(n, lookback))  # type: ignore[assignment]
        self._lookback = lookback

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the window anew."""
        super().reset(seed=seed)
        self._core.reset_arrays()
        self._navs = [self._core.nav]
        return self._observe(), self._core.info()

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Trade to target weights and move on by one bar.

        Raises:
            OpenOutcryError: the action has the wrong shape or is not finite, or the episode is over; nothing has moved.
        """
        weights = plain("action", action)
        if weights.dtype.kind not in "fiu" or weights.shape != self.action_space.shape:
            wanted = f"an action must be numbers of shape {self.action_space.shape}"
            raise refusal("weight_count", f"{wanted}; received {weights.dtype} {weights.shape}")
        # float32 widens exactly: the same weights as JSON would say.
        reward = self._core.step_weights(weights.astype(np.float64))
        if self.render_mode is not None:
            self._navs.append(self._core.nav)
        return self._observe(), reward, self._core.terminated, self._core.truncated, self._core.info()

    def clone_state(self) -> State:
        """Return a checkpoint of the account, in O(symbols)."""
        return self._core.clone_state()

    def restore_state(self, state: State) -> Observation:
        """Go back to a checkpoint of this environment and return its observation.

        Raises:
            OpenOutcryError: `state_mismatch`: the checkpoint is of another market or window.
        """
        self._core.restore_state(state)
        self._navs = [self._core.nav]
        return self._observe()

    def render(self) -> Any:
        """Return the account as text or as a picture, shape `(400, 640, 3)`, uint8."""
        if self.render_mode is None:
            gym.logger.warn("`render` needs a `render_mode`: gymnasium.make(..., render_mode='ansi')")
            return None
        observation = self._observe()
        date, cash = self._core.info()["date"], float(observation["cash"][0])
        nav = self._core.nav
        held = observation["positions"] * observation["closes"] / (nav or 1.0)
        if self.render_mode == "ansi":
            weights = "  ".join(f"{s} {w:+.1%}" for s, w in zip(self.dataset.symbols, held, strict=True) if w)
            return f"{date}  NAV {nav:.4f}  cash {cash:+.4f}  {weights or 'flat'}\n"
        from openoutcry.report.raster import render_frame

        return render_frame(self._navs, held, self.dataset.symbols, date, cash)

    def __reduce__(self) -> Any:
        hint = "pickle what makes it instead, and go back to a bar with `clone_state` and `restore_state`"
        raise TypeError(f"an OpenOutcryEnv can be neither pickled nor copied: {hint}")

    def _observe(self) -> Observation:
        n = self.dataset.n_symbols
        observation: Observation = {
            "closes": np.empty(n),
            "listed": np.empty(n, dtype=np.int8),
            "positions": np.empty(n),
            "cash": np.empty(1),
        }
        if self._lookback is not None:
            observation["history"] = np.empty((self._lookback, n))
        observation["cash"][0] = self._core.observe_into(
            observation["closes"], observation["positions"], observation["listed"], observation.get("history")
        )
        return observation


def _market(n_symbols: int, n_days: int, seed: int, dataset: Dataset | None) -> Dataset:
    if dataset is None:
        return Dataset.synthetic(n_symbols, n_days, seed)
    if not isinstance(dataset, Dataset):
        raise refusal("argument_invalid", f"`dataset` must be a Dataset or None; received {type(dataset).__name__}")
    if n_symbols is not _N_SYMBOLS or n_days is not _N_DAYS:
        sizes = "`n_symbols` and `n_days`, which are of a synthetic market"
        raise refusal("argument_invalid", f"`dataset` must be None beside {sizes}; received both")
    return dataset


def _float32_below(bound: float) -> np.float32:
    """Return the largest float32 that is at most `bound`.

    The nearest one can be above, and would be limited.
    """
    nearest = np.float32(bound)
    below: np.float32 = np.nextafter(nearest, np.float32(0.0))
    return nearest if float(nearest) <= bound else below


def _spaces(n: int, lookback: int | None) -> dict[str, spaces.Space[Any]]:
    boxes: dict[str, spaces.Space[Any]] = {
        "closes": spaces.Box(0.0, _BOUND, (n,), np.float64),
        "listed": spaces.MultiBinary(n),
        "positions": spaces.Box(-_BOUND, _BOUND, (n,), np.float64),
        "cash": spaces.Box(-_BOUND, _BOUND, (1,), np.float64),
    }
    if lookback is not None:
        boxes["history"] = spaces.Box(0.0, _BOUND, (lookback, n), np.float64)
    return boxes


gym.register("OpenOutcry/Synthetic-v1", entry_point="openoutcry.gym:OpenOutcryEnv")

__all__ = ["Observation", "OpenOutcryEnv", "OpenOutcryError"]
