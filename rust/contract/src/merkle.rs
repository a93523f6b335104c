//! The Merkle tree of an append-only log (RFC 9162, section 2).
//!
//! It stores the hash of every complete subtree. Roots and proofs of any size take a logarithmic number of hashes.

use std::collections::BTreeMap;
use std::ops::Range;

use sha2::{Digest, Sha256};
use thiserror::Error;

/// A SHA-256.
pub type Hash = [u8; 32];

/// The number of hashes in a full tile.
pub const TILE_WIDTH: usize = 256;

/// The level of the root of a full tile of leaves.
const TILE_LEVEL: usize = 8;

/// A position or size outside of the tree.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{name}` must be from {least} to {most}; received {received}")]
pub struct OutOfTree {
    name: &'static str,
    least: usize,
    most: usize,
    received: usize,
}

/// Returns the hash of a leaf: the hash of a zero byte and the entry.
#[must_use]
pub fn hash_leaf(entry: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(entry).finalize().into()
}

/// Returns the hash of a node: the hash of a one byte and both child hashes.
#[must_use]
pub fn hash_children(left: &[u8], right: &[u8]) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// Returns the largest power of two below `size`, the split point of its tree.
fn part(size: usize) -> usize {
    1 << (size - 1).ilog2()
}

fn within(name: &'static str, received: usize, least: usize, most: usize) -> Result<usize, OutOfTree> {
    if (least..=most).contains(&received) { Ok(received) } else { Err(OutOfTree { name, least, most, received }) }
}

/// An append-only Merkle tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// At `[k][i]`, the hash of the `1 << k` leaves from `i << k` on.
    ///
    /// Levels below 8 begin at leaf `cold`.
    levels: Vec<Vec<Hash>>,
    /// Number of leading leaves that are stored as tile hashes only.
    cold: usize,
    /// Tiles of those leaves that were loaded for a proof.
    warm: BTreeMap<usize, Self>,
}

impl Tree {
    /// Returns the tree of known leaf hashes.
    #[must_use]
    pub fn from_leaf_hashes(leaves: Vec<Hash>) -> Self {
        let mut tree = Self { levels: vec![leaves], ..Self::default() };
        tree.complete(0);
        tree
    }

    /// Returns the tree of the hashes of full tiles, followed by leaves.
    ///
    /// Proofs of leaves in such a tile need the tile: see `warm`.
    #[must_use]
    pub fn from_tiles(tiles: Vec<Hash>, leaves: Vec<Hash>) -> Self {
        let cold = tiles.len() * TILE_WIDTH;
        let mut tree = Self { levels: vec![Vec::new(); TILE_LEVEL], cold, ..Self::default() };
        tree.levels.push(tiles);
        tree.complete(TILE_LEVEL);
        tree.extend(leaves);
        tree
    }

    /// Returns the number of leading leaves whose tiles a proof needs.
    #[must_use]
    pub fn cold(&self) -> usize {
        self.cold
    }

    /// Loads the leaves of a tile; returns whether they match its hash.
    pub fn warm(&mut self, tile: usize, leaves: Vec<Hash>) -> bool {
        let known = self.levels.get(TILE_LEVEL).and_then(|tiles| tiles.get(tile));
        let whole = leaves.len() == TILE_WIDTH && (tile + 1) * TILE_WIDTH <= self.cold;
        let held = Self::from_leaf_hashes(leaves);
        let is_known = whole && held.root(TILE_WIDTH).ok().as_ref() == known;
        if is_known {
            self.warm.insert(tile, held);
        }
        is_known
    }

    /// Drops the loaded tiles.
    pub fn cool(&mut self) {
        self.warm.clear();
    }

    /// Appends leaf hashes.
    pub fn extend(&mut self, leaves: impl IntoIterator<Item = Hash>) {
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        self.levels[0].extend(leaves);
        self.complete(0);
    }

    /// Returns the position of the first stored hash of a level.
    fn first(&self, level: usize) -> usize {
        if level < TILE_LEVEL { self.cold >> level } else { 0 }
    }

