"""The native module: the JSON environment, and the parts of the Python core.

Meaning and units are those of `contract/README.md`. Every error is an `OpenOutcryError` whose `slug` is listed in
`contract/errors.json`; a refused call leaves its object unchanged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, SupportsIndex, TypeAlias, TypedDict, final, overload, type_check_only

import numpy as np
import numpy.typing as npt

from openoutcry.agents import Harness

__all__ = [
    "BASELINES",
    "BUILD_PROFILE",
    "CONFORMANCE_REPORT_SCHEMA",
    "CONTRACT_VERSION",
    "COST_KINDS",
    "DECISION_SCHEMA",
    "DEFAULT_LOOKBACK",
    "ENGINE_VERSION",
    "EVENTS",
    "GAINS",
    "LIMIT_REASONS",
    "MAX_ABS_WEIGHT",
    "OBSERVATION_SCHEMA",
    "REWARDS",
    "REWARD_TERMS",
    "SCENARIOS",
    "Baseline",
    "Batch",
    "Buffers",
    "Compressor",
    "CostModel",
    "CsvReader",
    "Dataset",
    "Dates",
    "Episodes",
    "Limits",
    "LogAudit",
    "LongRows",
    "MerkleTree",
    "NumberColumn",
    "OpenOutcryError",
    "Record",
    "Run",
    "RunReader",
    "Scenario",
    "Session",
    "SheetReader",
    "SheetStrings",
    "State",
    "Submission",
    "TableRuns",
    "TradingEnv",
    "annual_share",
    "at_cost",
    "bar_count_notices",
    "benjamini_hochberg",
    "block_length",
    "break_even_bps",
    "calibrate",
    "canonicalize",
    "capture_agent",
    "capture_callable",
    "capture_weights",
    "check_rows",
    "check_scenario_spec",
    "check_score_config",
    "conformance_files",
    "conformance_is_signed",
    "day_order_conformance_files",
    "decay",
    "decompress",
    "deflate",
    "drawdowns",
    "episode_market",
    "expected_max",
    "field_tests",
    "fill_commitment",
    "fill_noise",
    "forecast_effects",
    "forecast_intervals",
    "forecast_log_scores",
    "gross_exposure",
    "holm",
    "inferred_periods_per_year",
    "is_riskless",
    "last_decision",
    "log_record_fault",
    "log_submission",
    "long_run_products",
    "mean_test",
    "merkle_is_consistent",
    "merkle_is_included",
    "min_backtest_years",
    "min_track_record",
    "moments",
    "most_cash_return",
    "nav_of_blocks",
    "net_exposure",
    "normal_cdf",
    "normal_quantile",
    "overfit",
    "paired_forecasts",
    "parquet_columns",
    "passive_returns",
    "places_below",
    "power",
    "probabilistic_sharpe",
    "read_decision",
    "readable_message",
    "readable_text",
    "record_public_key",
    "regress",
    "resolve_window",
    "rolling_beta",
    "rolling_sharpe",
    "rolling_sortino",
    "rolling_volatility",
    "run_agent",
    "run_callable",
    "run_tables",
    "run_weights",
    "scenario_spec",
    "score_field",
    "score_run",
    "sharpe_errors",
    "sharpe_interval",
    "sign_conformance",
    "signed_sums",
    "split_columns",
    "summarize",
    "tie_bands",
    "tracking",
    "trades",
    "trials",
]

CONFORMANCE_REPORT_SCHEMA: str
CONTRACT_VERSION: str
DECISION_SCHEMA: str
ENGINE_VERSION: str
BUILD_PROFILE: str
OBSERVATION_SCHEMA: str
DEFAULT_LOOKBACK: int
MAX_ABS_WEIGHT: float
BASELINES: list[str]
COST_KINDS: list[str]
EVENTS: list[str]
GAINS: list[str]
LIMIT_REASONS: list[str]
REWARDS: list[str]
REWARD_TERMS: list[str]
SCENARIOS: list[str]

_Vector: TypeAlias = npt.NDArray[np.float64]
_Numbers: TypeAlias = npt.NDArray[np.uint32]
_Table: TypeAlias = npt.NDArray[np.float64]
_Places: TypeAlias = npt.NDArray[np.uint32]
_Whole: TypeAlias = npt.NDArray[np.int64]
_Bars: TypeAlias = tuple[int, int]
_Fills: TypeAlias = tuple[_Whole, _Whole, _Vector, _Vector]

class OpenOutcryError(ValueError):
    """A refused argument or step: `slug: <what is required>; received <value>`."""

    slug: str

@final
class CostModel:
    """The cost model. A field that is not given has its default.

    Args:
        fee_bps: Commission on slipped notional; 1.
        slippage_bps: Half-spread; 2, as large caps pay 1 to 5.
        slippage_jitter: Noise of the slippage as a fraction of it, in [0, 1]; 0.
        impact_bps: Square-root impact at 100 % participation, Y times daily volatility; 0, since it needs a volatility.
        stop_gap: Part of the way from a stop to the extreme of the bar by which it fills late, in [0, 1]; 0.
        financing_bps: Annual rate on borrowed cash; 100.
        cash_bps: Annual rate on idle cash, may be negative; 0.
        borrow_bps: Annual rate on the value of shorts; 25, general collateral (D'Avolio 2002).
        capital: Account currency at NAV 1, which turns NAV into a share of volume; 1e6.

    Raises:
        OpenOutcryError: `cost_invalid`: a field is out of its range.
    """

    def __new__(
        cls,
        *,
        fee_bps: float | None = None,
        slippage_bps: float | None = None,
        slippage_jitter: float | None = None,
        impact_bps: float | None = None,
        stop_gap: float | None = None,
        financing_bps: float | None = None,
        cash_bps: float | None = None,
        borrow_bps: float | None = None,
        capital: float | None = None,
    ) -> CostModel: ...
    @staticmethod
    def zero() -> CostModel:
        """Return a cost model without costs."""

    @property
    def fee_bps(self) -> float: ...
    @property
    def slippage_bps(self) -> float: ...
    @property
    def slippage_jitter(self) -> float: ...
    @property
    def impact_bps(self) -> float: ...
    @property
    def stop_gap(self) -> float: ...
    @property
    def financing_bps(self) -> float: ...
    @property
    def cash_bps(self) -> float: ...
    @property
    def borrow_bps(self) -> float: ...
    @property
    def capital(self) -> float: ...
    def to_dict(self) -> dict[str, float]:
        """Return the fields by name; `stop_gap` only where it is not 0."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Limits:
    """Limits on a decision. A limit cuts an order and never forces one.

    Args:
        max_weight: Largest |weight| of one symbol; 1.
        max_gross: Largest sum of |weight|; 1.
        allow_short: Whether weights below 0 are accepted; True.
        max_participation: Largest share of the volume of a bar, or of NAV without volume, one order may take; None.
        maintenance_margin: NAV as a fraction of gross exposure below which the account is liquidated; 0 for never.
        cash_account: Whether purchases are cut at the fill to the cash of the account; needs allow_short=False; False.

    Raises:
        OpenOutcryError: `limit_invalid`: a field is out of its range.
    """

    def __new__(
        cls,
        *,
        max_weight: float | None = None,
        max_gross: float | None = None,
        allow_short: bool | None = None,
        max_participation: float | None = None,
        maintenance_margin: float | None = None,
        cash_account: bool | None = None,
    ) -> Limits: ...
    @staticmethod
    def off() -> Limits:
        """Return limits that never cut an order."""

    @property
    def max_weight(self) -> float: ...
    @property
    def max_gross(self) -> float: ...
    @property
    def allow_short(self) -> bool: ...
    @property
    def max_participation(self) -> float | None: ...
    @property
    def maintenance_margin(self) -> float: ...
    @property
    def cash_account(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; `cash_account` only where it is on."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Scenario:
    """A synthetic market before its generation: its spec and its key."""

    def __new__(cls, spec: str, key: bytes) -> Scenario: ...
    @staticmethod
    def seeded(spec: str, split: str, seed: int) -> Scenario:
        """Return the scenario of the JSON of a spec and a seed in a split."""

    def commitment(self) -> bytes:
        """Return the commitment to the key.

        It is a SHA-256 over the key and the digest of the spec.
        """

    def reveal(self) -> bytes:
        """Return the key, which determines the whole market."""

    def dataset(self) -> Dataset:
        """Return the market."""

@final
class TradingEnv:
    """The JSON environment: a market that is stepped with decisions in JSON.

    The market is synthetic, or comes from `from_csv`. A new environment is ready to step; `reset` restarts the window.

    Args:
        n_symbols: Symbols of the market.
        n_days: Days of the market.
        seed: Seed of the market and of the slippage noise.
        window_start: First bar; None for the default of the contract.
        window_end: One past the last bar; None for the end of the data.
        fee_bps: As in `CostModel`; None for its default.
        slippage_bps: As in `CostModel`; None for its default.
        impact_bps: As in `CostModel`; None for its default.
        financing_bps: As in `CostModel`; None for its default.
        max_participation: As in `Limits`; None for no limit.

    Raises:
        OpenOutcryError: the data, the window, a cost or a limit is invalid.
    """

    def __new__(
        cls,
        n_symbols: int = 4,
        n_days: int = 120,
        seed: int = 0,
        window_start: int | None = None,
        window_end: int | None = None,
        fee_bps: float | None = None,
        slippage_bps: float | None = None,
        impact_bps: float | None = None,
        financing_bps: float | None = None,
        max_participation: float | None = None,
    ) -> TradingEnv: ...
    @staticmethod
    def from_csv(
        csv_text: str,
        seed: int = 0,
        window_start: int | None = None,
        window_end: int | None = None,
        fee_bps: float | None = None,
        slippage_bps: float | None = None,
        impact_bps: float | None = None,
        financing_bps: float | None = None,
        max_participation: float | None = None,
    ) -> TradingEnv:
        """Return an environment on the market of a CSV text, long or wide."""

    @staticmethod
    def from_dataset(
        dataset: Dataset,
        *,
        window: _Bars,
        costs: CostModel,
        limits: Limits,
        lookback: int,
        seed: int,
        shaping: tuple[str | list[tuple[str, float]] | None, float, float] | None = None,
        observed: tuple[list[str], list[str], tuple[str, int]] | None = None,
    ) -> TradingEnv:
        """Return an environment on an existing market.

        `shaping` is the reward of array steps, its parameter, and the no-trade band. The reward is a name, a list of
        terms with weights, or None for the simple return. `observed` has the names of observed columns, those of
        windows, and the scale with its number of bars.
        """

    def reset(self) -> str:
        """Restart the window and return its first observation, canonical JSON."""

    def step(self, decision_json: str) -> tuple[str, float, bool, str]:
        """Trade a decision and advance by one bar.

        Returns `(observation_json, reward, done, info_json)`.

        Raises:
            OpenOutcryError: the text is not a decision, or the episode has ended; the account has not moved.
        """

    def observation_json(self) -> str:
        """Return the current observation, canonical JSON."""

    def reset_arrays(self) -> None:
        """Restart the window, without JSON."""

    def begin(self, start: int, end: int) -> None:
        """Start another window, without JSON."""

    def step_weights(
        self, weights: _Vector, hold: npt.NDArray[np.bool_] | None = None, brackets: _Table | None = None
    ) -> float:
        """Trade to target weights, shape `(n_symbols,)`, and return the reward.

        Symbols with `hold` set are not traded. `brackets` has distances of exits, shape `(n_symbols, 2)`.

        Raises:
            OpenOutcryError: the weights have the wrong shape or are not finite, or the episode has ended.
        """

    def observe_flat(self, flat: npt.NDArray[np.float32]) -> None:
        """Write the last log returns, the weights and the cash over NAV.

        The shape is `(lookback * bar_len + n_symbols + 1,)`, float32.
        """

    def observe_account(self, account: npt.NDArray[np.float32]) -> None:
        """Write the weights and the cash over NAV, shape `(n_symbols + 1,)`."""

    def observe_into(
        self,
        closes: _Vector,
        positions: _Vector,
        listed: npt.NDArray[np.int8],
        history: _Table | None = None,
        features: _Table | None = None,
        market_features: _Vector | None = None,
    ) -> float:
        """Write the current observation into buffers of the caller and return the cash.

        Args:
            closes: Shape `(n_symbols,)`, written: last closes, 0 for a symbol that is not listed.
            positions: Shape `(n_symbols,)`, written: signed shares.
            listed: Shape `(n_symbols,)`, written: 1 for a listed symbol.
            history: Shape `(lookback, n_symbols * n_columns)`, written: windows, oldest first, 0 before a listing.
            features: Shape `(n_symbols, n_features)`, written: observed columns with a value per symbol.
            market_features: Shape `(n_features,)`, written: observed columns of the market.
        """

    def info(self) -> dict[str, Any]:
        """Return the info of the last array step.

        The fields are `nav`, `date`, `events`, `costs` by kind and the gains.
        """

    @property
    def nav(self) -> float: ...
    @property
    def bar(self) -> int: ...
    @property
    def terminated(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def dataset(self) -> Dataset: ...
    @property
    def figures(self) -> dict[str, npt.NDArray[Any]]:
        """Figures of the last array step: arrays of shape `(1,)` by name."""

    def clone_state(self) -> State:
        """Return a checkpoint of the account, in O(symbols)."""

    def restore_state(self, state: State) -> None:
        """Restore a checkpoint of this environment.

        Raises:
            OpenOutcryError: `state_mismatch`: the checkpoint is of another market or window.
        """

_Flags: TypeAlias = npt.NDArray[np.bool_]

@final
class Buffers:
    """The output arrays of a batch, validated once.

    They must be C-contiguous, writeable and disjoint. `outcome` is rewards (float64), terminations, truncations and
    resets (bool), each of shape `(n_lanes,)`. As with `out=` of numpy, two threads must not write to one array at a
    time.
    """

    @staticmethod
    def flat(flat: npt.NDArray[np.float32], outcome: Sequence[Any]) -> Buffers:
        """Bind the array of flat observations and those of outcomes.

        The shape is `(n_lanes, lookback * bar_len + n_symbols + 1)`.
        """

    @staticmethod
    def dict(arrays: list[Any], optional: list[Any], outcome: Sequence[Any]) -> Buffers:
        """Bind the arrays of dict observations and those of outcomes.

        `arrays` is closes, listed, positions and cash; `optional` is history, features and features of the market. The
        columns of a history are in its last axis, symbol by symbol.
        """

    @staticmethod
    def cursor(bars: npt.NDArray[np.int64], account: npt.NDArray[np.float32], outcome: Sequence[Any]) -> Buffers:
        """Bind the arrays of cursor observations and those of outcomes.

        The shapes are `(n_lanes,)` and `(n_lanes, n_symbols + 1)`.
        """

    @staticmethod
    def sliding(batch: Batch, rows: npt.NDArray[np.float32], outcome: Sequence[Any]) -> list[Buffers]:
        """Bind the rows of sliding observations, and the arrays of outcomes.

        Returns one binding per start column of `Batch.sliding_layout`, in its order. They are for that batch only.
        Other writes to the rows change later observations.
        """

@final
class Batch:
    """A batch of accounts that are stepped together.

    One per entry of `lanes`: the index of its dataset, its costs and its limits. Lane i has the stream of episodes of
    `seed + i`. See `openoutcry.vector.OpenOutcryVectorEnv`.

    In `options`, `windows` has one entry per dataset: start, end, bars of a random episode or None, and the split.
    `autoreset` is `next_step`, `same_step` or `disabled`; `observation`, for new arrays, is `flat`, `dict`, `history`
    (a dict with history) or `cursor`; the others are `reward`, `reward_parameter`, `lookback`, `no_trade_band`,
    `max_episode_steps`, `threads` and `seed`.
    """

    def __new__(
        cls, datasets: list[Dataset], lanes: list[tuple[int, CostModel, Limits]], options: dict[str, Any], seed: int
    ) -> Batch: ...
    def reset(self, seed: int | None = None, mask: _Flags | None = None) -> None:
        """Reset each lane of `mask`, or all lanes.

        With a seed, lane i starts the stream of `seed + i`.
        """

    def set_brackets(self, distances: _Table | None) -> None:
        """Set the exits of the next step alone, None for none.

        Distances from the last closes, shape `(n_lanes, n_symbols, 2)`.

        Raises:
            OpenOutcryError: the array has the wrong shape, or a distance is not in [-1, 1).
        """

    def set_streams(self, streams: list[tuple[int, int]]) -> None:
        """Set the seed of every lane, and the index of its next episode."""

    def save(self) -> bytes:
        """Return the accounts and episodes of all lanes as bytes."""

    def restore(self, saved: bytes) -> None:
        """Restore the lanes of `save` of a batch with the same markets."""

    @property
    def markets(self) -> list[int]:
        """Index of the dataset of every lane."""

    @property
    def last_markets(self) -> list[int]:
        """Index of the dataset of the previous episode of every lane."""

    @property
    def streams(self) -> list[tuple[int, int]]:
        """Seed of every lane, and the index of its next episode."""

    def set_next_markets(self, lanes: list[tuple[int, int]]) -> None:
        """Set the datasets of next episodes, pairs of a lane and the index of a dataset."""

    @property
    def records(self) -> dict[str, Any]:
        """Costs, gains and events of the last step of every lane: arrays by name.

        Empty unless `records` was set.
        """

    def observe(self, buffers: Buffers) -> None:
        """Write the observation of every lane."""

    def observe_new(self) -> Any:
        """Return the observation of every lane, in new arrays."""

    def step(
        self, actions: npt.NDArray[Any], hold: _Flags | None, buffers: Buffers, last: Buffers | None = None
    ) -> int:
        """Step every lane and write the results.

        `last` receives the final observation of each lane that this step resets. The returned number has bit 0 set if
        an episode ended, and bit 1 if the step reset a lane.

        Raises:
            OpenOutcryError: an array is invalid, a weight is not finite, or an episode has ended; no lane has moved.
        """

    def step_new(
        self, actions: npt.NDArray[Any], hold: _Flags | None, last: Buffers | None = None, out: Any = None
    ) -> tuple[Any, _Vector, _Flags, _Flags, _Flags | None, int]:
        """Step every lane and return the results in new arrays.

        Flat observations are written to `out`, if it is given. The values are the observation, rewards, terminations,
        truncations and resets, or None without a reset; then the number of `step`.
        """

    @property
    def sliding_layout(self) -> tuple[int, list[int]]:
        """Length of a row of sliding observations, and the start column of each window."""

    @property
    def nav(self) -> _Vector: ...
    @property
    def cash(self) -> _Vector: ...
    @property
    def bars(self) -> npt.NDArray[np.int64]: ...
    @property
    def shares(self) -> _Table: ...
    @property
    def done(self) -> _Flags: ...
    @property
    def tradable(self) -> _Flags: ...
    @property
    def figures(self) -> dict[str, npt.NDArray[Any]]:
        """Figures of the last step of every lane: arrays by name.

        Empty unless the reward is None.
        """

    def ended(self, lanes: Sequence[int]) -> list[tuple[float, int]]:
        """NAV and bar at the end of the previous episodes of `lanes`.

        A lane whose previous episode did not end is refused.
        """

    def market_bars(self, market: int) -> npt.NDArray[np.float32]:
        """Return the rows of a dataset, shape `(n_bars, bar_len)`, float32.

        A row has log returns, then observed columns.
        """

@final
class Episodes:
    """The windows of a stream of episodes.

    The window of episode k is a function of the seed and k.
    """

    def __new__(cls, range: _Bars, n_bars: int | None, split: str, data_bars: int) -> Episodes: ...
    def seed(self, seed: int) -> None:
        """Start the stream of a seed, before its first episode."""

    @property
    def place(self) -> tuple[int, int]:
        """Seed of the stream, and index of the next episode."""

    @place.setter
    def place(self, place: tuple[int, int]) -> None: ...
    def next(self) -> _Bars:
        """Return the window of the next episode, as start and end."""

@final
class State:
    """A checkpoint of an account, at one bar of one environment.

    An environment resumed from it gives the same bits. A pickle holds the account and the digests of market and rules,
    so an environment with an equal market and rules restores it, in another process too, and any other refuses it.
    """

    @property
    def bar(self) -> int: ...
    @property
    def nav(self) -> float: ...
    @property
    def window(self) -> _Bars:
        """Window of the episode, as start and end."""

    @staticmethod
    def from_bytes(saved: bytes) -> State:
        """Return the checkpoint of the bytes of a pickle."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Dates(Sequence[str]):
    """Dates of the bars of a market, a read-only sequence of ISO 8601 texts."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> str: ...
    @overload
    def __getitem__(self, key: slice, /) -> Dates: ...
    def __contains__(self, text: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def index(self, text: str) -> int:  # type: ignore[override]
        """Return the place of a date.

        Raises:
            ValueError: there is no such date.
        """

    @property
    def times(self) -> npt.NDArray[np.datetime64]:
        """Times of the bars, datetime64[s], read-only."""

@final
class Dataset:
    """The native market behind `openoutcry.Dataset`."""

    @staticmethod
    def from_arrays(
        dates: Dates | list[str] | npt.NDArray[np.datetime64],
        symbols: list[str],
        close: _Table,
        *,
        periods_per_year: float | None = None,
        open: _Table | None = None,
        high: _Table | None = None,
        low: _Table | None = None,
        volume: _Table | None = None,
        dividends: _Table | None = None,
        splits: _Table | None = None,
        tradable: npt.NDArray[np.bool_] | None = None,
        delistings: _Table | None = None,
        half_spread_bps: _Table | None = None,
        fee_bps: _Table | None = None,
        borrow_bps: _Table | None = None,
        funding: _Table | None = None,
        risk_free: _Vector | None = None,
        fundamentals: list[tuple[str, str, str, float]] | None = None,
        news: list[tuple[str, str, str]] | None = None,
        features: list[tuple[str, str, _Vector]] | None = None,
        origin: tuple[list[int], list[int]] | None = None,
    ) -> Dataset:
        """Return a market of columns, each of shape `(n_bars, n_symbols)`.

        `features` has names, scopes (`symbol` or `market`) and values, bar after bar. `origin` has the frame row of
        each bar, or the cell of each frame row.
        """

    @staticmethod
    def from_csv(text: str, *, periods_per_year: float | None = None) -> Dataset: ...
    @staticmethod
    def synthetic(n_symbols: int, n_days: int, seed: int) -> Dataset: ...
    @property
    def dates(self) -> Dates: ...
    @property
    def symbols(self) -> list[str]: ...
    @property
    def n_bars(self) -> int: ...
    @property
    def n_symbols(self) -> int: ...
    @property
    def periods_per_year(self) -> float | None: ...
    @property
    def has_opens(self) -> bool: ...
    @property
    def has_volume(self) -> bool:
        """Whether the market has a column of volumes."""

    @property
    def has_silent_volume(self) -> bool:
        """Whether some symbol has volumes and all are 0."""

    def open_basis_fault(self) -> str | None:
        """Return why opens are on another basis than closes, None if they are not."""

    def price_jump_notices(self) -> list[str]:
        """Return notices of closes and opens that are far from their neighbours."""

    def never_closing_notice(self) -> str | None:
        """Return a notice of symbols without any close, None if all have closes."""

    @property
    def risk_free(self) -> _Vector | None: ...
    @property
    def fundamentals(self) -> list[tuple[str, str, str, float]]: ...
    @property
    def news(self) -> list[tuple[str, str, str]]: ...
    @property
    def features(self) -> list[tuple[str, str, _Table]]:
        """Features as `(name, scope, values)`.

        Values have shape `(n_bars, n_symbols)`, or `(n_bars, 1)` of the market.
        """

    @property
    def fingerprint(self) -> str: ...
    def to_bytes(self) -> bytes:
        """Return the canonical bytes of the market.

        The fingerprint is their SHA-256.
        """

    @staticmethod
    def from_bytes(content: bytes) -> Dataset:
        """Return the market of bytes that `to_bytes` wrote.

        Raises:
            OpenOutcryError: `bytes_invalid`: they are not the canonical bytes of a market.
        """

    def column(self, name: str) -> _Table | None:
        """Return a column by name, None if the market lacks it.

        Shape `(n_bars, n_symbols)`, float64.
        """

@final
class CsvReader:
    """A reader of a CSV text that arrives in parts.

    `size` is the length of the text in bytes, 0 if unknown.
    """

    def __new__(cls, size: int = 0) -> CsvReader: ...
    @property
    def has_missing(self) -> bool:
        """Whether a value is missing; known after `dataset`."""

    def push(self, part: bytes) -> None:
        """Read the next part of the text, in UTF-8."""

    def dataset(self, *, periods_per_year: float | None = None) -> Dataset:
        """Return the market of the text, and forget the text."""

@final
class NumberColumn:
    """Numbers of a column that arrive in parts."""

    def __new__(cls, n_rows: int = 0) -> NumberColumn: ...
    @property
    def has_missing(self) -> bool:
        """Whether a value is missing."""

    def push(self, values: _Vector | npt.NDArray[np.int64]) -> None:
        """Add the next values."""

@final
class SheetStrings:
    """Texts that the cells of a workbook share."""

    def __new__(cls) -> SheetStrings: ...
    def push(self, part: bytes) -> None:
        """Read the next part of the XML."""

    def finish(self) -> None:
        """Refuse a text that is not complete."""

@final
class SheetReader:
    """Reader of the cells of a sheet.

    `kinds` has a letter for each style: `d` for a date, `t` for a duration. `limits` are the most rows, the most
    cells, the cells above which a sheet must not be sparse, and of how many cells one must have a value there.
    """

    def __new__(
        cls, strings: SheetStrings, kinds: bytes, is_1904: bool, limits: tuple[int, int, int, int]
    ) -> SheetReader: ...
    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value."""

    def push(self, part: bytes) -> tuple[int, int, int] | None:
        """Read the next part of the XML.

        Returns the number of values, cells and rows if the sheet is too large.
        """

    def finish(self) -> None:
        """Refuse a text that is not complete."""

    def columns(self) -> tuple[list[list[str]], list[int], list[tuple[int, bool]]]:
        """Return the columns from the first to the last one with a value.

        They are the fields of each column in the rows with values, the numbers of these rows, and the places of the
        rows that end before the widest one, each with whether it has a number.
        """

    def numbers(self, start: int, end: int) -> list[_Vector | None]:
        """Return the numbers of each column in a range of rows, by their places.

        An empty cell is NaN. None for a column with another value than numbers, or without a value.
        """

@final
class LongRows:
    """Rows of a long frame that arrive in parts.

    The columns are `close` and the optional ones among `names`.
    """

    def __new__(cls, names: list[str]) -> LongRows: ...
    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of `dataset`."""

    def push_keys(
        self, dates: tuple[_Numbers, _Numbers], symbols: tuple[_Numbers, _Numbers]
    ) -> tuple[list[int], list[int]]:
        """Add rows without values.

        A pair has the position of each row among distinct values, and the number of each value, `2**32 - 1` where it
        has none. Values get the next number in the order of their first rows. Returns the positions of the dates and
        symbols that got one.
        """

    def dataset(
        self,
        dates: list[str],
        symbols: list[str],
        columns: list[NumberColumn],
        *,
        periods_per_year: float | None = None,
    ) -> Dataset:
        """Return the market of the rows, and forget them and the columns.

        `dates` and `symbols` are the names of the numbers.
        """

@final
class Baseline:
    """A baseline agent of the core, created anew for every run."""

    def __new__(cls, name: str, seed: int = 0) -> Baseline: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def session(self) -> Session:
        """Start one episode of this agent."""

@final
class Session:
    """One episode of a baseline."""

    def decide(self, observation: str) -> str:
        """Return the decision on an observation, both JSON."""

@final
class Run:
    """The native run behind `openoutcry.Run`."""

    @property
    def nav(self) -> _Vector: ...
    @property
    def returns(self) -> _Vector: ...
    @property
    def excess(self) -> _Vector: ...
    @property
    def gains(self) -> dict[str, _Vector]: ...
    @property
    def turnover(self) -> _Vector: ...
    @property
    def costs(self) -> dict[str, _Vector]: ...
    @property
    def decisions(self) -> _Table: ...
    def conditions(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[_Vector], npt.NDArray[np.bool_]]: ...
    @property
    def terminated_at(self) -> int | None: ...
    @property
    def time_in_market(self) -> float: ...
    def weights(self) -> _Table: ...
    def fills(self) -> _Fills: ...
    def positions(self) -> tuple[_Table, _Fills]: ...
    def events(self) -> list[dict[str, Any]]: ...
    def delayed(self) -> Run: ...
    def metrics(self) -> tuple[dict[str, float | None], dict[str, str]]: ...
    def metric(self, name: str) -> float | None: ...

@type_check_only
class Settings(TypedDict):
    """Settings of a backtest: window, costs, limits, seeds; at run time a dict."""

    window: _Bars
    costs: CostModel
    limits: Limits
    lookback: int
    seed: int
    fill_key: bytes | None

@type_check_only
class Conditions(TypedDict):
    """Prices and times of the orders of a table; at run time a dict.

    Each of shape `(n_bars, n_symbols)`, or None.
    """

    limit_price: _Table | None
    stop_price: _Table | None
    stop_loss: _Table | None
    take_profit: _Table | None
    at_close: npt.NDArray[np.bool_] | None

@type_check_only
class Names(TypedDict):
    """Record fields in addition to the settings; at run time a dict."""

    market: str
    agent_id: str
    commitment: bytes | None
    harness: Harness | None

@final
class Record:
    """The native record behind `openoutcry.RunRecord`."""

    @staticmethod
    def from_json(content: bytes) -> Record:
        """Return the record in the bytes of a JSON text.

        Raises:
            OpenOutcryError: the text is not a record, or not canonical.
        """

    @staticmethod
    def from_lines(content: bytes) -> Record:
        """Return the record in lines, without a truncated last line.

        Raises:
            OpenOutcryError: a line is not canonical, or out of place.
        """

    @staticmethod
    def join(agent_id: str, in_sample_trials: int, records: Sequence[Record]) -> Record:
        """Return one record with the runs of several records."""

    def only(self, run: int) -> Record:
        """Return one run of the record as a separate unsigned record."""

    @property
    def run_digests(self) -> list[str | None]: ...
    def to_json(self) -> str:
        """Return the canonical JSON."""

    def to_lines(self) -> str:
        """Return the record as lines of canonical JSON."""

    @property
    def agent_id(self) -> str: ...
    @property
    def in_sample_trials(self) -> int: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def computed_digest(self) -> str | None: ...
    @property
    def torn_bytes(self) -> int: ...
    @property
    def unfinished(self) -> str | None: ...
    @property
    def public_key(self) -> bytes | None: ...
    @property
    def headers(self) -> list[dict[str, str]]: ...
    @property
    def decisions(self) -> list[list[tuple[str, str | None]]]: ...
    def signed(self, private_key: bytes) -> Record:
        """Return the record signed with a private Ed25519 key."""

    def is_intact(self) -> bool:
        """Return whether the record is finished and every hash follows from its contents."""

    def verify_signature(self, public_key: bytes | None = None) -> bool:
        """Return whether the signature is valid for the contents and a key."""

    def integrity_differences(self, public_key: bytes | None = None) -> list[dict[str, Any]]:
        """Return the divergences of the digest and the signature.

        With a key, the record must be signed by it.
        """

    def replay(
        self,
        run: int,
        dataset: Dataset,
        costs: CostModel | None = None,
        limits: Limits | None = None,
        fill_key: bytes | None = None,
        market_name: tuple[str, bytes | None] | None = None,
    ) -> tuple[int, list[dict[str, Any]]]:
        """Replay one run; return the number of steps and the divergences of the record.

        `market_name` is the name of the market, and the commitment of its key; None trusts the record.
        """

    def compare(self, run: int, other: Record) -> tuple[list[tuple[str, str, str]], dict[str, Any] | None]:
        """Compare two runs: the settings that differ, and their first divergence."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Compressor:
    """Writer of one zstd frame."""

    def __init__(self) -> None: ...
    def write(self, content: bytes) -> bytes:
        """Compress bytes, and return the output that is ready."""

    def finish(self) -> bytes:
        """Return the end of the frame, after which nothing can be written."""

_RunRow: TypeAlias = tuple[
    str,
    str,
    str,
    tuple[Any, ...],
    bytes,
    tuple[Any, ...],
    tuple[str | None, bytes] | None,
    tuple[str, str | None, str | None, str | None],
]

@final
class TableRuns:
    """Tables of target weights that are run together.

    With a metric only its value is kept of each run.
    """

    def __new__(cls, dataset: Dataset, settings: Settings, metric: str | None = None) -> TableRuns: ...
    def add(self, weights: _Table) -> None:
        """Add a copy of target weights, shape `(n_bars, n_symbols)`."""

    def add_strategy(self, name: str, params: dict[str, Any]) -> bool:
        """Add the weights of a library strategy, to be computed when the tables are run.

        Return whether the native module computes them; if not, nothing is added.
        """

    def __len__(self) -> int: ...
    def finish(self) -> tuple[list[Any], Exception | None]:
        """Run the tables added so far, each as `run_weights` does.

        Return the runs, or the metric of each, before the first fault, and the fault.
        """

@final
class RunReader:
    """Fast reader of run records in the form that a ledger writes."""

    def __new__(cls, numbers: Sequence[str], kinds: Sequence[str], states: Sequence[str]) -> RunReader: ...
    def read(
        self, content: bytes, start: int, *, segment: int, offset: int
    ) -> tuple[list[_RunRow], int, tuple[int, str] | None, tuple[int, str] | None, int]:
        """Return the runs of the lines from a byte on, up to the first unusual line.

        Leave unusual lines to the general reader: they may be valid records.

        Args:
            content: Whole lines.
            start: The byte of `content` to begin at.
            segment: The number of their segment.
            offset: The position of `content` in the segment.

        Returns:
            Rows; the byte of their end; number and hash that the first line continues, and those that continue the last
            line; and the number of lines that do not continue the line before.
        """

_Benchmarks: TypeAlias = tuple[_Vector, _Vector, Sequence[_Vector]]
_GivenRun: TypeAlias = tuple[int, int, int, _Vector, _Benchmarks | None, _Vector | None, Sequence[str]]

@final
class Submission:
    """The facts of an agent that a scorer uses."""

    @staticmethod
    def of_record(
        record: Record,
        datasets: Sequence[Dataset],
        *,
        costs: CostModel | None = None,
        limits: Limits | None = None,
        fill_key: bytes | None = None,
        capacity: float | None = None,
        market_names: Sequence[tuple[str, bytes | None]] | None = None,
    ) -> Submission:
        """Return the submission of a record, by a replay.

        `market_names` has the name of each market, and the commitment of its key; None trusts the record.

        Raises:
            OpenOutcryError: the record is unfinished, or diverges from its replay.
        """

    @staticmethod
    def at_capital(
        record: Record, datasets: Sequence[Dataset], capital: float, *, fill_key: bytes | None = None
    ) -> Submission:
        """Return the submission of the weights of a record at another capital.

        Raises:
            OpenOutcryError: the record is unfinished, diverges from its replay, or the capital is invalid.
        """

    @staticmethod
    def of_returns(
        agent_id: str,
        runs: Sequence[_GivenRun],
        *,
        periods_per_year: float,
        in_sample_trials: int = 0,
        dataset: str | None = None,
        dataset_name: str | None = None,
    ) -> Submission:
        """Return the submission of bare returns.

        Each run is its window, fill seed, returns, those of buy-and-hold, cash and passive portfolios, risk-free
        returns, and dates.
        """

    @staticmethod
    def join(agent_id: str, submissions: Sequence[Submission]) -> Submission:
        """Return one submission with the runs of several, in their order.

        It has no declared trials and no digest.
        """

    @property
    def agent_id(self) -> str: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def runs(self) -> list[tuple[str | None, int, int, str]]: ...

def score_field(submissions: Sequence[Submission], config: str) -> str:
    """Return the scores of agents, as a JSON object.

    `config` is a JSON object of the settings that differ from the defaults of the scorer.

    Raises:
        OpenOutcryError: the configuration or a submission is invalid.
    """

def check_score_config(config: str) -> None:
    """Check a scorer configuration, a JSON object as for `score_field`.

    Raises:
        OpenOutcryError: it has an unknown field, or a bound is invalid.
    """

def score_run(returns: Sequence[float] | _Vector, n_trials: int = 0) -> str:
    """Return the score of daily returns out of `n_trials`, as a JSON object.

    Raises:
        OpenOutcryError: a return is invalid.
    """

@final
class MerkleTree:
    """The Merkle tree of an append-only log, with the hashes of RFC 9162.

    Thread-safe: a reader sees the tree before or after an append.
    """

    def __new__(cls, leaf_hashes: bytes | None = None) -> MerkleTree: ...
    @staticmethod
    def of_tiles(tiles: bytes, leaf_hashes: bytes) -> MerkleTree:
        """Return the tree of the hashes of full tiles, followed by leaves.

        It does not store the leaves of those tiles. A proof that needs a tile takes it as an argument.
        """

    @property
    def n_cold(self) -> int:
        """Number of leading leaves that are not stored."""

    def __len__(self) -> int: ...
    def append(self, entries: Sequence[bytes]) -> int:
        """Append entries as leaves, and return the number of leaves."""

    def truncate(self, size: int) -> None:
        """Remove the leaves from `size` on.

        Raises:
            OpenOutcryError: `argument_invalid`: the tree has fewer leaves.
        """

    def root(self, size: int | None = None) -> bytes:
        """Return the root of the first `size` leaves, of all by default.

        Raises:
            OpenOutcryError: `argument_invalid`: the tree has fewer leaves.
        """

    def inclusion(self, index: int, size: int | None = None, tiles: Mapping[int, bytes] | None = None) -> list[bytes]:
        """Return the inclusion proof of a leaf in the tree of the first `size` leaves.

        32 bytes per hash, from the sibling of the leaf up; see RFC 9162, 2.1.3.1. `tiles` are those of `index` and of
        the last leaf, by index, if the tree does not store them.

        Raises:
            OpenOutcryError: `argument_invalid`: the tree has fewer leaves, no such leaf, or needs a tile.
        """

    def consistency(self, old: int, size: int | None = None, tiles: Mapping[int, bytes] | None = None) -> list[bytes]:
        """Return the consistency proof of the trees of the first `old` and `size` leaves.

        32 bytes per hash; see RFC 9162, 2.1.4.1. `tiles` are those of the last leaves of both trees, by index, if the
        tree does not store them.

        Raises:
            OpenOutcryError: `argument_invalid`: the tree has fewer leaves, `old` is not from 1 to `size`, or it needs a
                tile.
        """

    def tile(self, level: int, index: int, width: int = 256) -> bytes:
        """Return the first `width` hashes of a tile, concatenated (c2sp.org/tlog-tiles).

        Raises:
            OpenOutcryError: `argument_invalid`: the tree is too small, or `width` is out of range.
        """

@final
class LogAudit:
    """An arena log read from `log.jsonl`, valid or not."""

    def __new__(cls, content: bytes) -> LogAudit: ...
    def __len__(self) -> int: ...
    @property
    def n_before_today(self) -> int:
        """Number of records from days before that of the last record, by their times."""

    def faults(self) -> list[tuple[int, str]]:
        """Return the invalid lines, from 0, and their faults."""

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` lines.

        Raises:
            OpenOutcryError: `argument_invalid`: there are fewer.
        """

    def digest(self, line: int) -> bytes:
        """Return the SHA-256 of a line.

        Raises:
            OpenOutcryError: `argument_invalid`: there are fewer.
        """

    def others(self) -> list[tuple[int, bytes]]:
        """Return the valid records other than submissions, by line."""

    def reveal(self, reveals: bytes) -> list[tuple[int, str]]:
        """Return the invalid lines of `reveals.jsonl`, from 0, and their faults."""

def log_record_fault(text: str) -> str | None:
    """Return the fault of a text as a record of an arena log; None if it is valid."""

def log_submission(
    link: tuple[int, str],
    members: Sequence[str],
    decisions: Sequence[tuple[str, str, str | None, str | None]],
    salts: bytes,
) -> tuple[bytes, str, str]:
    """Seal a submission as a record of an arena log.

    Args:
        link: Its sequence number, and the SHA-256 of the previous record in hexadecimal.
        members: `submission_id`, `agent_slug`, `received_at`, `snapshot_as_of` and `snapshot_sha256`.
        decisions: For each: market, probability of YES, confidence or None, reasoning or None.
        salts: 32 bytes for each.

    Returns:
        The record, its SHA-256 in hexadecimal, and the bodies that open its commitments: a JSON list in their order.

    Raises:
        OpenOutcryError: `argument_invalid`: the record is not valid.
    """

def merkle_is_consistent(old: int, size: int, old_root: bytes, root: bytes, proof: Sequence[bytes]) -> bool:
    """Return whether a consistency proof is valid.

    There is no proof from an empty tree.
    """

def merkle_is_included(index: int, size: int, leaf_hash: bytes, proof: Sequence[bytes], root: bytes) -> bool:
    """Return whether an inclusion proof is valid."""

def decompress(content: bytes) -> tuple[bytes, bool]:
    """Decompress a zstd frame, and return whether it is complete.

    Raises:
        OpenOutcryError: `record_invalid`: the bytes are not a frame, are damaged, or exceed the size of any record.
    """

def readable_message(text: str) -> str:
    """Return the message of an error, safe to print and of at most 2,000 bytes.

    A longer message is cut in the middle. Tabs and line breaks remain.
    """

def readable_text(text: str, kept: str = "") -> str:
    r"""Return text on one line, in a form that is safe to print.

    Controls and invisible characters become escapes such as `\x1b`, except for the characters of `kept`.
    """

def canonicalize(text: str) -> str:
    """Return a JSON text in the canonical form of RFC 8785.

    Raises:
        OpenOutcryError: `bad_json`: it is not JSON, or has a duplicate field.
    """

def conformance_files() -> dict[str, str]:
    """Return the files of `contract/conformance` by name."""

def day_order_conformance_files() -> dict[str, str]:
    """Return the files of `contract/conformance/v1.1` by name."""

def read_decision(text: str) -> str:
    """Return a parsed decision in canonical JSON.

    Optional fields with default values are left out.

    Raises:
        OpenOutcryError: the text is refused, with the slug of its first fault.
    """

def sign_conformance(digest: bytes, private_key: bytes) -> bytes:
    """Return the Ed25519 signature of a conformance report, 64 bytes."""

def conformance_is_signed(digest: bytes, public_key: bytes, signature: bytes) -> bool:
    """Return whether the signature of a conformance report is valid for a key.

    Invalid keys have no valid signature.
    """

def record_public_key(private_key: bytes) -> bytes:
    """Return the public key of a private Ed25519 key."""

def fill_commitment(fill_key: bytes) -> bytes:
    """Return the commitment of a fill key, 32 bytes each."""

def capture_agent(dataset: Dataset, agent: Baseline, settings: Settings, names: Names) -> tuple[Run, Record]:
    """Run a baseline as `run_agent` does, and record it."""

def capture_callable(
    dataset: Dataset,
    decide: Callable[[str], str | tuple[str, str | None]],
    settings: Settings,
    names: Names,
    write_line: Callable[[str], None] | None,
) -> tuple[Run, Record]:
    """Run a callable as `run_callable` does, and record it.

    Instead of a text the callable may return a tuple of a text and its fault or None. A tuple never ends the run: with
    a fault, or a text that is not a decision, the decision defaults to hold, and the record has the fault.

    `write_line` receives each line of the record as soon as it is complete.
    """

def capture_weights(
    dataset: Dataset, weights: _Table, settings: Settings, names: Names, conditions: Conditions | None = None
) -> tuple[Run, Record]:
    """Run target weights as `run_weights` does, and record them as decisions."""

def run_agent(dataset: Dataset, agent: Baseline, settings: Settings) -> Run: ...
def run_callable(dataset: Dataset, decide: Callable[[str], object], settings: Settings) -> Run: ...
def passive_returns(dataset: Dataset, settings: Settings) -> list[_Vector]:
    """Return the returns of the passive portfolios of a market.

    The first has equal parts of all symbols on every bar, at the costs of the settings. The others trade
    without costs: the same, and, every 21 bars, equal parts, one over volatility, one over variance, and minimum
    variance.
    """

def run_tables(dataset: Dataset, tables: Sequence[_Table], settings: Settings) -> tuple[list[Run], Exception | None]:
    """Run tables of target weights, each as `run_weights` does.

    Return the runs before the first fault, and the fault.
    """

def places_below(values: _Vector, limit: float) -> _Whole:
    """Return the places of values below a limit, int64."""

def nav_of_blocks(
    dataset: Dataset, blocks: Iterable[Sequence[_Table]], settings: Settings, bars: Sequence[int]
) -> list[_Vector]:
    """Return the NAV of tables of target weights at some bars of the window.

    Each block is a list of tables of the same shape, one per account, with the next decisions. Eight accounts run at
    once, and have the NAV of `run_tables`. A run that ends early keeps its last NAV.
    """

def parquet_columns(source: PathLike[str] | npt.NDArray[np.uint8]) -> list[list[tuple[int, int, list[int]]]]:
    """Return the sizes of the columns of each group of rows of a Parquet file.

    Each is its number of values, its uncompressed bytes, and its encodings. Bytes are those that the footer or the
    headers of the pages state, whichever are more. Raise ValueError if they are damaged or encrypted.
    """

def run_weights(dataset: Dataset, weights: _Table, settings: Settings, conditions: Conditions | None = None) -> Run:
    """Run target weights over a window, with conditions of their orders.

    Each has the shape `(n_bars, n_symbols)`.
    """

def check_rows(n_rows: int, n_symbols: int, n_bars: int, n_columns: int) -> None:
    """Refuse a market given as rows whose tables would be much larger than the rows."""

def inferred_periods_per_year(dates: Sequence[str]) -> float | None:
    """Return the number of bars per year that ascending ISO 8601 dates imply, or None."""

def bar_count_notices(dates: Sequence[str], periods_per_year: float, is_stated: bool) -> list[str]:
    """Return notices of dates that hold fewer or more bars than their number.

    The dates are ascending ISO 8601 texts, the number is of bars per year.
    """

def split_columns(text: str, delimiter: str, width: int) -> tuple[list[str], list[list[str]], list[int]] | None:
    """Return the columns of a delimited text, blank lines left out.

    They are the lines before the first row, the fields of each column, and the line of each row. None if a later line
    has another number of fields than `width`, if a field has a quote or an end of line in it, or if the text has
    unusual ends of lines.
    """

def most_cash_return(periods_per_year: float) -> float:
    """Return the largest return of cash in one bar, from the bars per year."""

def episode_market(kind: str, split: str, seed: int, episode: int, n: int) -> int:
    """Return the index of the dataset of an episode, among `n`.

    `kind` is `cycle` or `random`; streams of different splits share no draw.
    """

def last_decision(env: TradingEnv) -> _Vector:
    """Return the decision of the last step of an environment.

    It has one weight per symbol, and NaN for a hold. The no-trade band is applied. All are NaN
    after a reset or a restored state.
    """

def resolve_window(start: int | None, end: int | None, lookback: int, n_bars: int) -> _Bars:
    """Return the bars of a window with optional start and end."""

def fill_noise(seed: int, bar: int, symbol: str) -> float:
    """Return the draw in [0, 1) that jitters the slippage of a symbol in a bar."""

def block_length(returns: _Table, windows: Sequence[int], *, of_sharpe: bool = False) -> float:
    """Return the mean block length of the stationary bootstrap, over all agents.

    `returns` has shape `(n_days, n_agents)`; `windows` has the days of each window. With `of_sharpe` it is optimal for
    Sharpe ratios, else for means.
    """

def mean_test(
    returns: _Table, windows: Sequence[int], *, n_draws: int, seed: int, block_length: float | None = None
) -> tuple[float, float, float | None, float]:
    """Test whether the mean of one agent is above 0.

    The values are the mean per day, its p-value, the p-value of the signs of windows or None, and the mean block
    length.
    """

def sharpe_interval(
    returns: _Table,
    windows: Sequence[int],
    *,
    periods_per_year: float,
    level: float,
    n_draws: int,
    seed: int,
    block_length: float | None = None,
) -> tuple[float, float, float, float, float, int]:
    """Return an interval of a Sharpe ratio, or of the difference of two.

    The values are the estimate, its standard error, both ends, the p-value of 0, and the block length.
    """

@type_check_only
class FieldTests(TypedDict):
    """The tests of a field by name; at run time a dict."""

    reality_check: float
    spa_lower: float
    spa_consistent: float
    spa_upper: float
    statistics: _Vector
    alone: _Vector
    romano_wolf: _Vector
    block_length: float

def field_tests(
    returns: _Table, windows: Sequence[int], *, n_draws: int, seed: int, block_length: float | None = None
) -> FieldTests:
    """Return the tests of a field of agents by name.

    Tests of each agent have shape `(n_agents,)`; all others are numbers.
    """

def holm(p_values: _Vector) -> _Vector:
    """Return p-values adjusted for the family-wise error rate."""

def benjamini_hochberg(p_values: _Vector) -> _Vector:
    """Return p-values adjusted for the false discovery rate."""

def overfit(returns: _Table, n_blocks: int) -> tuple[float, _Vector]:
    """Return the probability of backtest overfitting, and the logit of each half."""

def tie_bands(
    returns: _Table,
    windows: Sequence[int],
    *,
    periods_per_year: float,
    level: float,
    n_draws: int,
    seed: int,
    rank_by: Sequence[float] | None = None,
    block_length: float | None = None,
) -> tuple[list[list[int]], list[tuple[int, int, float, float, float]], int]:
    """Return tie bands of agents by index, every pair, and the block length.

    A pair is two indices, the difference of their Sharpe ratios, its p-value and the p-value adjusted for all pairs.
    """

def forecast_effects(starts: Sequence[int], markets: _Places, losses: _Vector, n_markets: int) -> _Vector:
    """Return the mean loss of each agent, adjusted for the markets of its forecasts.

    `starts` has the index of the first forecast of each agent, then the number of all; markets of an agent ascend. An
    agent that is not connected by markets with the largest group of agents has NaN.
    """

@type_check_only
class ForecastIntervals(TypedDict):
    """Bootstrap intervals of each agent by name; at run time a dict."""

    loss_low: _Vector
    loss_high: _Vector
    skill_low: _Vector
    skill_high: _Vector
    rank_low: _Vector
    rank_high: _Vector
    best: _Vector
    top: _Vector
    holds: _Vector

def forecast_intervals(
    starts: Sequence[int],
    markets: _Places,
    losses: _Vector,
    references: _Vector,
    n_markets: int,
    *,
    n_draws: int,
    seed: int,
) -> ForecastIntervals:
    """Return bootstrap intervals of each agent, by name.

    Each has shape `(n_agents,)`. Markets are resampled. Skill is 1 less the sum of losses over that of references.
    Intervals are 95 % intervals. `best`, `top` and `holds` are shares of resamples: with the highest skill, with a rank
    in the first 5 %, and with the rank of the sample or better.
    """

def forecast_log_scores(starts: Sequence[int], probabilities: _Vector) -> _Vector:
    """Return the mean log probability that each agent gave to the outcomes.

    `probabilities` are in the order of the forecasts; an agent without any has NaN.
    """

def paired_forecasts(differences: _Whole, *, n_draws: int, seed: int) -> tuple[float, float, float, float]:
    """Compare two agents by the differences of their losses.

    The values are both ends of the 95 % interval of the mean difference, the share of resamples in which the first
    agent has the lower loss, and the p-value of random signs. Differences are whole numbers of any unit, one per
    market.
    """

def drawdowns(nav: _Vector) -> _Vector:
    """Return the drawdown of NAV from its peak so far, shape `(n_bars,)`, at most 0."""

def gross_exposure(weights: _Table) -> _Vector:
    """Return gross exposure per bar of weights, shape `(n_bars, n_symbols)`."""

def net_exposure(weights: _Table) -> _Vector:
    """Return net exposure per bar of weights, shape `(n_bars, n_symbols)`."""

def signed_sums(returns: _Vector) -> list[tuple[float, int, int]]:
    """Return the sum, the number and the longest run of gains, and of losses."""

def is_riskless(returns: _Vector) -> bool:
    """Return whether returns are constant except for rounding."""

def summarize(
    returns: _Vector, *, periods_per_year: float | None, risk_free: _Vector | None = None
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Return every metric by name, and the reason of each that is undefined and None.

    Metrics that need more than a series of returns, such as turnover, are undefined.
    """

_Given: TypeAlias = tuple[int, float, float, float]

def normal_cdf(x: float) -> float:
    """Return the probability that a standard normal variable is at most `x`."""

def normal_quantile(p: float) -> float:
    """Return the quantile of a probability of the standard normal distribution.

    Infinite at 0 and 1, NaN outside.
    """

def expected_max(n_trials: int) -> float:
    """Return the expected maximum of `n_trials` standard normal draws."""

def moments(excess: _Vector) -> _Given:
    """Return number, Sharpe ratio per bar, skew and kurtosis of excess returns."""

def sharpe_errors(excess: _Vector, periods_per_year: float, lags: int | None = None) -> dict[str, Any]:
    """Return the annual Sharpe ratio and its standard errors."""

def probabilistic_sharpe(moments: _Given, benchmark: float) -> tuple[float, float]:
    """Return the probability that a Sharpe ratio per bar is above another, and z."""

def min_track_record(moments: _Given, benchmark: float, confidence: float) -> float:
    """Return the minimum track record length of a Sharpe ratio above a benchmark."""

def min_backtest_years(n_trials: int, sharpe: float) -> float:
    """Return the minimum backtest length in years for the best of many trials."""

def trials(ledger: _Table) -> dict[str, Any]:
    """Return statistics of the return series of trials, shape `(n_trials, n_returns)`."""

def deflate(moments: _Given, n_trials: int, n_returns: int, spread: float | None, n_eff: int | None) -> dict[str, Any]:
    """Return a deflated Sharpe ratio with all of its inputs.

    `n_returns` is the number of returns of each trial.
    """

def rolling_sharpe(excess: _Vector, n_window: int, periods_per_year: float) -> dict[str, Any]:
    """Return the annual Sharpe ratio of every window with its error, and the worst."""

def rolling_beta(
    excess: _Vector, benchmark: _Vector, means: tuple[float, float], n_window: int, least: float
) -> _Vector:
    """Return the beta of every window to its benchmark, NaN before the first.

    `means` are those of the series; it is also NaN where the benchmark has a variance of at most `least`.
    """

def rolling_volatility(returns: _Vector, mean: float, n_window: int, periods_per_year: float) -> _Vector:
    """Return the annual volatility of every window, NaN before the first.

    `mean` is that of all returns.
    """

def rolling_sortino(excess: _Vector, n_window: int, periods_per_year: float) -> _Vector:
    """Return the annual Sortino ratio of every window, NaN where undefined."""

def long_run_products(residuals: _Vector, columns: Sequence[_Vector], lags: int) -> list[float]:
    """Return the long-run sum of products of the scores of a regression.

    Row after row of a square with a row for the intercept and each column, with Bartlett weights over `lags`.
    """

def regress(returns: _Vector, benchmark: _Vector) -> dict[str, Any]:
    """Return the regression of a return series on a benchmark."""

def tracking(returns: _Vector, benchmark: _Vector, periods_per_year: float) -> dict[str, Any]:
    """Return the annual tracking statistics of a return series and a benchmark."""

def decay(in_sample: _Vector, out_of_sample: _Vector, periods_per_year: float) -> dict[str, Any]:
    """Return the decay of a Sharpe ratio out of sample."""

def annual_share(amounts: _Vector, nav: _Vector, periods_per_year: float) -> float:
    """Return annual amounts as a share of the NAV before them."""

def at_cost(returns: _Vector, cost: _Vector, turnover: _Vector, cost_bps: float) -> _Vector:
    """Return the returns of a series at a common cost per turnover."""

def break_even_bps(returns: _Vector, cost: _Vector, turnover: _Vector) -> float:
    """Return the cost of trading, in bps of turnover, at which the mean return is 0."""

def calibrate(orders: list[tuple[float | None, float, float, float]], n_bins: int) -> dict[str, Any]:
    """Return the calibration of stated confidence.

    Each order is its confidence or None, its weight, the price of its fill and the close of that bar.
    """

def power(field: tuple[int, int], periods_per_year: float, sharpe: float, size: float, power: float) -> dict[str, Any]:
    """Return the statistical power of a comparison of agents, and a sentence about it."""

def trades(movements: tuple[_Whole, _Whole, _Whole, _Vector, _Vector, _Vector], n_symbols: int) -> dict[str, Any]:
    """Return the trades of movements as columns, and their statistics.

    The movements are in chronological order. Kinds are 0 for a dividend, 1 for a split and 2 for a ruin, then causes of
    fills. The last column of `trades` has the name of the cause that ended each one.
    """

def scenario_spec(name: str) -> str:
    """Return the canonical JSON of the spec of a tier or family by its name.

    Raises:
        KeyError: the name is unknown.
    """

def check_scenario_spec(text: str) -> tuple[str, bytes]:
    """Return the canonical JSON of a spec and its digest, if it is valid."""
