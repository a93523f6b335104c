//! Compressed files, so that Python needs no package for them.

use std::io::{Read, Write};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zstd::stream::{read, write};

use crate::error::raise;

/// Level of compression: that of zstd's command.
const LEVEL: i32 = 3;

/// Most bytes that a frame may hold: these, and a hundred times its own size.
///
/// The digests of a record do not compress, so that no record comes near; a file made to fill the memory would.
const FREE_BYTES: usize = 1 << 26;

/// Writes one frame of zstd, piece by piece.
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

    /// Compress some bytes, and return all that can be decompressed by now.
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
    PyOSError::new_err("an open frame is required; received one that is finished")
}

/// Decompress a frame of zstd, and say whether it is whole.
///
/// Raises:
///     OpenOutcryError: `record_invalid`: the bytes are no frame, were damaged, or are far more than a record can be.
#[pyfunction]
pub(crate) fn decompress<'py>(py: Python<'py>, content: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
    let wanted = "a record must be the JSON of `record.schema.json`; received";
    let mut decoder = read::Decoder::with_buffer(content)?;
    let most = content.len().saturating_mul(100).saturating_add(FREE_BYTES);
    let mut whole = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok((PyBytes::new(py, &whole), true)),
            Ok(n) if whole.len() + n > most => {
                return Err(raise("record_invalid", &format!("{wanted} zstd of more than {most} bytes")));
            }
            Ok(n) => whole.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Ok((PyBytes::new(py, &whole), false));
            }
            Err(error) => return Err(raise("record_invalid", &format!("{wanted} damaged zstd: {error}"))),
        }
    }
}