    /// Hashes every pair that has become complete, from a level up.
    fn complete(&mut self, mut level: usize) {
        while self.first(level) + self.levels[level].len() > 1 {
            if self.levels.len() == level + 1 {
                self.levels.push(Vec::new());
            }
            let (first, first_above) = (self.first(level), self.first(level + 1));
            let (below, above) = self.levels.split_at_mut(level + 1);
            let known = first_above + above[0].len();
            let pairs = below[level][2 * known - first..].chunks_exact(2);
            above[0].extend(pairs.map(|pair| hash_children(&pair[0], &pair[1])));
            level += 1;
        }
    }

    /// Removes the leaves from `size` on.
    ///
    /// # Errors
    ///
    /// Returns an error if the tree has fewer leaves, or does not store the last of them.
    pub fn truncate(&mut self, size: usize) -> Result<(), OutOfTree> {
        within("size", size, self.cold, self.len())?;
        for level in 0..self.levels.len() {
            let first = self.first(level);
            self.levels[level].truncate((size >> level) - first);
        }
        while self.levels.last().is_some_and(Vec::is_empty) {
            self.levels.pop();
        }
        Ok(())
    }

    /// Returns the number of leaves.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cold + self.levels.first().map_or(0, Vec::len)
    }

    /// Returns whether there is no leaf.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the root of the first `size` leaves.
    ///
    /// # Errors
    ///
    /// Returns an error if the tree has fewer leaves, or the size is within a tile that is not loaded.
    pub fn root(&self, size: usize) -> Result<Hash, OutOfTree> {
        within("size", size, 0, self.len())?;
        self.edge(size)?;
        Ok(if size == 0 { Sha256::digest([]).into() } else { self.hash(0..size) })
    }

    /// Refuses a leaf whose tile is not loaded.
    fn held(&self, leaf: usize) -> Result<(), OutOfTree> {
        let is_held = leaf >= self.cold || self.warm.contains_key(&(leaf / TILE_WIDTH));
        within("leaf", leaf, if is_held { 0 } else { self.cold }, self.len()).map(drop)
    }

    /// Refuses a size within a tile that is not loaded.
    fn edge(&self, size: usize) -> Result<(), OutOfTree> {
        if size.is_multiple_of(TILE_WIDTH) { Ok(()) } else { self.held(size - 1) }
    }

    /// Returns the hash of a range of leaves that is a subtree.
    fn hash(&self, leaves: Range<usize>) -> Hash {
        let n = leaves.len();
        if n.is_power_of_two() {
            let level = n.ilog2() as usize;
            let place = leaves.start >> level;
            if place >= self.first(level) {
                return self.levels[level][place - self.first(level)];
            }
            return self.warm[&(leaves.start / TILE_WIDTH)]
                .hash(leaves.start % TILE_WIDTH..leaves.start % TILE_WIDTH + n);
        }
        let middle = leaves.start + part(n);
        hash_children(&self.hash(leaves.start..middle), &self.hash(middle..leaves.end))
    }

    /// Returns the inclusion proof of leaf `index` among the first `size` leaves.
    ///
    /// It is the sibling of each node on the path, from the leaf up.
    ///
    /// # Errors
    ///
    /// Returns an error if the tree has fewer leaves, `index` is not one of them, or a tile is needed that is not
    /// loaded.
    pub fn inclusion(&self, index: usize, size: usize) -> Result<Vec<Hash>, OutOfTree> {
        within("size", size, 1, self.len())?;
        within("index", index, 0, size - 1)?;
        self.held(index)?;
        self.edge(size)?;
        let (mut proof, mut leaves) = (Vec::new(), 0..size);
        while leaves.len() > 1 {
            let middle = leaves.start + part(leaves.len());
            let (way, sibling) = if index < middle {
                (leaves.start..middle, middle..leaves.end)
            } else {
                (middle..leaves.end, leaves.start..middle)
            };
            proof.push(self.hash(sibling));
            leaves = way;
        }
        proof.reverse();
        Ok(proof)
    }

    /// Returns the consistency proof of the trees of the first `old` and `size` leaves.
    ///
    /// # Errors
    ///
    /// Returns an error if the tree has fewer leaves, `old` is 0 or above `size`, or a tile is needed that is not
    /// loaded.
    pub fn consistency(&self, old: usize, size: usize) -> Result<Vec<Hash>, OutOfTree> {
        within("size", size, 1, self.len())?;
        within("old", old, 1, size)?;
        self.edge(old)?;
        self.edge(size)?;
        let (mut proof, mut leaves) = (Vec::new(), 0..size);
        while leaves.end != old {
            let middle = leaves.start + part(leaves.len());
            let (way, sibling) = if old <= middle {
                (leaves.start..middle, middle..leaves.end)
            } else {
                (middle..leaves.end, leaves.start..middle)
            };
            proof.push(self.hash(sibling));
            leaves = way;
        }
        // The verifier has the root of the old tree, so the proof does not contain it.
        if leaves.start > 0 {
            proof.push(self.hash(leaves));
        }
        proof.reverse();
        Ok(proof)
    }

    /// Returns the first `width` hashes of a tile (c2sp.org/tlog-tiles).
    ///
    /// # Errors
    ///
    /// Returns an error if the tree is too small for it, or `width` is not from 1 to 256.
    pub fn tile(&self, level: usize, index: usize, width: usize) -> Result<&[Hash], OutOfTree> {
        within("level", level, 0, 7)?;
        within("width", width, 1, TILE_WIDTH)?;
        let n_hashes = self.len() >> (TILE_LEVEL * level);
        within("index", index, 0, n_hashes.saturating_sub(width) / TILE_WIDTH)?;
        within("width", width, 1, n_hashes - index * TILE_WIDTH)?;
        let first = index * TILE_WIDTH;
        if level == 0 && first < self.cold {
            self.held(first)?;
            return self.warm[&index].tile(0, 0, width);
        }
        let first = first - self.first(TILE_LEVEL * level);
        Ok(&self.levels[TILE_LEVEL * level][first..first + width])
    }
}

