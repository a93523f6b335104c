use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use openoutcry::{Columns, Dataset as CoreDataset, Feature, FeatureScope, Fundamental, NewsItem, Origin};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::arguments::{self, Text, strings};
use crate::arrays;
use crate::dates::{Dates, GivenDates};
use crate::error::{raise, to_py};

/// The native market behind `openoutcry.Dataset`.
#[pyclass(frozen, from_py_object, module = "openoutcry.openoutcry_py")]
#[derive(Clone)]
pub struct Dataset(pub(crate) Arc<CoreDataset>);

impl From<CoreDataset> for Dataset {
    fn from(data: CoreDataset) -> Self {
        Self(Arc::new(data))
    }
}

type Table<'py> = PyReadonlyArray2<'py, f64>;
/// Name, scope and values of a feature.
type NamedFeature<'py> = (String, &'static str, Bound<'py, PyArray2<f64>>);

#[pymethods]
impl Dataset {
    /// Return a market of columns, each of shape `(n_bars, n_symbols)`.
    ///
    /// `features` has names, scopes (`symbol` or `market`) and values, bar after bar. `origin` has the frame row of
    /// each bar, or the cell of each frame row.
    #[staticmethod]
    #[pyo3(signature = (dates, symbols, close, *, periods_per_year=None, open=None, high=None, low=None, volume=None, dividends=None, splits=None, tradable=None, delistings=None, half_spread_bps=None, fee_bps=None, borrow_bps=None, funding=None, risk_free=None, fundamentals=None, news=None, features=None, origin=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only columns of one struct")]
    fn from_arrays(
        py: Python<'_>,
        dates: GivenDates,
        symbols: Vec<Text>,
        close: Table<'_>,
        periods_per_year: Option<&Bound<'_, PyAny>>,
        open: Option<Table<'_>>,
        high: Option<Table<'_>>,
        low: Option<Table<'_>>,
        volume: Option<Table<'_>>,
        dividends: Option<Table<'_>>,
        splits: Option<Table<'_>>,
        tradable: Option<PyReadonlyArray2<'_, bool>>,
        delistings: Option<Table<'_>>,
        half_spread_bps: Option<Table<'_>>,
        fee_bps: Option<Table<'_>>,
        borrow_bps: Option<Table<'_>>,
        funding: Option<Table<'_>>,
        risk_free: Option<PyReadonlyArray1<'_, f64>>,
        fundamentals: Option<Vec<(Text, Text, Text, f64)>>,
        news: Option<Vec<(Text, Text, Text)>>,
        features: Option<Vec<(Text, Text, PyReadonlyArray1<'_, f64>)>>,
        origin: Option<(Vec<usize>, Vec<u32>)>,
    ) -> PyResult<Self> {
        let periods_per_year = periods_per_year.map(arguments::periods_per_year).transpose()?;
        let (dates, symbols) = (dates.0, strings(symbols));
        let shape = (dates.len(), symbols.len());
        let table =
            |name: &str, array: Option<Table<'_>>| array.map(|array| arrays::table(name, &array, shape)).transpose();
        let symbol_of = |name: &str| {
            symbols.iter().position(|symbol| symbol == name).ok_or_else(|| {
                raise("symbol_invalid", &format!("a symbol of the dataset is required; received {name:?}"))
            })
        };
        let fundamentals = fundamentals.unwrap_or_default().into_iter().map(|(symbol, available_at, name, value)| {
            Ok(Fundamental { symbol: symbol_of(&symbol)?, available_at: available_at.0, name: name.0, value })
        });
        let news = news.unwrap_or_default().into_iter().map(|(symbol, available_at, headline)| {
            Ok(NewsItem { symbol: symbol_of(&symbol)?, available_at: available_at.0, headline: headline.0 })
        });
        let columns = Columns {
            fundamentals: fundamentals.collect::<PyResult<_>>()?,
            news: news.collect::<PyResult<_>>()?,
            features: features.unwrap_or_default().into_iter().map(feature).collect::<PyResult<_>>()?,
            close: arrays::table("close", &close, shape)?,
            open: table("open", open)?,
            high: table("high", high)?,
            low: table("low", low)?,
            volume: table("volume", volume)?,
            dividends: table("dividends", dividends)?,
            splits: table("splits", splits)?,
            tradable: tradable.map(|array| arrays::table("tradable", &array, shape)).transpose()?,
            delistings: table("delistings", delistings)?,
            charges: [
                table("half_spread_bps", half_spread_bps)?,
                table("fee_bps", fee_bps)?,
                table("borrow_bps", borrow_bps)?,
                table("funding", funding)?,
            ],
            risk_free: risk_free.map(|array| array.as_array().to_vec()),
            periods_per_year: 0.0,
            origin: origin.map_or_else(Origin::default, |(of_bar, cells)| Origin {
                of_bar,
                cells,
                ..Origin::default()
            }),
            dates,
            symbols,
        };
        let data = py.detach(|| CoreDataset::with_periods_per_year(columns, periods_per_year));
        data.map(Self::from).map_err(to_py)
    }

    /// Return the market of a CSV text, long or wide.
    #[staticmethod]
    #[pyo3(signature = (text, *, periods_per_year=None))]
    fn from_csv(
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        periods_per_year: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let text = arguments::csv_text(text)?;
        let periods_per_year = periods_per_year.map(arguments::periods_per_year).transpose()?;
        let data = py.detach(|| CoreDataset::from_csv(text, periods_per_year));
        data.map(Self::from).map_err(to_py)
    }

    /// Return a market of random walks, a function of its seed.
    #[staticmethod]
    fn synthetic(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::n_symbols)] n_symbols: usize,
        #[pyo3(from_py_with = arguments::n_days)] n_days: usize,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
    ) -> PyResult<Self> {
        let data = py.detach(|| CoreDataset::synthetic(n_symbols, n_days, seed));
        data.map(Self::from).map_err(to_py)
    }

    /// Return the canonical bytes of the market.
    ///
    /// The fingerprint is their SHA-256.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.0.to_bytes());
        PyBytes::new(py, &bytes)
    }

    /// Return the market of bytes that `to_bytes` wrote.
    ///
    /// Raises:
    ///     OpenOutcryError: `bytes_invalid`: they are not the canonical bytes of a market.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        py.detach(|| CoreDataset::from_bytes(content)).map(Self::from).map_err(to_py)
    }

    /// Dates of the bars, ascending.
    #[getter]
    fn dates(&self) -> Dates {
        Dates::of(Arc::clone(&self.0))
    }

    /// Names of the symbols, in the order of the columns.
    #[getter]
    fn symbols<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.symbols())
    }

    /// Number of bars.
    #[getter]
    fn n_bars(&self) -> usize {
        self.0.n_bars()
    }

    /// Number of symbols.
    #[getter]
    fn n_symbols(&self) -> usize {
        self.0.n_symbols()
    }

    /// Bars per year.
    #[getter]
    fn periods_per_year(&self) -> Option<f64> {
        self.0.periods_per_year()
    }

    /// Whether there is an `open` column; without one fills are close to close.
    #[getter]
    fn has_opens(&self) -> bool {
        self.0.has_opens()
    }

    /// Whether the market has a column of volumes.
    #[getter]
    fn has_volume(&self) -> bool {
        self.0.has_volume()
    }

    /// Whether some symbol has volumes and all are 0.
    #[getter]
    fn has_silent_volume(&self) -> bool {
        self.0.has_silent_volume()
    }

    /// Return why opens are on another basis than closes, None if they are not.
    fn open_basis_fault(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.0.open_basis_fault())
    }

    /// Return notices of closes and opens that are far from their neighbours.
    fn price_jump_notices(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.price_jump_notices())
    }

    /// Return a notice of symbols without any close, None if all have closes.
    fn never_closing_notice(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.0.never_closing_notice())
    }

    /// Return a column by name, None if the market lacks it.
    ///
    /// Shape `(n_bars, n_symbols)`, float64.
    fn column<'py>(&self, py: Python<'py>, name: Text) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.0.column(&name).map(|values| arrays::matrix(py, values, self.0.n_bars())).transpose()
    }

    /// Risk-free return of each bar, shape `(n_bars,)`; None if unknown.
    #[getter]
    fn risk_free<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.risk_free().map(|values| arrays::vector(py, values.to_vec()))
    }

    /// Fundamentals as `(symbol, available_at, name, value)`.
    #[getter]
    fn fundamentals(&self) -> Vec<(String, String, String, f64)> {
        self.0.fundamentals().map(|(symbol, at, name, value)| (symbol.into(), at.into(), name.into(), value)).collect()
    }

    /// Headlines as `(symbol, available_at, headline)`.
    #[getter]
    fn news(&self) -> Vec<(String, String, String)> {
        self.0.news().map(|(symbol, at, headline)| (symbol.into(), at.into(), headline.into())).collect()
    }

    /// Features as `(name, scope, values)`.
    ///
    /// Values have shape `(n_bars, n_symbols)`, or `(n_bars, 1)` of the market.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Vec<NamedFeature<'py>>> {
        let of = |feature: &Feature| {
            let values = arrays::matrix(py, feature.values.clone(), self.0.n_bars())?;
            Ok((feature.name.clone(), feature.scope.name(), values))
        };
        self.0.features().iter().map(of).collect()
    }

    /// SHA-256 of the canonical bytes, in hex.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> String {
        use std::fmt::Write;
        let digest = py.detach(|| self.0.fingerprint());
        digest.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

