"""`Dataset`: immutable bars of a market, validated once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import call_with_keywords, checked_integer, checked_text, checked_texts
from openoutcry.data import columns, feature_columns
from openoutcry.data.charge_tables import ChargeTables
from openoutcry.data.charges import Charges, checked_charges
from openoutcry.data.columns import TABLES, Table
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from openoutcry.data.feature_columns import Feature
    from openoutcry.data.market_cache import Imported
    from openoutcry.data.readers.file_objects import FileSource
    from openoutcry.data.readers.market_columns import ReadKeywords


class Dataset(ChargeTables):
    """An immutable market, shared by every run and environment that uses it.

    Create one with `from_arrays`, `from_csv`, `from_frame`, `from_parquet` or `synthetic`, or load a bundled dataset
    with `openoutcry.data.load`. Tables have shape `(n_bars, n_symbols)`, float64, and are read-only. NaN is a missing
    value. A column that the market does not have is None.
    """

    def __init__(
        self, core: native.Dataset, *, name: str = "", notices: Iterable[str] = (), commitment: str | None = None
    ) -> None:
        self._core, self._is_read = core, False
        # Commitment to the key of a scenario. Records copy it.
        self.commitment = commitment
        self.name = checked_text("name", name) or "unnamed"
        self._stated = columns.with_fills(core, checked_texts("notices", notices))

    @classmethod
    def from_arrays(
        cls,
        dates: Iterable[Any],
        symbols: Iterable[str],
        close: npt.ArrayLike,
        open: npt.ArrayLike | None = None,  # noqa: A002 the name of this column everywhere
        high: npt.ArrayLike | None = None,
        low: npt.ArrayLike | None = None,
        volume: npt.ArrayLike | None = None,
        dividends: npt.ArrayLike | None = None,
        splits: npt.ArrayLike | None = None,
        tradable: npt.ArrayLike | None = None,
        delistings: npt.ArrayLike | None = None,
        risk_free: npt.ArrayLike | None = None,
        periods_per_year: float | None = None,
        *,
        fundamentals: Iterable[tuple[str, str, str, float]] = (),
        news: Iterable[tuple[str, str, str]] = (),
        features: Mapping[str, Any] | None = None,
        name: str = "",
        notices: Iterable[str] = (),
        **charges: Unpack[Charges],
    ) -> Dataset:
        """Create a dataset from arrays of bars by symbols, oldest bar first.

        Args:
            dates: `n_bars` ISO 8601 strings, `datetime` objects or datetime64, strictly increasing.
            symbols: `n_symbols` unique names.
            close: Shape `(n_bars, n_symbols)`, account currency; NaN where a symbol did not close. If any table
                is a data frame, its columns must be `symbols` in the same order.
            open: As `close`. Orders fill at the next open; without opens, at the close of the decision.
            high: As `close`.
            low: As `close`.
            volume: Shares traded; NaN where unknown. A bar of volume 0 cannot be traded.
            dividends: Cash per pre-split share on the ex-date; NaN or 0 for none.
            splits: New shares per old share on the ex-date; NaN or 1 for none.
            tradable: bool: whether a fill is allowed in the bar.
            delistings: Return from the last close to the cash settlement, on the settlement bar; NaN elsewhere.
            risk_free: Shape `(n_bars,)`: risk-free return since the previous bar; None if unknown.
            periods_per_year: Bars per year; inferred from the dates by default (`docs/your-data.md`). NaN states that
                the number is unknown.
            fundamentals: Tuples `(symbol, available_at, name, value)`, unique by symbol, time and name. Splits do not
                adjust them; `openoutcry.data.snapshots.restatements.rebased` does.
            news: Tuples `(symbol, available_at, headline)`.
            features: Values by name, shape `(n_bars, n_symbols)` or `(n_bars,)`, known at the close of their bar; or a
                `data.features.Feature`, with another time or a rule for missing values.
            name: Name of the market in reports.
            notices: Caveats about the market that reports print.
            charges: Costs by symbol and bar, and funding (`openoutcry.data.charges.Charges`).

        Raises:
            OpenOutcryError: the first invalid value, with its row and column. Nothing is repaired.
        """
        table = {"dates": dates, "symbols": symbols, "periods_per_year": periods_per_year, "close": close, "open": open}
        table |= {"high": high, "low": low, "volume": volume, "dividends": dividends, "splits": splits}
        table |= {"tradable": tradable, "delistings": delistings, "risk_free": risk_free}
        feeds: dict[str, Any] = {"fundamentals": fundamentals, "news": news, **checked_charges(charges)}
        feeds["features"] = partial(feature_columns.native_features, features or {})
        core = columns.native_dataset(table | feeds)
        texts = columns.with_caveats(core, periods_per_year, checked_texts("notices", notices))
        return cls(core, name=name, notices=texts)

    @classmethod
    def from_csv(
        cls,
        source: FileSource | Sequence[FileSource],
        periods_per_year: float | None = None,
        *,
        name: str = "",
        notices: Iterable[str] = (),
        **options: Unpack[ReadKeywords],
    ) -> Dataset:
        """Create a dataset from a file of prices, or from text.

        Plain forms are long, `date,symbol,close[,open,high,low,volume,dividend,split,delisting_return]`, and wide,
        `date` and one column of closes per symbol; `docs/your-data.md` lists those of vendors. Empty fields are missing
        values. The bars are the union of all dates with a close.

        Args:
            source: A path, a file object, text with at least one line break, or a list of files of one market. A file
                object is read from its position on, and is not closed.
            periods_per_year: Bars per year; inferred from the dates by default.
            name: Name of the market in reports; the file name by default.
            notices: Caveats about the market that reports print.
            options: What the file does not say, such as `symbol`, `columns`, `tz`, `date_order` and `adjusted`, and the
                bars: `axis`, `calendar` and `day_starts` (`openoutcry.data.readers.market_columns.ReadOptions`).

        Raises:
            OpenOutcryError: the first invalid value, with its line, or the first thing that the file does not say.
        """
        from openoutcry.data import file_import

        found, stem = file_import.import_source(source, periods_per_year, file_import.options_of(options))
        return cls._read(found, name or stem, notices)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        periods_per_year: float | None = None,
        *,
        name: str = "",
        notices: Iterable[str] = (),
        **options: Unpack[ReadKeywords],
    ) -> Dataset:
        """Create a dataset from a pandas, polars or pyarrow frame, or from rows.

        Or of any object with the Arrow PyCapsule interface. The columns and options are those of `from_csv`. Without a
        `date` column, the pandas index is the date.

        Raises:
            OpenOutcryError: the first invalid value, with its row in the frame, counted from 0.
        """
        from openoutcry.data import file_import

        found = file_import.import_frame(frame, periods_per_year, file_import.options_of(options))
        return cls._read(found, name, notices)

    @classmethod
    def from_parquet(
        cls,
        path: FileSource,
        periods_per_year: float | None = None,
        *,
        name: str = "",
        notices: Iterable[str] = (),
        **options: Unpack[ReadKeywords],
    ) -> Dataset:
        """Create a dataset from a Parquet file with the columns and options of `from_csv`.

        Requires `openoutcry[parquet]`.
        """
        from openoutcry.data import file_import
        from openoutcry.data.readers.file_objects import source_of

        file = source_of("path", path)
        found = file_import.import_parquet(file, periods_per_year, file_import.options_of(options))
        return cls._read(found, name or file.stem, notices)

    @classmethod
    def _read(cls, found: Imported, name: str, notices: Iterable[str] = ()) -> Dataset:
        market = cls(found.core, name=name, notices=(*checked_texts("notices", notices), *found.notices))
        market._is_read = True
        return market

    @classmethod
    def synthetic(cls, n_symbols: int = 4, n_days: int = 120, seed: int = 0) -> Dataset:
        """Create a random market of weekday bars, priced in cents, with opens and volume.

        A seed gives the same market on every machine, and can be found by enumeration.
        """
        return cls(native.Dataset.synthetic(n_symbols, n_days, seed), name=f"synthetic-{n_symbols}x{n_days}")

    @classmethod
    def from_bytes(
        cls, content: bytes, *, name: str = "", notices: Iterable[str] = (), commitment: str | None = None
    ) -> Dataset:
        """Return the dataset of bytes written by `to_bytes`, in any language.

        Raises:
            OpenOutcryError: `bytes_invalid`: the bytes are not the canonical encoding of a market.
        """
        return cls(native.Dataset.from_bytes(content), name=name, notices=notices, commitment=commitment)

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """Caveats; those of a file or a frame include `market_warnings.warnings_of`."""
        from openoutcry.data import market_warnings

        return self._stated + (market_warnings.warnings_of(self._core, is_file=True) if self._is_read else ())

    @cached_property
    def dates(self) -> tuple[str, ...]:
        """ISO 8601 dates of the bars."""
        return tuple(self._core.dates)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols."""
        return tuple(self._core.symbols)

    @property
    def n_bars(self) -> int:
        """Number of bars."""
        return self._core.n_bars

    @property
    def n_symbols(self) -> int:
        """Number of symbols."""
        return self._core.n_symbols

    @property
    def periods_per_year(self) -> float | None:
        """Bars per year; None if the dates do not show it and it was not stated."""
        return self._core.periods_per_year

    @property
    def has_opens(self) -> bool:
        """Whether orders fill at the next open, not at the close of the decision."""
        return self._core.has_opens

    close = columns.StoredTable[Table]("Closing prices.")
    open = columns.StoredTable["Table | None"]("Opening prices.")
    high = columns.StoredTable["Table | None"]("High prices.")
    low = columns.StoredTable["Table | None"]("Low prices.")
    volume = columns.StoredTable["Table | None"]("Shares traded.")
    dividends = columns.StoredTable["Table | None"]("Cash per pre-split share, 0 for none.")
    splits = columns.StoredTable["Table | None"]("New shares per old share, 1 for none.")
    delistings = columns.StoredTable["Table | None"]("Return from the last close to the settlement, on its bar.")

    @cached_property
    def tradable(self) -> npt.NDArray[np.bool_] | None:
        """Whether a fill is allowed, bool."""
        table = self._core.column("tradable")
        return None if table is None else columns.frozen(table != 0.0)

    @cached_property
    def risk_free(self) -> npt.NDArray[np.float64] | None:
        """Risk-free return since the previous bar, shape `(n_bars,)`."""
        rates = self._core.risk_free
        return None if rates is None else columns.frozen(rates)

    @property
    def fundamentals(self) -> tuple[tuple[str, str, str, float], ...]:
        """Point-in-time fundamentals: `(symbol, available_at, name, value)`."""
        return tuple(self._core.fundamentals)

    @property
    def news(self) -> tuple[tuple[str, str, str], ...]:
        """Point-in-time headlines: `(symbol, available_at, headline)`."""
        return tuple(self._core.news)

    @cached_property
    def features(self) -> Mapping[str, Feature]:
        """Features by name, as known at the close of each bar; NaN if unlisted."""
        return feature_columns.of_core(self._core)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all values that results can depend on, in hexadecimal."""
        return self._core.fingerprint

    def to_bytes(self) -> bytes:
        """Return the canonical bytes of the market; their SHA-256 is the fingerprint."""
        return self._core.to_bytes()

    def with_features(self, given: Any, *, lag: int = 0, missing: str | float = "refuse") -> Dataset:
        """Return the market with more features (`docs/features.md`).

        Args:
            given: `features` of `from_arrays`, a function of a `Dataset` that returns them, or functions by name. A
                function is called on parts of the bars, and refused if a value changes.
            lag: As in `Feature`, for values that are none.
            missing: As in `Feature`, for values that are none.

        Raises:
            OpenOutcryError: a name is taken, values are invalid, or a function uses later bars.
        """
        found = {"features": feature_columns.with_features(self, given, lag, missing), "notices": self.notices}
        return Dataset.from_arrays(**self._columns() | found, name=self.name)

    def select(self, symbols: Sequence[str]) -> Dataset:
        """Return a dataset of the given symbols, in the given order, on the same bars."""
        if unknown := [symbol for symbol in symbols if symbol not in self.symbols]:
            wanted = f"symbols must be among {', '.join(self.symbols)}"
            raise refusal("symbol_invalid", f"{wanted}; received {', '.join(unknown)}")
        return self._cut(slice(None), [self.symbols.index(symbol) for symbol in symbols])

    def head(self, n_bars: int) -> Dataset:
        """Return a dataset of the first `n_bars` bars."""
        n_bars = checked_integer("n_bars", n_bars, 2, self.n_bars, "window_invalid")
        return self.between(0, n_bars)

    def between(self, start: int, end: int) -> Dataset:
        """Return a dataset of the bars `[start, end)`."""
        start = checked_integer("start", start, 0, self.n_bars - 2, "window_invalid")
        end = checked_integer("end", end, start + 2, self.n_bars, "window_invalid")
        return self._cut(slice(start, end), list(range(self.n_symbols)))

    def resample(
        self, every: str, *, tz: str | None = None, day_starts: str | None = None, periods_per_year: float | None = None
    ) -> Dataset:
        """Return the market in longer bars, each dated by its last bar.

        `docs/your-data.md` states the rules. Weeks end on Sunday.

        Args:
            every: Period such as `15min`, `1h`, `1d`, `1w`, `1mo`, `1q` or `1y`; spellings of pandas work too.
            tz: IANA zone of the days, for times in UTC. Bars of days are then dated by the date on which they end.
            day_starts: Clock time in `tz` at which days start, such as `17:00`.
            periods_per_year: Bars per year; inferred from the new dates by default.

        Raises:
            OpenOutcryError: the period is not longer than the bars, or fewer than 2 bars are left.
        """
        from openoutcry.data import resample

        values = self._columns() | {"periods_per_year": periods_per_year, "notices": self.notices}
        return Dataset.from_arrays(**resample.resampled(values, every, tz, day_starts), name=self.name)

    def masked(self, key: bytes | int, level: str = "full") -> Dataset:
        """Return the market with masked names, prices and dates, and the same returns.

        Args:
            key: 32 secret bytes, or an integer from 0 to 2^64 - 1, which can be found by enumeration.
            level: `names`, `levels`, `calendar` or `full`. Each level includes the previous ones (`docs/masking.md`).

        Raises:
            OpenOutcryError: `argument_invalid`: the key or the level is invalid.
        """
        from openoutcry.data import masking

        masked, notices = masking.mask(self._columns(), key, level)
        return Dataset.from_arrays(**masked, name=masking.NAME, notices=notices)

    def __len__(self) -> int:
        return self.n_bars

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        span = f"{self._core.dates[0]} .. {self._core.dates[-1]}"
        size = f"{self.n_bars} bars x {counted(self.n_symbols, 'symbol')}, {span}"
        fills = f"{columns.periods_text(self.periods_per_year)}, {'next open' if self.has_opens else 'close to close'}"
        return native.readable_text(f"Dataset({self.name!r}, {size}, {fills})")

    def __deepcopy__(self, memo: object = None) -> Dataset:
        return self  # immutable, so that copies share one market

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        labels = {"name": self.name, "notices": self.notices, "commitment": self.commitment}
        return call_with_keywords, (Dataset.from_bytes, (self.to_bytes(),), labels)

    def _known(self) -> tuple[str, bytes | None]:
        return self.name, None if self.commitment is None else bytes.fromhex(self.commitment)  # as in records

    def _columns(self) -> dict[str, Any]:
        tables = {name: getattr(self, name) for name in ("close", *TABLES, "tradable", "risk_free")}
        axis = {"dates": self._core.dates, "symbols": self.symbols, "periods_per_year": self.periods_per_year or np.nan}
        return axis | tables | {"fundamentals": self.fundamentals, "news": self.news, "features": self.features}

    def _cut(self, rows: slice, places: list[int]) -> Dataset:
        cut = columns.cut(self._columns() | {"notices": self.notices}, rows, places)
        cut["features"] = feature_columns.cut(self.features, rows, places)
        return Dataset.from_arrays(**cut, name=self.name)
