use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use openoutcry::parquet::{Chunk, PageHeaders, Source, footer_size, row_groups};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A Parquet file: its path, or its bytes.
#[derive(FromPyObject)]
pub(crate) enum Parquet<'py> {
    #[pyo3(transparent)]
    Bytes(PyReadonlyArray1<'py, u8>),
    #[pyo3(transparent)]
    Path(PathBuf),
}

/// Number of values, uncompressed bytes and encodings of a column of a group.
type ColumnSizes = (u64, u64, Vec<i64>);

/// Return the sizes of the columns of each group of rows of a Parquet file.
///
/// Each is its number of values, its uncompressed bytes, and its encodings. Bytes are those that the footer or the
/// headers of the pages state, whichever are more. Raise ValueError if they are damaged or encrypted.
#[pyfunction]
pub(crate) fn parquet_columns(py: Python<'_>, source: Parquet<'_>) -> PyResult<Vec<Vec<ColumnSizes>>> {
    match source {
        Parquet::Path(path) => {
            let mut file = File::open(path)?;
            let n_bytes = file.seek(SeekFrom::End(0))?;
            py.detach(|| sizes(FileSource(file), n_bytes))
        }
        Parquet::Bytes(bytes) => {
            let content = bytes.as_slice()?;
            sizes(content, content.len() as u64)
        }
    }
    .map_err(PyValueError::new_err)
}

struct FileSource(File);

impl Source for FileSource {
    fn read(&mut self, at: u64, n: usize, into: &mut Vec<u8>) -> Result<(), String> {
        into.clear();
        let read = self.0.seek(SeekFrom::Start(at)).and_then(|_| (&mut self.0).take(n as u64).read_to_end(into));
        read.map(|_| ()).map_err(|error| error.to_string())
    }
}

fn sizes(mut source: impl Source, n_bytes: u64) -> Result<Vec<Vec<ColumnSizes>>, String> {
    let mut end = Vec::new();
    source.read(n_bytes.saturating_sub(8), 8, &mut end)?;
    let size = footer_size(&end)?;
    let at = n_bytes.checked_sub(size).ok_or("the footer is incomplete")?;
    let room = usize::try_from(size).map_err(|_| "the footer is incomplete")?;
    source.read(at, room, &mut end)?;
    let groups = row_groups(&end)?;
    let mut headers = PageHeaders::new(source, n_bytes);
    let mut sizes_of = |chunk: Chunk| {
        let n_bytes = headers.uncompressed_bytes(&chunk)?.max(chunk.n_bytes);
        Ok((chunk.n_values, n_bytes, chunk.encodings))
    };
    groups.into_iter().map(|group| group.into_iter().map(&mut sizes_of).collect()).collect()
}