fn feature((name, scope, values): (Text, Text, PyReadonlyArray1<'_, f64>)) -> PyResult<Feature> {
    let known = FeatureScope::by_name(&scope);
    let scope = known.ok_or_else(|| {
        raise("argument_invalid", &format!("the scope of a feature must be symbol or market; received {:?}", scope.0))
    })?;
    Ok(Feature { name: name.0, scope, values: values.as_array().to_vec() })
}

/// Return notices of dates that hold fewer or more bars than their number.
///
/// The dates are ascending ISO 8601 texts, the number is of bars per year.
#[pyfunction]
pub(crate) fn bar_count_notices(dates: GivenDates, periods_per_year: f64, is_stated: bool) -> Vec<String> {
    openoutcry::bar_count_notices(&dates.0, periods_per_year, is_stated)
}

/// Return the number of bars per year that ascending ISO 8601 dates imply, or None.
#[pyfunction]
pub(crate) fn inferred_periods_per_year(dates: GivenDates) -> Option<f64> {
    openoutcry::inferred_periods_per_year(&dates.0)
}

/// Return the largest return of cash in one bar, from the bars per year.
#[pyfunction]
pub(crate) fn most_cash_return(periods_per_year: f64) -> f64 {
    openoutcry::most_cash_return(periods_per_year)
}

/// Refuse a market given as rows whose tables would be much larger than the rows.
#[pyfunction]
pub(crate) fn check_rows(n_rows: usize, n_symbols: usize, n_bars: usize, n_columns: usize) -> PyResult<()> {
    openoutcry::check_rows(n_rows, n_symbols, n_bars, n_columns).map_err(to_py)
}
