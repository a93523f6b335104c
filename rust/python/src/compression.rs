//! Zstandard compression, so that Python needs no package for it.

use std::io::{Read, Write};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zstd::stream::{read, write};

use crate::error::raise;

/// Compression level, the default of the zstd command.
const LEVEL: i32 = 3;

/// Largest size of a decompressed frame: this, and a hundred times its own size.
///
/// But never more than `MOST_BYTES`. Digests do not compress, so no record reaches the bound. A decompression bomb does.
const FREE_BYTES: usize = 1 << 26;

/// Largest size of a record.
const MOST_BYTES: usize = 1 << 30;

/// Writer of one zstd frame.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct Compressor(Option<write::Encoder<'static, Vec<u8>>>);

#[pymethods]
impl Compressor {
    #[new]
    fn new() -> PyResult<Self> {
        let mut encoder = write::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(Self(Some(encoder)))
    }

    /// Compress bytes, and return the output that is ready.
    fn write<'py>(&mut self, py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let encoder = self.0.as_mut().ok_or_else(closed)?;
        encoder.write_all(content)?;
        encoder.flush()?;
        Ok(PyBytes::new(py, &std::mem::take(encoder.get_mut())))
    }

    /// Return the end of the frame, after which nothing can be written.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let rest = self.0.take().ok_or_else(closed)?.finish()?;
        Ok(PyBytes::new(py, &rest))
    }
}

fn closed() -> PyErr {
    PyOSError::new_err("an open frame is required; received a finished frame")
}

/// Decompress a zstd frame, and return whether it is complete.
///
/// Raises:
///     OpenOutcryError: `record_invalid`: the bytes are not a frame, are damaged, or exceed the size of any record.
#[pyfunction]
pub(crate) fn decompress<'py>(py: Python<'py>, content: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
    let required = "a record must be the JSON of `record.schema.json`; received";
    let mut decoder = read::Decoder::with_buffer(content)?;
    let most = content.len().saturating_mul(100).saturating_add(FREE_BYTES).min(MOST_BYTES);
    let mut whole = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok((PyBytes::new(py, &whole), true)),
            Ok(n) if whole.len() + n > most => {
                return Err(raise("record_invalid", &format!("{required} zstd of more than {most} bytes")));
            }
            Ok(n) => whole.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Ok((PyBytes::new(py, &whole), false));
            }
            Err(error) => return Err(raise("record_invalid", &format!("{required} corrupt zstd: {error}"))),
        }
    }
}
