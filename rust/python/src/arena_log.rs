//! Binds the Merkle tree and the audit of an arena log.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use openoutcry::arena_log::{Decided, Fault, Head, Log, record_fault, seal_submission};
use openoutcry::counted;
use openoutcry::merkle::{Hash, OutOfTree, Tree, hash_leaf, is_consistent, is_included};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::arguments::{JsonText, Text};
use crate::error::raise;

fn refused(error: OutOfTree) -> PyErr {
    raise("argument_invalid", &error.to_string())
}

fn listed<'py>(py: Python<'py>, hashes: &[Hash]) -> Vec<Bound<'py, PyBytes>> {
    hashes.iter().map(|hash| PyBytes::new(py, hash)).collect()
}

/// The Merkle tree of an append-only log, with the hashes of RFC 9162.
///
/// Thread-safe: a reader sees the tree before or after an append.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct MerkleTree(RwLock<Tree>);

impl MerkleTree {
    // A tree behind a poisoned lock is valid: no change of it can panic halfway.
    fn read(&self) -> RwLockReadGuard<'_, Tree> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tree> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `ask` with loaded tiles, which are dropped afterwards.
    fn ask<T>(&self, tiles: Tiles, ask: impl FnOnce(&Tree) -> Result<T, OutOfTree>) -> PyResult<T> {
        let Some(tiles) = tiles.filter(|tiles| !tiles.is_empty()) else { return ask(&self.read()).map_err(refused) };
        let mut tree = self.write();
        let other = tiles.iter().find(|(tile, leaves)| !tree.warm(**tile, leaves.as_chunks::<32>().0.to_vec()));
        let found = if other.is_none() { Some(ask(&tree)) } else { None };
        tree.cool();
        let message =
            || format!("`tiles[{}]` must be a tile of the log; received other hashes", other.map_or(0, |each| *each.0));
        found.ok_or_else(|| raise("argument_invalid", &message()))?.map_err(refused)
    }
}

/// Tiles of leaf hashes by index.
type Tiles = Option<BTreeMap<usize, PyBackedBytes>>;

/// Returns contiguous hashes.
fn hashes(name: &str, bytes: &[u8]) -> PyResult<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() {
        let message = format!("`{name}` must have 32 bytes per hash; received {}", counted(bytes.len(), "byte"));
        return Err(raise("argument_invalid", &message));
    }
    Ok(hashes.to_vec())
}

#[pymethods]
impl MerkleTree {
    #[new]
    #[pyo3(signature = (leaf_hashes=None))]
    fn new(py: Python<'_>, leaf_hashes: Option<PyBackedBytes>) -> PyResult<Self> {
        let leaves = hashes("leaf_hashes", leaf_hashes.as_deref().unwrap_or_default())?;
        Ok(Self(RwLock::new(py.detach(|| Tree::from_leaf_hashes(leaves)))))
    }

    /// Return the tree of the hashes of full tiles, followed by leaves.
    ///
    /// It does not store the leaves of those tiles. A proof that needs a tile takes it as an argument.
    #[staticmethod]
    fn of_tiles(tiles: PyBackedBytes, leaf_hashes: PyBackedBytes) -> PyResult<Self> {
        let tree = Tree::from_tiles(hashes("tiles", &tiles)?, hashes("leaf_hashes", &leaf_hashes)?);
        Ok(Self(RwLock::new(tree)))
    }

    /// Number of leading leaves that are not stored.
    #[getter]
    fn n_cold(&self) -> usize {
        self.read().cold()
    }

    fn __len__(&self) -> usize {
        self.read().len()
    }

    /// Append entries as leaves, and return the number of leaves.
    fn append(&self, py: Python<'_>, entries: Vec<PyBackedBytes>) -> usize {
        py.detach(|| {
            let leaves: Vec<_> = entries.iter().map(|entry| hash_leaf(entry)).collect();
            let mut tree = self.write();
            tree.extend(leaves);
            tree.len()
        })
    }

    /// Remove the leaves from `size` on.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree has fewer leaves.
    fn truncate(&self, size: usize) -> PyResult<()> {
        self.write().truncate(size).map_err(refused)
    }

    /// Return the root of the first `size` leaves, of all by default.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree has fewer leaves.
    #[pyo3(signature = (size=None))]
    fn root<'py>(&self, py: Python<'py>, size: Option<usize>) -> PyResult<Bound<'py, PyBytes>> {
        let tree = self.read();
        let root = tree.root(size.unwrap_or(tree.len())).map_err(refused)?;
        Ok(PyBytes::new(py, &root))
    }

    /// Return the inclusion proof of a leaf in the tree of the first `size` leaves.
    ///
    /// 32 bytes per hash, from the sibling of the leaf up; see RFC 9162, 2.1.3.1. `tiles` are those of `index` and of
    /// the last leaf, by index, if the tree does not store them.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree has fewer leaves, no such leaf, or needs a tile.
    #[pyo3(signature = (index, size=None, tiles=None))]
    fn inclusion<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        size: Option<usize>,
        tiles: Tiles,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let proof = self.ask(tiles, |tree| tree.inclusion(index, size.unwrap_or(tree.len())))?;
        Ok(listed(py, &proof))
    }

    /// Return the consistency proof of the trees of the first `old` and `size` leaves.
    ///
    /// 32 bytes per hash; see RFC 9162, 2.1.4.1. `tiles` are those of the last leaves of both trees, by index, if the
    /// tree does not store them.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree has fewer leaves, `old` is not from 1 to `size`, or it needs a
    ///         tile.
    #[pyo3(signature = (old, size=None, tiles=None))]
    fn consistency<'py>(
        &self,
        py: Python<'py>,
        old: usize,
        size: Option<usize>,
        tiles: Tiles,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let proof = self.ask(tiles, |tree| tree.consistency(old, size.unwrap_or(tree.len())))?;
        Ok(listed(py, &proof))
    }

    /// Return the first `width` hashes of a tile, concatenated (c2sp.org/tlog-tiles).
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree is too small, or `width` is out of range.
    #[pyo3(signature = (level, index, width=256))]
    fn tile<'py>(&self, py: Python<'py>, level: usize, index: usize, width: usize) -> PyResult<Bound<'py, PyBytes>> {
        let tree = self.read();
        let hashes = tree.tile(level, index, width).map_err(refused)?;
        Ok(PyBytes::new(py, hashes.as_flattened()))
    }
}

