"""The scalar Gymnasium environment."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry import openoutcry_py as native
from openoutcry.arguments import (
    check_row_names,
    costs_and_limits,
    is_frame,
    is_integer,
    lookback_of,
    seed_of,
    type_of,
    unmasked_array,
)
from openoutcry.data.dataset import Dataset
from openoutcry.data.market_source import open_market
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal
from openoutcry.gym.episodes import Episodes, finite
from openoutcry.gym.observed_columns import observed_columns
from openoutcry.gym.rewards import Reward, reward_scheme
from openoutcry.gym.spaces import action_space, observation_of, observation_space
from openoutcry.openoutcry_py import CostModel, Limits, State
from openoutcry.scenarios.scenario import NAMES as TIERS
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

Observation = Any
"""A dict of arrays, or one array where `observation="flat"`."""
Market: TypeAlias = "Dataset | Scenario | ScenarioSpec | str | os.PathLike[str]"


class Default(int):
    """A default value that is distinct from an equal number passed by the user."""


N_SYMBOLS, N_DAYS = Default(4), Default(120)
REQUIRED = ""
"""Value of `dataset` in an environment id that has no market of its own."""


class OpenOutcryEnv(gym.Env[Observation, npt.NDArray[np.float32]]):
    """A market to trade bar by bar.

    An action is decided at a close, filled at the next open and rewarded at the next close.

    Action: target weights, shape `(n,)`, float32, signed fractions of NAV.

    Observation `dict`, float64 except `listed`: `closes` `(n,)`, account currency, 0 for an unlisted symbol; `listed`
    `(n,)`, int8; `positions` `(n,)`, shares; `cash` `(1,)`; with `lookback` also `history` `(lookback, n)`, oldest
    first, 0 before the listing. `flat`, float32 `(lookback n + n + 1,)`: log returns bar by bar, oldest first, 0 for a
    missing close; current weights; cash over NAV. `cursor`: the index of the bar, and `account` `(n + 1,)`, weights
    and cash, for learners that look up the history themselves.

    Reward: simple return of NAV, at ruin less the gains so far, unless another `reward` is given. `terminated` is ruin
    or liquidation, `truncated` the end of the window. `info` holds `nav`, `date`, `events`, the costs by kind and the
    `reward_scheme`; in a market with listings or delistings also `tradable` `(n,)`, bool: the symbols that can be
    traded.

    The constructor fixes the market. `reset(seed=s)` fixes the sequence of episodes: the window of episode k is a
    function of s and k, and `reset()` starts the next episode. If the first `reset` has no seed, the system draws one.

    Args:
        n_symbols: Number of symbols of the synthetic market, 4 by default; or the market, like `dataset`.
        n_days: Number of days of the synthetic market, 120 by default.
        seed: Seed of the synthetic market and of the slippage noise. With a `Dataset` it only keys that noise, which
            matters only if `slippage_jitter` is above 0.
        dataset: A market instead of the synthetic one: a `Dataset`, the name of a bundled one, the path of a file or
            snapshot, a `Scenario`, a `ScenarioSpec` or the name of a tier or family; the last two are generated from
            `seed` and `split`. A file that needs options of the reader is `Dataset.from_csv(path, tz=...)`.
        window: Bars or dates `[start, end)` of every episode, or `random` for a random window per episode.
        within: Range that random windows are drawn from; None for the range of `window=None`.
        episode_bars: Number of bars of a random window; None for 252.
        split: `train`, `validation` or `test`; different splits have different random windows and scenario markets.
        costs: Cost model; None for the defaults of `CostModel`.
        limits: Limits on actions; None for the defaults of `Limits`.
        observation: `dict`, `flat` or `cursor`.
        lookback: Number of bars of history; None for no history, or for 20 if `observation="flat"`.
        features: Observed columns: names of features of the market, or `open`, `high`, `low`, `close`, `volume`; None
            for all features of the market. A dict observation has those of symbols in `features`, `(n, n_features)`,
            and those of the market in `market_features`; a flat one has them in every bar, after the log returns.
        scale: Normalization of `features`: `none`, `expanding` by mean and deviation of all bars so far, or `window`
            by those of the last 252; 0 before two different values are known.
        reward: `simple`, `log`, `differential-sharpe`, `drawdown` or `turnover`; a dict of weights by term, such as
            `{"log": 1.0, "turnover-penalty": 0.001}`; or a function from `openoutcry.gym.rewards.StepFigures` to an
            array of one reward per lane. It shapes training, not scores.
        reward_parameter: Rate of the differential Sharpe ratio (0.01), or penalty per drawdown (1) or turnover (0.001).
        no_trade_band: An order that changes a weight by less than this is a hold.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.
        render_mode: `ansi` for a line of text, `rgb_array` for an image.

    Raises:
        OpenOutcryError: an argument is invalid: the window, a cost, a limit, both `limits` and a shorthand, both
            `dataset` and a size, or an unknown name.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 12}  # noqa: RUF012 as in Gymnasium

    def __init__(
        self,
        n_symbols: int | Market = N_SYMBOLS,
        n_days: int = N_DAYS,
        seed: int = 7,
        *,
        dataset: Market | None = None,
        window: Window | tuple[Edge, Edge] | str | None = None,
        within: Window | tuple[Edge, Edge] | str | None = None,
        episode_bars: int | None = None,
        split: str = "train",
        costs: CostModel | None = None,
        limits: Limits | None = None,
        observation: str = "dict",
        lookback: int | None = None,
        features: Sequence[str] | None = None,
        scale: str = "none",
        reward: Reward = "simple",
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
        self.costs, self.limits = costs_and_limits(costs, limits_of(limits, max_weight, allow_short))
        episodes = Episodes(window, within, episode_bars, split)
        self.dataset = market_of(n_symbols, n_days, seed_of(seed), dataset, split)
        self.render_mode, self._is_seeded = render_mode, False
        self._reward = reward_scheme(reward, reward_parameter)
        start, end, n_bars, split = episodes.on(self.dataset, shown)
        self._observed = observed_columns([self.dataset], features, scale)
        self._episodes = native.Episodes((start, end), n_bars, split, self.dataset.n_bars)
        self._core = native.TradingEnv.from_dataset(
            self.dataset._core,
            window=(start, end),
            costs=self.costs,
            limits=self.limits,
            lookback=shown,
            seed=seed,
            shaping=(self._reward.engine, self._reward.parameter, finite("no_trade_band", no_trade_band)),
            observed=self._observed.native,
        )
        self._kind, self._lookback = observation_of(observation), lookback
        self._is_ready = not episodes.is_random
        self._prepare(start)

    def _prepare(self, start: int) -> None:
        self._has_listing_changes = has_listing_changes(self.dataset, start)
        self._navs: list[float] = []
        n, n_bars = self.dataset.n_symbols, self.dataset.n_bars
        self.action_space: spaces.Box = action_space(n, [self.limits])  # type: ignore[assignment]
        self.observation_space: spaces.Space[Any] = observation_space(
            self._kind, n, self._lookback, n_bars, self._observed
        )

    @property
    def reward_scheme(self) -> str:
        """Name of the reward scheme or function, or its terms with their weights."""
        return self._reward.name

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the next episode; with a seed, the first episode of that seed."""
        checked = None if seed is None else seed_of(seed)
        super().reset(seed=seed)
        if checked is not None or not self._is_seeded:
            self._episodes.seed(secrets.randbits(64) if checked is None else checked)
        self._is_seeded = self._is_ready = True
        self._core.begin(*self._episodes.next())
        self._navs = [self._core.nav]
        return self._observe(), self._info()

    def step(
        self, action: npt.NDArray[np.float32], hold: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Trade to target weights and advance one bar.

        Args:
            action: Target weights, shape `(n,)`, signed fractions of NAV.
            hold: Shape `(n,)`, bool: symbols to hold regardless of their weight; None to trade all.

        Returns:
            Observation, reward, `terminated`, `truncated` and `info`.

        Raises:
            OpenOutcryError: an array has the wrong shape, a weight is not finite, or the episode is over; the state is
                unchanged. Or the values of a reward function are invalid; the state is that after the step.
        """
        for name, values in (("action", action), ("hold", hold)):
            if not isinstance(values, np.ndarray):
                check_row_names(name, values, self.dataset.symbols)
        weights = unmasked_array("action", action)
        if weights.dtype.kind not in "fiu" or weights.shape != self.action_space.shape:
            wanted = f"an action must be numbers of shape {self.action_space.shape}"
            raise refusal("weight_count", f"{wanted}; received {weights.dtype} {weights.shape}")
        if not self._is_ready:
            message = "a step needs a running episode; received a step before the first `reset`"
            raise refusal("episode_over", message)
        # Widening float32 is exact: the weights equal those of the JSON interface.
        reward = self._core.step_weights(
            weights.astype(np.float64), None if hold is None else _hold_mask(hold, weights)
        )
        if self._reward.function is not None:
            reward = self._reward.of_lane(self._core)
        if self.render_mode is not None:
            self._navs.append(self._core.nav)
        return self._observe(), reward, self._core.terminated, self._core.truncated, self._info()

    def clone_state(self) -> State:
        """Return a checkpoint of the account; O(n_symbols)."""
        return self._core.clone_state()

    def restore_state(self, state: State) -> Observation:
        """Restore a checkpoint of this environment and return its observation.

        Raises:
            OpenOutcryError: `state_mismatch`: the checkpoint belongs to another market or window.
        """
        self._core.restore_state(state)
        self._navs = [self._core.nav]
        return self._observe()

    def render(self) -> Any:
        """Return the account as text, or as an image of shape `(400, 640, 3)`, uint8."""
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
        hint = "pickle a function that creates it, or restore a bar with `clone_state` and `restore_state`"
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
        if names := self._observed.symbol_names:
            observation["features"] = np.empty((n, len(names)))
        if names := self._observed.market_names:
            observation["market_features"] = np.empty(len(names))
        observation["cash"][0] = self._core.observe_into(
            observation["closes"],
            observation["positions"],
            observation["listed"],
            *(observation.get(name) for name in ("history", "features", "market_features")),
        )
        return observation

    def _info(self) -> dict[str, Any]:
        info = self._core.info()
        info["reward_scheme"] = self.reward_scheme
        if self._has_listing_changes:
            info["tradable"] = self._arrays()["listed"] != 0
        return info


def market_of(n_symbols: Any, n_days: int, seed: int, dataset: Any, split: str) -> Dataset:
    """Return the dataset that the arguments of an environment describe."""
    if isinstance(n_symbols, (str, os.PathLike, Dataset, Scenario, ScenarioSpec)) and dataset is None:
        n_symbols, dataset = N_SYMBOLS, n_symbols
    if dataset is None and is_integer(n_symbols):
        return Dataset.synthetic(n_symbols, n_days, seed)
    if dataset is None:
        received = type_of(n_symbols) if is_frame(n_symbols) else repr(n_symbols)
        raise refusal("argument_invalid", f"`n_symbols` must be an integer of at least 1; received {received}")
    if n_symbols is not N_SYMBOLS or n_days is not N_DAYS:
        sizes = "`n_symbols` or `n_days`, which set the size of the synthetic market"
        hint = "hint: for a scenario, pass the size as ScenarioSpec('hard', n_symbols=8)"
        raise refusal("argument_invalid", f"`dataset` must be None with {sizes}; received both; {hint}")
    if isinstance(dataset, ScenarioSpec) or (isinstance(dataset, str) and dataset in TIERS):
        dataset = Scenario(dataset, seed, split=split)
    if isinstance(dataset, Scenario):
        return dataset.dataset()
    if isinstance(dataset, str) and dataset == REQUIRED:
        hint = 'hint: gymnasium.make("openoutcry.gym:OpenOutcry/Market-v1", dataset="prices.csv")'
        raise refusal("argument_invalid", f"`dataset` must be a market or the path of a file; received none; {hint}")
    if isinstance(dataset, (str, os.PathLike)):
        return open_market(dataset, others=TIERS)
    if not isinstance(dataset, Dataset):
        wanted = "a Dataset, a Scenario, a ScenarioSpec, the name of a bundled market or a tier, a path, or None"
        raise refusal("argument_invalid", f"`dataset` must be {wanted}; received {type_of(dataset)}")
    return dataset


def limits_of(limits: Limits | None, max_weight: float | None, allow_short: bool | None) -> Limits | None:
    """Return the limits of `limits` or of the shorthands."""
    if limits is None:
        return Limits(max_weight=max_weight, allow_short=allow_short)
    if max_weight is not None or allow_short is not None:
        shorthands = "`max_weight` or `allow_short`, which are shorthands for it"
        raise refusal("limit_invalid", f"`limits` must be None with {shorthands}; received both")
    return limits


def has_listing_changes(dataset: Dataset, start: int) -> bool:
    """Return whether symbols may list or delist during an episode.

    True if a symbol is unlisted at bar `start`, or if the dataset has a delisting column. Its values are not read: they
    would reveal the future.
    """
    return dataset.delistings is not None or bool(np.isnan(dataset.close[: start + 1]).all(axis=0).any())


def _hold_mask(hold: Any, weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    mask = unmasked_array("hold", hold)
    if mask.shape != weights.shape or mask.dtype != np.bool_:
        message = f"`hold` must be booleans of shape {weights.shape}; received {mask.dtype} {mask.shape}"
        raise refusal("shape_mismatch", message)
    return mask
