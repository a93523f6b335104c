//! The dates of bars, without a text per bar.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::datetime::{Datetime, units};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyReadonlyArray1};
use openoutcry::{Dataset as CoreDataset, DateForm, Dates as CoreDates};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySequence, PySlice, PyTuple};

use crate::arguments::{Text, strings};
use crate::error::to_py;

/// Dates of the bars of a market, a read-only sequence of ISO 8601 texts.
#[pyclass(frozen, sequence, module = "openoutcry.openoutcry_py")]
pub struct Dates {
    data: Arc<CoreDataset>,
    start: isize,
    step: isize,
    length: usize,
}

impl Dates {
    pub(crate) fn of(data: Arc<CoreDataset>) -> Self {
        Self { start: 0, step: 1, length: data.n_bars(), data }
    }

    /// Registers the class as a sequence.
    pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
        PySequence::register::<Self>(py)
    }

    /// Returns the bar of the market at a place.
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "a place in the market")]
    fn bar(&self, place: usize) -> usize {
        (self.start + self.step * place as isize) as usize
    }

    fn bars(&self) -> impl Iterator<Item = usize> {
        (0..self.length).map(|place| self.bar(place))
    }

    /// Returns the place of a text.
    fn place(&self, text: &str) -> Option<usize> {
        let from_start = self.data.dates().bar_of(text)?.cast_signed() - self.start;
        let place = usize::try_from(from_start / self.step).ok()?;
        (from_start % self.step == 0 && place < self.length).then_some(place)
    }

    /// Returns the dates of the engine.
    pub(crate) fn core(&self) -> Cow<'_, CoreDates> {
        let dates = self.data.dates();
        if self.step == 1 && self.length == dates.len() {
            Cow::Borrowed(dates)
        } else if self.step == 1 {
            Cow::Owned(dates.part(self.bar(0)..self.bar(self.length)))
        } else {
            Cow::Owned(self.bars().map(|bar| dates.get(bar).to_string()).collect())
        }
    }
}

#[pymethods]
impl Dates {
    fn __len__(&self) -> usize {
        self.length
    }

    #[expect(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "a place in the market")]
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            let part = slice.indices(self.length as isize)?;
            let (start, step) = (self.start + self.step * part.start, self.step * part.step);
            let part = Self { data: Arc::clone(&self.data), start, step, length: part.slicelength };
            return Ok(Bound::new(py, part)?.into_any());
        }
        let index: isize = key.extract()?;
        let place = if index < 0 { index + self.length as isize } else { index };
        if place < 0 || place >= self.length as isize {
            return Err(PyIndexError::new_err("index out of range"));
        }
        Ok((*self.data.dates().get(self.bar(place as usize))).into_pyobject(py)?.into_any())
    }

    fn __contains__(&self, text: &Bound<'_, PyAny>) -> bool {
        text.extract::<String>().is_ok_and(|text| self.place(&text).is_some())
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let dates = self.data.dates();
        let is_same = if let Ok(other) = other.cast::<Self>() {
            let other = other.get();
            self.length == other.length
                && self
                    .bars()
                    .zip(other.bars())
                    .all(|(ours, theirs)| *dates.get(ours) == *other.data.dates().get(theirs))
        } else if other.is_instance_of::<PyList>() || other.is_instance_of::<PyTuple>() {
            let mut is_same = other.len()? == self.length;
            for (bar, text) in self.bars().zip(other.try_iter()?) {
                is_same = is_same && text?.extract::<String>().is_ok_and(|text| text == *dates.get(bar));
            }
            is_same
        } else {
            return Ok(py.NotImplemented());
        };
        Ok(is_same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __repr__(&self) -> String {
        let dates = self.data.dates();
        let shown: Vec<String> = self.bars().take(2).map(|bar| format!("{:?}", dates.get(bar))).collect();
        format!("Dates([{}{}])", shown.join(", "), if self.length > 2 { ", ..." } else { "" })
    }

    /// Return the place of a date.
    ///
    /// Raises:
    ///     ValueError: there is no such date.
    fn index(&self, text: Text) -> PyResult<usize> {
        self.place(&text)
            .ok_or_else(|| PyValueError::new_err(format!("a date of a bar is required; received {:?}", text.0)))
    }

    /// Times of the bars, datetime64[s], read-only.
    #[getter]
    #[expect(unsafe_code, reason = "the array borrows from the market, which it keeps alive and which never changes")]
    fn times<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, dates) = (slf.py(), slf.get());
        let Some(Cow::Borrowed(times)) = dates.data.dates().times() else {
            return Err(PyValueError::new_err("valid dates are required"));
        };
        let array = if dates.step == 1 {
            let view = ArrayView1::from(&times[dates.bar(0)..dates.bar(dates.length)]);
            // SAFETY: the container holds the market whose dates are viewed.
            unsafe { PyArray1::borrow_from_array(&view, slf.clone().into_any()) }
        } else {
            PyArray1::from_iter(py, dates.bars().map(|bar| times[bar]))
        };
        array.call_method1("setflags", (false,))?;
        array.call_method1("view", ("datetime64[s]",))
    }
}

/// Dates of a caller: of a market, datetime64 in days or seconds, or texts.
pub(crate) struct GivenDates(pub(crate) CoreDates);

impl<'py> FromPyObject<'_, 'py> for GivenDates {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(dates) = value.cast::<Dates>() {
            return Ok(Self(dates.get().core().into_owned()));
        }
        let of = |form, times| CoreDates::from_times(form, times).map(Self).map_err(to_py);
        if let Ok(days) = value.extract::<PyReadonlyArray1<'_, Datetime<units::Days>>>() {
            let seconds = |day: &Datetime<units::Days>| i64::from(*day).saturating_mul(86_400);
            return of(DateForm::Day, days.as_array().iter().map(seconds).collect());
        }
        if let Ok(times) = value.extract::<PyReadonlyArray1<'_, Datetime<units::Seconds>>>() {
            return of(DateForm::Second, times.as_array().iter().map(|time| i64::from(*time)).collect());
        }
        Ok(Self(strings(value.extract::<Vec<Text>>()?).into()))
    }
}
