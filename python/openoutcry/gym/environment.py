"""The scalar Gymnasium environment."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry import openoutcry_py as native
from openoutcry.arguments import check_row_names, costs_and_limits, lookback_of, one_of, seed_of, unmasked_array
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal
from openoutcry.gym.action_schemes import action_scheme, brackets_of
from openoutcry.gym.episode_markets import Draw, EpisodeMarkets, check_split, episode_markets
from openoutcry.gym.episodes import Episodes, finite
from openoutcry.gym.lane_actions import joined_holds, one_lane
from openoutcry.gym.market_arguments import N_DAYS, N_SYMBOLS, Market, limits_of
from openoutcry.gym.observed_columns import observation_labels, observed_columns
from openoutcry.gym.rendering import MODES, frame_of, render_mode_of
from openoutcry.gym.replaced_markets import replaced_markets
from openoutcry.gym.rewards import Reward, reward_scheme
from openoutcry.gym.settings import (
    INFOS,
    ON_INVALID,
    KnownArguments,
    Setting,
    changed_settings,
    checked_options,
    option_hint,
    refuse_assignments,
)
from openoutcry.gym.spaces import OBSERVATIONS, observation_space, space_of
from openoutcry.gym.step_info import full_info, light_info
from openoutcry.openoutcry_py import CostModel, Limits, State

Observation = Any
_Native: TypeAlias = tuple[native.TradingEnv, native.Episodes]
_Settings: TypeAlias = tuple[CostModel, Limits, Episodes]


@refuse_assignments
class OpenOutcryEnv(KnownArguments, gym.Env[Observation, npt.NDArray[np.float32]]):
    """A market to trade bar by bar.

    An action is decided at a close, filled at the next open and rewarded at the next close.

    Action: target weights, shape `(n,)`, float32, signed fractions of NAV, unless another `action` is given.

    Observation `dict`, float64: `closes` `(n,)`, account currency, 0 for an unlisted symbol; `positions` `(n,)`,
    shares; `cash` `(1,)`; in a market with listings or delistings `listed` `(n,)`, int8; with `lookback` also `history`
    `(lookback, n)`, oldest first, 0 before the listing. `flat`, float32 `(lookback n + n + 1,)`: log returns bar by
    bar, oldest first, 0 for a missing close; current weights; cash over NAV. `cursor`: the index of the bar, and
    `account` `(n + 1,)`, weights and cash, for learners that look up the history themselves.

    Reward: simple return of NAV, at ruin less the gains so far, unless another `reward` is given. `terminated` is ruin
    or liquidation, `truncated` the end of the window.

    `info` has the same keys, types and shapes in `reset` and `step`: `nav`; in a market with listings or delistings
    also `tradable` `(n,)`, bool, the symbols that can be traded; with `on_invalid="hold"` also `invalid_action`, bool.
    With `info="full"`, also `date`; `costs` by kind; `dividends`, `interest`, `settlement` and `turnover`; `events`,
    the number of events by slug; `limits`, the number of orders that each limit cut; and the `reward_scheme`.

    The constructor fixes the market. `reset(seed=s)` fixes the sequence of episodes: the window of episode k is a
    function of s and k, and `reset()` starts the next episode. If the first `reset` has no seed, the system draws one.

    Args:
        n_symbols: Number of symbols of the synthetic market, 4 by default; or the market, like `dataset`.
        n_days: Number of days of the synthetic market, 120 by default.
        seed: Seed of the synthetic market and of the slippage noise. With a `Dataset` it only keys that noise, which
            matters only if `slippage_jitter` is above 0.
        dataset: A market instead of the synthetic one: a `Dataset`, the name of a bundled one, `synthetic` (1,260 days
            unless `n_days` is given), the path of a file or snapshot, a `Scenario`, a `ScenarioSpec` or the name of a
            tier or family; the last two are generated from `seed` and `split`. A file that needs options of the reader
            is `Dataset.from_csv(path, tz=...)`.
        datasets: Rule that draws the market of each episode from the list `dataset`: `cycle`, `random`, or a function
            from the seed of the stream and the number of the episode to an index. Markets with fewer symbols are
            padded with symbols that are never listed.
        window: Bars or dates `[start, end)` of every episode, or `random` for a random window per episode.
        within: Range that random windows are drawn from; None for the range of `window=None`.
        episode_bars: Number of bars of a random window; None for 252.
        split: `train`, `validation` or `test`: a key of random windows, drawn markets and markets of a tier or spec.
        costs: Cost model; None for the defaults of `CostModel`.
        limits: Limits on actions; None for the defaults of `Limits`.
        observation: `dict`, `flat` or `cursor`.
        lookback: Number of bars of history; None for no history, or for 20 if `observation="flat"`.
        history: Columns of the history of a dict observation, `(lookback, n, n_columns)`: `open`, `high`, `low`,
            `close`, `volume` or features, on the share basis of the last bar; None for closes, `(lookback, n)`.
        mask: Whether a dict observation has `listed`, and another one a column `listed` in every bar; None for a dict
            of a market with listings or delistings, of drawn markets, and for padded markets.
        features: Observed columns: names of features of the market, or `open`, `high`, `low`, `close`, `volume`; None
            for all features of the market. A dict observation has those of symbols in `features`, `(n, n_features)`,
            and those of the market in `market_features`; a flat one has them in every bar, after the log returns.
        scale: Normalization of `features`: `none`, `expanding` by mean and deviation of all bars so far, or `window`
            by those of the last 252; 0 before two different values are known.
        reward: `simple`, `log`, `differential-sharpe`, `drawdown` or `turnover`; a dict of weights by term, such as
            `{"log": 1.0, "turnover-penalty": 0.001}`; or a function from `rewards.StepFigures` to one reward per lane.
        reward_parameter: Rate of the differential Sharpe ratio (0.01), or penalty per drawdown (1) or turnover (0.001).
        action: `weights`; `parts`, numbers in [-1, 1] in units of NAV over n; `softmax`, `(n + 1,)` numbers in [-1, 1],
            cash last; `discrete`, the index of a level, for one symbol; `multi-discrete`, one per symbol; or `bracket`,
            `(n, 3)`: weight, and distances of a stop loss and a take profit from the close, in [-1, 1), 0 for none.
        levels: Levels of discrete actions, in units of NAV over n, and at most one `hold`; None for short, flat and
            long, or flat and long if shorts are not allowed.
        no_trade_band: An order that changes a weight by less than this is a hold.
        max_weight: Shorthand for `Limits(max_weight=...)`.
        allow_short: Shorthand for `Limits(allow_short=...)`.
        render_mode: `ansi` for a line of text, `rgb_array` for an image.
        info: `light`, numbers that every library can store, or `full`.
        on_invalid: `raise` an error for an action with a NaN or an infinity, or `hold` all positions.

    Raises:
        OpenOutcryError: an argument is invalid: the window, a cost, a limit, both `limits` and a shorthand, both
            `dataset` and a size, or an unknown name.
    """

    metadata: dict[str, Any] = {"render_modes": [*MODES], "render_fps": 12}  # noqa: RUF012 as in Gymnasium
    dataset = Setting[Dataset](f"{option_hint('dataset')}; `datasets` draws one per episode")
    costs = Setting[CostModel](option_hint("costs"))
    limits = Setting[Limits](option_hint("limits"))

    def __init__(
        self,
        n_symbols: int | Market = N_SYMBOLS,
        n_days: int = N_DAYS,
        seed: int = 7,
        *,
        dataset: Market | Sequence[Market] | None = None,
        datasets: Draw | None = None,
        window: Window | tuple[Edge, Edge] | str | None = None,
        within: Window | tuple[Edge, Edge] | str | None = None,
        episode_bars: int | None = None,
        split: str = "train",
        costs: CostModel | None = None,
        limits: Limits | None = None,
        observation: str = "dict",
        lookback: int | None = None,
        history: Sequence[str] | None = None,
        mask: bool | None = None,
        features: Sequence[str] | None = None,
        scale: str = "none",
        reward: Reward = "simple",
        reward_parameter: float | None = None,
        action: str = "weights",
        levels: Sequence[float | str] | None = None,
        no_trade_band: float = 0.0,
        max_weight: float | None = None,
        allow_short: bool | None = None,
        render_mode: str | None = None,
        info: str = "light",
        on_invalid: str = "raise",
    ) -> None:
        self.render_mode, self._is_seeded = render_mode_of(render_mode), False
        self._kind, self._lookback = one_of("observation", observation, OBSERVATIONS), lookback
        self._shown = native.DEFAULT_LOOKBACK if lookback is None else lookback_of(lookback)
        self._is_full = one_of("info", info, INFOS) == "full"
        self._holds_invalid = one_of("on_invalid", on_invalid, ON_INVALID) == "hold"
        costs, limits = costs_and_limits(costs, limits_of(limits, max_weight, allow_short))
        episodes = Episodes(window, within, episode_bars, split)
        self._seed, self._band = seed_of(seed), finite("no_trade_band", no_trade_band)
        self._markets = markets = episode_markets((n_symbols, n_days), self._seed, dataset, split, datasets, None)
        check_split(episodes, markets)
        self._reward = reward_scheme(reward, reward_parameter)
        self._observed = observed_columns(markets, features, scale, (self._kind, lookback, history, mask))
        self._scheme = action_scheme(action, levels, markets.n_symbols, [limits])
        self._prepare((costs, limits, episodes))

    def _prepare(self, settings: _Settings) -> None:
        """Create the native environment and the spaces."""
        markets, (_, limits, episodes) = self._markets, settings
        self._datasets, self._reward_scheme = markets.datasets, self._reward.name
        self._adopt(markets.datasets[0], settings, self._checked(markets, markets.datasets[0], settings))
        self._is_ready = not (episodes.is_random or markets.changes)
        self._navs: list[float] = []
        self.action_space: spaces.Space[Any] = space_of(self._scheme, markets.n_symbols, [limits])
        shape = markets.n_symbols, self._lookback, markets.n_bars
        self.observation_space: spaces.Space[Any] = observation_space(self._kind, *shape, self._observed)

    def _checked(self, markets: EpisodeMarkets, market: Dataset, settings: _Settings) -> dict[int, _Native]:
        """Return the native environment of a market, after a check in all markets."""
        for each in markets.datasets:
            settings[2].on(each, self._shown)
        return {id(market): self._native(market, settings)}

    def _native(self, market: Dataset, settings: _Settings) -> _Native:
        """Return the native environment and stream of a market."""
        costs, limits, episodes = settings
        start, end, n_bars, split = episodes.on(market, self._shown)
        core = native.TradingEnv.from_dataset(
            market._core,
            window=(start, end),
            costs=costs,
            limits=limits,
            lookback=self._shown,
            seed=self._seed,
            shaping=(self._reward.engine, self._reward.parameter, self._band),
            observed=self._observed.native,
        )
        return core, native.Episodes((start, end), n_bars, split, market.n_bars)

    def _adopt(self, market: Dataset, settings: _Settings, natives: dict[int, _Native]) -> None:
        """Use a market and settings, with their native environments by market."""
        self._dataset, (self._costs, self._limits, self._windows) = market, settings
        self._natives, (self._core, self._stream) = natives, natives[id(market)]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the next episode; with a seed, the first episode of that seed.

        Args:
            seed: Seed of the stream of episodes; None for the next episode.
            options: New `costs`, `limits`, `window`, `within`, `episode_bars` or `dataset`, as in the constructor, from
                this episode on. Spaces stay: other limits cut actions, and markets need the features and symbols.

        Returns:
            Observation and `info`.

        Raises:
            OpenOutcryError: the seed or an option is invalid; the state is unchanged.
        """
        place = self._stream.place
        if seed is not None or not self._is_seeded:
            place = (secrets.randbits(64) if seed is None else seed_of(seed), 0)
        changes, natives = checked_options(options), self._natives
        markets = replaced_markets(self._markets, changes, self._seed, self._observed, self._arguments, None)
        market = markets.datasets[markets.of_episode(*place)]
        settings: _Settings = (self.costs, self.limits, self._windows)
        if changes:
            settings = changed_settings(settings, changes)
            natives = self._checked(markets, market, settings)
        elif id(market) not in natives:
            natives[id(market)] = self._native(market, settings)
        super().reset(seed=seed)
        self._markets, self._datasets = markets, markets.datasets
        self._adopt(market, settings, natives)
        self._stream.place = place
        self._is_seeded = self._is_ready = True
        self._core.begin(*self._stream.next())
        self._navs = [self._core.nav]
        return self._observe(), self._info(False)

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
        weights, mask = self._target(action, hold)
        if not self._is_ready:
            message = "a step needs a running episode; received a step before the first `reset`"
            raise refusal("episode_over", message)
        if is_invalid := self._holds_invalid and not np.isfinite(weights).all():
            weights, mask = np.zeros_like(weights), np.ones(weights.shape, dtype=np.bool_)
        reward = self._core.step_weights(weights, mask, brackets_of(self._scheme))
        if self._reward.function is not None:
            reward = self._reward.of_lane(self._core)
        if self.render_mode is not None:
            self._navs.append(self._core.nav)
        return self._observe(), reward, self._core.terminated, self._core.truncated, self._info(is_invalid)

    def _target(self, action: Any, hold: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_] | None]:
        """Return the target weights of an action, and the symbols to hold."""
        symbols = self.dataset.symbols
        named = (("action", action, symbols if self._scheme is None else ()), ("hold", hold, symbols))
        for name, values, labels in named:
            if not isinstance(values, np.ndarray):
                check_row_names(name, values, labels)
        given = unmasked_array("action", action)
        if self._scheme is not None:
            (row,), masks = self._scheme.read(one_lane(given, self.action_space), 1)
            return row, joined_holds(None if masks is None else masks[0], hold, row.shape)
        if given.dtype.kind not in "fiu" or given.shape != (len(symbols),):
            wanted = f"an action must be numbers of shape {(len(symbols),)}"
            raise refusal("weight_count", f"{wanted}; received {given.dtype} {given.shape}")
        # Widening float32 is exact: the weights equal those of the JSON interface.
        return given.astype(np.float64), joined_holds(None, hold, given.shape)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the valid choices of a discrete action, as MaskablePPO reads them.

        Shape `(n * n_levels,)`. A symbol that is not listed has one valid level: `hold`, or the one nearest to 0.

        Raises:
            OpenOutcryError: `argument_invalid`: the action is not discrete.
        """
        if self._scheme is None:
            raise refusal("argument_invalid", "`action_masks` needs discrete actions; received weights")
        listed: npt.NDArray[np.bool_] = self._arrays()["listed"][np.newaxis] != 0
        masks: npt.NDArray[np.bool_] = self._scheme.masks(listed)[0]
        return masks

    @property
    def events(self) -> list[dict[str, Any]]:
        """Events of the last step in order; none after a reset or a restored state."""
        events: list[dict[str, Any]] = self._core.info()["events"]
        return events

    @property
    def date(self) -> str:
        """Date of the last observation."""
        return self.dataset.dates[self._core.bar]

    @property
    def observation_labels(self) -> dict[str, list[str]]:
        """Labels of the numbers of an observation, by key."""
        return observation_labels(self._kind, self.dataset.symbols, self._shown, self._observed)

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
        return frame_of(self.render_mode, self._navs, self._arrays(), self.dataset.symbols, self.date)

    def __getstate__(self) -> dict[str, Any]:
        saved = {name: value for name, value in self.__dict__.items() if name not in ("_core", "_stream", "_natives")}
        return saved | {"_saved": (self._core.clone_state(), self._stream.place)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__ |= saved
        state, place = self.__dict__.pop("_saved")
        settings = (self.costs, self.limits, self._windows)
        self._adopt(self.dataset, settings, {id(self.dataset): self._native(self.dataset, settings)})
        self._stream.place = place
        self._core.begin(*state.window)
        self._core.restore_state(state)

    def _observe(self) -> Observation:
        if self._kind == "dict":
            arrays = self._arrays()
            return arrays if self._observed.mask else {name: arrays[name] for name in arrays if name != "listed"}
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
            observation["history"] = np.empty(self._observed.window_shape(self._lookback, n))
        if names := self._observed.symbol_names:
            observation["features"] = np.empty((n, len(names)))
        if names := self._observed.market_names:
            observation["market_features"] = np.empty(len(names))
        windows = observation.get("history")
        observation["cash"][0] = self._core.observe_into(
            observation["closes"],
            observation["positions"],
            observation["listed"],
            None if windows is None else windows.reshape(len(windows), -1),
            *(observation.get(name) for name in ("features", "market_features")),
        )
        return observation

    def _info(self, is_invalid: bool) -> dict[str, Any]:
        info = full_info(self._core.info(), self.reward_scheme) if self._is_full else light_info(self._core.nav)
        if self._markets.has_listing_changes:
            info["tradable"] = self._arrays()["listed"] != 0
        if self._holds_invalid:
            info["invalid_action"] = is_invalid
        return info