/// Returns whether an inclusion proof is valid; see RFC 9162, 2.1.3.2.
#[must_use]
pub fn is_included(index: u64, size: u64, leaf: &[u8], proof: &[impl AsRef<[u8]>], root: &[u8]) -> bool {
    if index >= size || leaf.len() != size_of::<Hash>() || !are_hashes(proof) {
        return false;
    }
    let (mut node, mut last, mut hash) = (index, size - 1, leaf.to_vec());
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = hash_children(sibling.as_ref(), &hash).to_vec();
            // At the right edge of the tree the node also represents its ancestors without a sibling.
            (node, last) = (node >> node.trailing_zeros(), last >> node.trailing_zeros());
        } else {
            hash = hash_children(&hash, sibling.as_ref()).to_vec();
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && hash == root
}

/// Returns whether a consistency proof is valid; see RFC 9162, 2.1.4.2.
#[must_use]
pub fn is_consistent(old: u64, size: u64, old_root: &[u8], root: &[u8], proof: &[impl AsRef<[u8]>]) -> bool {
    if old == 0 || old > size || !are_hashes(proof) {
        return false;
    }
    if old == size {
        return proof.is_empty() && old_root == root;
    }
    if old_root.len() != size_of::<Hash>() {
        return false;
    }
    let mut rest = proof.iter().map(AsRef::as_ref);
    let first = if old.is_power_of_two() { Some(old_root) } else { rest.next() };
    let Some(first) = first else { return false };
    let lone = (old - 1).trailing_ones();
    let (mut node, mut last) = ((old - 1) >> lone, (size - 1) >> lone);
    let (mut old_hash, mut hash) = (first.to_vec(), first.to_vec());
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            old_hash = hash_children(sibling, &old_hash).to_vec();
            hash = hash_children(sibling, &hash).to_vec();
            (node, last) = (node >> node.trailing_zeros(), last >> node.trailing_zeros());
        } else {
            hash = hash_children(&hash, sibling).to_vec();
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && old_hash == old_root && hash == root
}

fn are_hashes(proof: &[impl AsRef<[u8]>]) -> bool {
    proof.iter().all(|hash| hash.as_ref().len() == size_of::<Hash>())
}