/// Return whether an inclusion proof is valid.
#[pyfunction]
pub(crate) fn merkle_is_included(
    index: u64,
    size: u64,
    leaf_hash: &[u8],
    proof: Vec<PyBackedBytes>,
    root: &[u8],
) -> bool {
    is_included(index, size, leaf_hash, &proof, root)
}

/// Return whether a consistency proof is valid.
///
/// There is no proof from an empty tree.
#[pyfunction]
pub(crate) fn merkle_is_consistent(
    old: u64,
    size: u64,
    old_root: &[u8],
    root: &[u8],
    proof: Vec<PyBackedBytes>,
) -> bool {
    is_consistent(old, size, old_root, root, &proof)
}

/// Return the fault of a text as a record of an arena log; None if it is valid.
#[pyfunction]
pub(crate) fn log_record_fault(text: JsonText) -> Option<String> {
    record_fault(&text)
}

/// Seal a submission as a record of an arena log.
///
/// Args:
///     link: Its sequence number, and the SHA-256 of the previous record in hexadecimal.
///     members: `submission_id`, `agent_slug`, `received_at`, `snapshot_as_of` and `snapshot_sha256`.
///     decisions: For each: market, probability of YES, confidence or None, reasoning or None.
///     salts: 32 bytes for each.
///
/// Returns:
///     The record, its SHA-256 in hexadecimal, and the bodies that open its commitments: a JSON list in their order.
///
/// Raises:
///     OpenOutcryError: `argument_invalid`: the record is not valid.
#[pyfunction]
pub(crate) fn log_submission(
    py: Python<'_>,
    link: (u64, Text),
    members: [Text; 5],
    decisions: Vec<(Text, Text, Option<Text>, Option<Text>)>,
    salts: PyBackedBytes,
) -> PyResult<(Bound<'_, PyBytes>, String, String)> {
    let salts = hashes("salts", &salts)?;
    if salts.len() != decisions.len() {
        let message = format!(
            "`salts` must have {}, one per decision; received {}",
            counted(decisions.len(), "element"),
            salts.len()
        );
        return Err(raise("argument_invalid", &message));
    }
    let [submission_id, agent_slug, received_at, snapshot_as_of, snapshot_sha256] =
        members.each_ref().map(|each| &**each);
    let prev_sha256 = &*link.1;
    let head =
        Head { seq: link.0, prev_sha256, submission_id, agent_slug, received_at, snapshot_as_of, snapshot_sha256 };
    let decided: Vec<_> = decisions
        .iter()
        .zip(salts)
        .map(|((market_id, yes_probability, confidence, reasoning), salt)| Decided {
            market_id,
            yes_probability,
            confidence: confidence.as_deref(),
            reasoning: reasoning.as_deref(),
            salt,
        })
        .collect();
    let sealed = seal_submission(&head, &decided)
        .map_err(|fault| raise("argument_invalid", &format!("a valid record of the log is required: {fault}")))?;
    Ok((PyBytes::new(py, sealed.record.as_bytes()), sealed.sha256, sealed.opened))
}

/// An arena log read from `log.jsonl`, valid or not.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct LogAudit {
    content: PyBackedBytes,
    log: Log,
}

fn fault_rows(faults: &[Fault]) -> Vec<(usize, String)> {
    faults.iter().map(|fault| (fault.line, fault.why.clone())).collect()
}

#[pymethods]
impl LogAudit {
    #[new]
    fn new(py: Python<'_>, content: PyBackedBytes) -> Self {
        let log = py.detach(|| Log::read(&content));
        Self { content, log }
    }

    fn __len__(&self) -> usize {
        self.log.tree.len()
    }

    /// Number of records from days before that of the last record, by their times.
    #[getter]
    fn n_before_today(&self) -> usize {
        self.log.n_before_today
    }

    /// Return the invalid lines, from 0, and their faults.
    fn faults(&self) -> Vec<(usize, String)> {
        fault_rows(&self.log.faults)
    }

    /// Return the root of the first `size` lines.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: there are fewer.
    fn root<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.log.tree.root(size).map_err(refused)?))
    }

    /// Return the SHA-256 of a line.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: there are fewer.
    fn digest<'py>(&self, py: Python<'py>, line: usize) -> PyResult<Bound<'py, PyBytes>> {
        let digest = self.log.digests.get(line);
        let least = "`line` must be a line of the log";
        let digest = digest.ok_or_else(|| raise("argument_invalid", &format!("{least}; received {line}")))?;
        Ok(PyBytes::new(py, digest))
    }

    /// Return the valid records other than submissions, by line.
    fn others<'py>(&self, py: Python<'py>) -> Vec<(usize, Bound<'py, PyBytes>)> {
        let others = self.log.others.iter();
        others.map(|(line, place)| (*line, PyBytes::new(py, &self.content[place.clone()]))).collect()
    }

    /// Return the invalid lines of `reveals.jsonl`, from 0, and their faults.
    fn reveal(&self, py: Python<'_>, reveals: PyBackedBytes) -> Vec<(usize, String)> {
        fault_rows(&py.detach(|| self.log.reveal(&self.content, &reveals)))
    }
}
