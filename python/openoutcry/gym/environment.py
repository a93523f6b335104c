"""The scalar Gymnasium environment."""

from __future__ import annotations

import secrets
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry import data
from openoutcry import openoutcry_py as native
from openoutcry.arguments import lookback_of, plain, rules_of, seed_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal
from openoutcry.gym.episodes import Episodes, finite, scheme_of
from openoutcry.gym.spaces import action_space, observation_of, observation_space
from openoutcry.openoutcry_py import CostModel, Limits, State
from openoutcry.scenarios.scenario import NAMES as TIERS
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

Observation = Any
"""A dict of arrays, or one array where `observation="flat"`."""


class Default(int):
    """A default that can be told from the same number given."""


N_SYMBOLS, N_DAYS = Default(4), Default(120)


class OpenOutcryEnv(gym.Env[Observation, npt.NDArray[np.float32]]):
    """A market to trade bar by bar.

    Decide at a close, fill at the next open, be paid at the next close.

    Action: target weights, shape `(n,)`, float32, signed fractions of NAV.

    Observation `dict`, float64 but the mask: `closes` `(n,)`, account currency, 0 where a symbol is not listed;
    `listed` `(n,)`, int8; `positions` `(n,)`, shares; `cash` `(1,)`; with `lookback` also `history` `(lookback, n)`,
    oldest first, 0 before a listing. `flat`, float32 `(lookback n + n + 1,)`: log returns, bar after bar, oldest first,
    0 where a close is missing; weights held; cash over NAV. `cursor`: the index of the bar, and `account`
    `(n + 1,)`, the weights and the cash, for learners that gather the history themselves.

    Reward: simple return of NAV, unless another scheme is named. `terminated` is ruin or liquidation, `truncated` the
    window's end. `info` holds `nav`, `date`, `events`, the costs paid by kind and the `reward_scheme`; in a market
    where symbols come and go also `tradable` `(n,)`, bool: which of them can be held.

    The market is fixed by the constructor. `reset(seed=s)` fixes the stream of episodes: the window of episode k is a
    function of s and k, and a bare `reset` goes on to the next one. A first `reset` that is bare draws a seed from the
    system.

    Args:
        n_symbols: Symbols of the synthetic market, 4 by default.
        n_days: Days of the synthetic market, 120 by default.
        seed: Seed of the synthetic market and of the slippage noise. With a `dataset` that is made already it is the
            key of that noise alone, which matters only where `slippage_jitter` is above 0.
        dataset: A market to use instead, or the name of a bundled one; or a `Scenario`; or a `ScenarioSpec` or the name
            of a tier or family, whose market is that of `seed` and `split`. The sizes are then its own.
        window: Bars or dates `[start, end)` of every episode, or `random` for a window of its own in each.
        within: The range that random windows are drawn from; None for what `window=None` would be.
        episode_bars: Bars of a random window; None for 252.
        split: `train`, `validation` or `test`: streams of different splits share no draw, specs no market.
        costs: What trading costs; None for the defaults of `CostModel`.
        limits: What an action may ask for; None for the defaults of `Limits`.
        observation: `dict`, `flat` or `cursor`.
        lookback: Bars of history; None for no history, and for 20 where `observation="flat"`.
        reward: `simple`, `log`, `differential-sharpe`, `drawdown` or `turnover`. It shapes training; no score sees it.
        reward_parameter: Rate of the differential Sharpe ratio (0.01), or penalty per drawdown (1) or turnover (0.001).
        no_trade_band: An order that moves a weight by less is a hold.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.
        render_mode: `ansi` for a line of text, `rgb_array` for a picture.

    Raises:
        OpenOutcryError: an argument cannot be used: the window, a cost, a limit, both `limits` and a shorthand for it,
            both `dataset` and a size, or an unknown name.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 12}  # noqa: RUF012 as in Gymnasium

    def __init__(
        self,
        n_symbols: int = N_SYMBOLS,
        n_days: int = N_DAYS,
        seed: int = 7,
        *,
        dataset: Dataset | Scenario | ScenarioSpec | str | None = None,
        window: Window | tuple[Edge, Edge] | str | None = None,
        within: Window | tuple[Edge, Edge] | str | None = None,
        episode_bars: int | None = None,
        split: str = "train",
        costs: CostModel | None = None,
        limits: Limits | None = None,
        observation: str = "dict",
        lookback: int | None = None,
        reward: str = "simple",
        reward_parameter: float | None = None,
        no_trade_band: float = 0.0,
        max_weight: float | None = None,
        allow_short: bool | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            message = f"`render_mode` must be ansi, rgb_array or None; received {render_mode!r}"
            raise refusal("argument_invalid", message)
        shown = native.DEFAULT_LOOKBACK if lookback is None else lookback_of(lookback)
        self.costs, self.limits = rules_of(costs, limits_of(limits, max_weight, allow_short))
        episodes = Episodes(window, within, episode_bars, split)
        self.dataset = market_of(n_symbols, n_days, seed_of(seed), dataset, split)
        self.render_mode = render_mode
        self.reward_scheme, parameter = scheme_of(reward, reward_parameter)
        start, end, n_bars, split = episodes.on(self.dataset, shown)
        self._episodes = native.Episodes((start, end), n_bars, split, self.dataset.n_bars)
        self._core = native.TradingEnv.from_dataset(
            self.dataset._core,
            window=(start, end),
            costs=self.costs,
            limits=self.limits,
            lookback=shown,
            seed=seed,
            shaping=(self.reward_scheme, parameter, finite("no_trade_band", no_trade_band)),
        )
        self._kind, self._lookback = observation_of(observation), lookback
        self._is_seeded, self._is_ready = False, not episodes.is_random
        self._comes_and_goes = comes_and_goes(self.dataset, start)
        self._navs: list[float] = []
        n = self.dataset.n_symbols
        self.action_space: spaces.Box = action_space(n, [self.limits])  # type: ignore[assignment]
        self.observation_space: spaces.Space[Any] = observation_space(self._kind, n, lookback, self.dataset.n_bars)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the next episode; with a seed, the first one of its stream."""
        given = None if seed is None else seed_of(seed)
        super().reset(seed=seed)
        if given is not None or not self._is_seeded:
            self._episodes.seed(secrets.randbits(64) if given is None else given)
        self._is_seeded = self._is_ready = True
        self._core.begin(*self._episodes.next())
        self._navs = [self._core.nav]
        return self._observe(), self._info()

    def step(
        self, action: npt.NDArray[np.float32], hold: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Trade to target weights and move on by one bar.

        Args:
            action: Target weights, shape `(n,)`, signed fractions of NAV.
            hold: Shape `(n,)`, bool: symbols to leave as they are, whatever their weight says; None for none.

        Raises:
            OpenOutcryError: an array has the wrong shape or a weight is not finite, or the episode is over; nothing
                has moved.
        """
        weights = plain("action", action)
        if weights.dtype.kind not in "fiu" or weights.shape != self.action_space.shape:
            wanted = f"an action must be numbers of shape {self.action_space.shape}"
            raise refusal("weight_count", f"{wanted}; received {weights.dtype} {weights.shape}")
        if not self._is_ready:
            message = "a step needs a running episode; received a step before the first `reset`"
            raise refusal("episode_over", message)
        # float32 widens exactly: the same weights as JSON would say.
        reward = self._core.step_weights(weights.astype(np.float64), None if hold is None else _mask(hold, weights))
        if self.render_mode is not None:
            self._navs.append(self._core.nav)
        return self._observe(), reward, self._core.terminated, self._core.truncated, self._info()

    def clone_state(self) -> State:
        """Return a checkpoint of the account, in O(symbols)."""
        return self._core.clone_state()

    def restore_state(self, state: State) -> Observation:
        """Go back to a checkpoint of this environment and return its observation.

        Raises:
            OpenOutcryError: `state_mismatch`: the checkpoint is of another market or another window.
        """
        self._core.restore_state(state)
        self._navs = [self._core.nav]
        return self._observe()

    def render(self) -> Any:
        """Return the account as text or as a picture, shape `(400, 640, 3)`, uint8."""
        if self.render_mode is None:
            gym.logger.warn("`render` needs a `render_mode`: gymnasium.make(..., render_mode='ansi')")
            return None
        observation = self._arrays()
        date, cash = self._core.info()["date"], float(observation["cash"][0])
        nav = self._core.nav
        held = observation["positions"] * observation["closes"] / (nav or 1.0)
        if self.render_mode == "ansi":
            weights = "  ".join(f"{s} {w:+.1%}" for s, w in zip(self.dataset.symbols, held, strict=True) if w)
            return f"{date}  NAV {nav:.4f}  cash {cash:+.4f}  {weights or 'flat'}\n"
        from openoutcry.report.charts.raster import render_frame

        return render_frame(self._navs, held, self.dataset.symbols, date, cash)

    def __reduce__(self) -> Any:
        hint = "pickle what makes it instead, and go back to a bar with `clone_state` and `restore_state`"
        raise TypeError(f"an OpenOutcryEnv can be neither pickled nor copied: {hint}")

    def _observe(self) -> Observation:
        if self._kind == "dict":
            return self._arrays()
        if self._kind == "flat":
            flat = np.empty(self.observation_space.shape or (), dtype=np.float32)
            self._core.observe_flat(flat)
            return flat
        account = np.empty(self.dataset.n_symbols + 1, dtype=np.float32)
        self._core.observe_account(account)
        return {"account": account, "cursor": np.int64(self._core.bar)}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        n = self.dataset.n_symbols
        observation: dict[str, npt.NDArray[Any]] = {
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

    def _info(self) -> dict[str, Any]:
        info = self._core.info()
        info["reward_scheme"] = self.reward_scheme
        if self._comes_and_goes:
            info["tradable"] = self._arrays()["listed"] != 0
        return info


def market_of(n_symbols: int, n_days: int, seed: int, dataset: Any, split: str) -> Dataset:
    """Return the market of an environment's arguments."""
    if dataset is None:
        return Dataset.synthetic(n_symbols, n_days, seed)
    if n_symbols is not N_SYMBOLS or n_days is not N_DAYS:
        sizes = "`n_symbols` and `n_days`, which are of a synthetic market"
        hint = "hint: ScenarioSpec('hard', n_symbols=8) has sizes of its own"
        raise refusal("argument_invalid", f"`dataset` must be None beside {sizes}; received both; {hint}")
    if isinstance(dataset, ScenarioSpec) or (isinstance(dataset, str) and dataset in TIERS):
        dataset = Scenario(dataset, seed, split=split)
    if isinstance(dataset, Scenario):
        return dataset.dataset()
    if isinstance(dataset, str):
        if dataset not in data.names():
            known = ", ".join([*data.names(), *TIERS])
            raise refusal("unknown_dataset", f"a dataset must be one of {known}; received {dataset!r}")
        return data.load(dataset)
    if not isinstance(dataset, Dataset):
        wanted = "a Dataset, a Scenario, a ScenarioSpec, the name of a bundled market or a tier, or None"
        raise refusal("argument_invalid", f"`dataset` must be {wanted}; received {type(dataset).__name__}")
    return dataset


def limits_of(limits: Limits | None, max_weight: float | None, allow_short: bool | None) -> Limits | None:
    """Return the limits that are given, in full or by their shorthands."""
    if limits is None:
        return Limits(max_weight=max_weight, allow_short=allow_short)
    if max_weight is not None or allow_short is not None:
        shorthands = "`max_weight` and `allow_short`, which are shorthands for it"
        raise refusal("limit_invalid", f"`limits` must be None beside {shorthands}; received both")
    return limits


def comes_and_goes(dataset: Dataset, start: int) -> bool:
    """Return whether symbols may come and go.

    They may where one has not listed by bar `start`, or the data has settlements.
    Whether any settles is not asked: that would tell the future.
    """
    return dataset.delistings is not None or bool(np.isnan(dataset.close[: start + 1]).all(axis=0).any())


def _mask(hold: Any, weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    mask = plain("hold", hold)
    if mask.shape != weights.shape or mask.dtype != np.bool_:
        message = f"`hold` must be booleans of shape {weights.shape}; received {mask.dtype} {mask.shape}"
        raise refusal("shape_mismatch", message)
    return mask
