//! The tree of a log, and the audit of one.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use openoutcry::arena_log::{Decided, Fault, Head, Log, record_fault, seal_submission};
use openoutcry::merkle::{Hash, OutOfTree, Tree, hash_leaf, is_consistent, is_included};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;

use crate::error::raise;

fn refused(error: OutOfTree) -> PyErr {
    raise("argument_invalid", &error.to_string())
}

fn listed<'py>(py: Python<'py>, hashes: &[Hash]) -> Vec<Bound<'py, PyBytes>> {
    hashes.iter().map(|hash| PyBytes::new(py, hash)).collect()
}

/// The Merkle tree of an append-only log, with the hashes of RFC 9162.
///
/// Several threads may use one: who reads sees the tree before or after an append.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct MerkleTree(RwLock<Tree>);

impl MerkleTree {
    // A tree that is behind a poisoned lock is whole: no change of it can panic halfway.
    fn read(&self) -> RwLockReadGuard<'_, Tree> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tree> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks with tiles handed in, which are forgotten afterwards.
    fn ask<T>(&self, tiles: Tiles, ask: impl FnOnce(&Tree) -> Result<T, OutOfTree>) -> PyResult<T> {
        let Some(tiles) = tiles.filter(|tiles| !tiles.is_empty()) else { return ask(&self.read()).map_err(refused) };
        let mut tree = self.write();
        let other = tiles.iter().find(|(tile, leaves)| !tree.warm(**tile, leaves.as_chunks::<32>().0.to_vec()));
        let found = if other.is_none() { Some(ask(&tree)) } else { None };
        tree.cool();
        let message =
            || format!("`tiles[{}]` must be that of the log; received another", other.map_or(0, |each| *each.0));
        found.ok_or_else(|| raise("argument_invalid", &message()))?.map_err(refused)
    }
}

/// Tiles of leaf hashes by their places.
type Tiles = Option<BTreeMap<usize, PyBackedBytes>>;

/// Returns hashes that lie in a row.
fn hashes(name: &str, bytes: &[u8]) -> PyResult<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() {
        let message = format!("`{name}` must be 32 bytes a leaf; received {} bytes", bytes.len());
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

    /// Return the tree of full tiles, by their hashes, and of leaves after them.
    ///
    /// It does without the leaves of those tiles. A proof that needs one takes it as an argument.
    #[staticmethod]
    fn of_tiles(tiles: PyBackedBytes, leaf_hashes: PyBackedBytes) -> PyResult<Self> {
        let tree = Tree::from_tiles(hashes("tiles", &tiles)?, hashes("leaf_hashes", &leaf_hashes)?);
        Ok(Self(RwLock::new(tree)))
    }

    /// The leaves in front that it does without.
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

    /// Forget the leaves from `size` on, as if they had never been appended.
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

    /// Return the proof that a leaf is in the tree of the first `size` leaves.
    ///
    /// 32 bytes a hash, from the leaf's sibling up; see RFC 9162, 2.1.3.1. `tiles` are those of `index` and of the last
    /// leaf, by their places, where the tree does without them.
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree has fewer leaves, no such one, or needs a tile.
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

    /// Return the proof that the first `old` leaves begin the first `size` leaves.
    ///
    /// 32 bytes a hash; see RFC 9162, 2.1.4.1. `tiles` are those of the last leaves of both, by their places, where the
    /// tree does without them.
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

    /// Return the first `width` hashes of a tile, in a row (c2sp.org/tlog-tiles).
    ///
    /// Raises:
    ///     OpenOutcryError: `argument_invalid`: the tree is too small for it, or no tile is so.
    #[pyo3(signature = (level, index, width=256))]
    fn tile<'py>(&self, py: Python<'py>, level: usize, index: usize, width: usize) -> PyResult<Bound<'py, PyBytes>> {
        let tree = self.read();
        let hashes = tree.tile(level, index, width).map_err(refused)?;
        Ok(PyBytes::new(py, hashes.as_flattened()))
    }
}

/// Return whether a proof leads from the hash of a leaf to a root.
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

/// Return whether a proof leads from an old root to a new one.
///
/// There is no proof from a tree without leaves.
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

/// Return why a text is no record of an arena's log; None if it is one.
#[pyfunction]
pub(crate) fn log_record_fault(text: &str) -> Option<String> {
    record_fault(text)
}

/// Seal a submission as a record of an arena's log.
///
/// Args:
///     link: Its place, and the SHA-256 of the record before in hexadecimal.
///     members: `submission_id`, `agent_slug`, `received_at`, `snapshot_as_of` and `snapshot_sha256`.
///     decisions: Of each: market, probability of YES, confidence or none, reasoning or none.
///     salts: 32 bytes of each.
///
/// Returns:
///     The record, its SHA-256 in hexadecimal, and the bodies that open its commitments: a JSON list in their order.
///
/// Raises:
///     OpenOutcryError: `argument_invalid`: a log takes no such record.
#[pyfunction]
pub(crate) fn log_submission(
    py: Python<'_>,
    link: (u64, PyBackedStr),
    members: [PyBackedStr; 5],
    decisions: Vec<(PyBackedStr, PyBackedStr, Option<PyBackedStr>, Option<PyBackedStr>)>,
    salts: PyBackedBytes,
) -> PyResult<(Bound<'_, PyBytes>, String, String)> {
    let salts = hashes("salts", &salts)?;
    if salts.len() != decisions.len() {
        let message = format!("`salts` must be {}, one a decision; received {}", decisions.len(), salts.len());
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
        .map_err(|fault| raise("argument_invalid", &format!("a record must be one of the log: {fault}")))?;
    Ok((PyBytes::new(py, sealed.record.as_bytes()), sealed.sha256, sealed.opened))
}

/// An arena's log as it was read from `log.jsonl`, whatever is wrong with it.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct LogAudit {
    content: PyBackedBytes,
    log: Log,
}

fn told(faults: &[Fault]) -> Vec<(usize, String)> {
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

    /// Records of the days before the last record's, by their own times.
    #[getter]
    fn n_before_today(&self) -> usize {
        self.log.n_before_today
    }

    /// Return the lines that are at fault, from 0, and why.
    fn faults(&self) -> Vec<(usize, String)> {
        told(&self.log.faults)
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
        let least = "`line` must be one that the log has";
        let digest = digest.ok_or_else(|| raise("argument_invalid", &format!("{least}; received {line}")))?;
        Ok(PyBytes::new(py, digest))
    }

    /// Return the whole records that are no submissions, by line.
    fn others<'py>(&self, py: Python<'py>) -> Vec<(usize, Bound<'py, PyBytes>)> {
        let others = self.log.others.iter();
        others.map(|(line, place)| (*line, PyBytes::new(py, &self.content[place.clone()]))).collect()
    }

    /// Return the lines of `reveals.jsonl` that are at fault, from 0, and why.
    fn reveal(&self, py: Python<'_>, reveals: PyBackedBytes) -> Vec<(usize, String)> {
        told(&py.detach(|| self.log.reveal(&self.content, &reveals)))
    }
}
