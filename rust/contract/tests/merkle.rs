//! The Merkle tree, compared with the vectors of RFC 6962 and with its definition.

use openoutcry_contract::merkle::{Hash, TILE_WIDTH, Tree, hash_children, hash_leaf, is_consistent, is_included};
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A case of transparency-dev/merkle; see the licence next to them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    leaf_idx: Option<u64>,
    tree_size: Option<u64>,
    leaf_hash: Option<String>,
    root: Option<String>,
    size1: Option<u64>,
    size2: Option<u64>,
    root1: Option<String>,
    root2: Option<String>,
    proof: Option<Vec<String>>,
    want_err: bool,
}

/// Decodes padded base64, the form of the vectors.
fn bytes(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut found, mut bits, mut n_bits) = (Vec::new(), 0_u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | digits.iter().position(|&each| each == digit).unwrap() as u32;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            found.push((bits >> n_bits & 255) as u8);
        }
    }
    found
}

#[test]
fn every_vector_of_rfc_6962_is_taken_or_refused_as_it_says() {
    let text = include_str!("../../../contract/vectors/rfc6962/proofs.json");
    let cases: BTreeMap<String, Case> = serde_json::from_str(text).unwrap();
    let mut n_inclusion = 0;
    for (name, case) in &cases {
        let proof: Vec<_> = case.proof.iter().flatten().map(|hash| bytes(hash)).collect();
        let field = |text: &Option<String>| bytes(text.as_deref().unwrap());
        let is_taken = if let Some(index) = case.leaf_idx {
            n_inclusion += 1;
            is_included(index, case.tree_size.unwrap(), &field(&case.leaf_hash), &proof, &field(&case.root))
        } else {
            let (old, size) = (case.size1.unwrap(), case.size2.unwrap());
            is_consistent(old, size, &field(&case.root1), &field(&case.root2), &proof)
        };
        assert_eq!(is_taken, !case.want_err, "{name}");
    }
    assert_eq!((n_inclusion, cases.len()), (98, 196));
}

/// The root as section 2.1 of RFC 6962 defines it.
fn defined(leaves: &[Hash]) -> Hash {
    if let [leaf] = leaves {
        return *leaf;
    }
    let (left, right) = leaves.split_at(1 << (leaves.len() - 1).ilog2());
    hash_children(&defined(left), &defined(right))
}

fn leaves(n: usize) -> Vec<Hash> {
    (0..n).map(|leaf| hash_leaf(&leaf.to_be_bytes())).collect()
}

/// The roots of `testonly/constants.go` of transparency-dev/merkle.
#[test]
fn the_known_roots_come_out() {
    let entries: [&[u8]; 8] = [
        &[],
        &[0x00],
        &[0x10],
        &[0x20, 0x21],
        &[0x30, 0x31],
        &[0x40, 0x41, 0x42, 0x43],
        &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
        &[0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f],
    ];
    let mut tree = Tree::default();
    tree.extend(entries.map(hash_leaf));
    let known = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    for (size, root) in known.iter().enumerate() {
        let digits = tree.root(size).unwrap().map(|byte| format!("{byte:02x}"));
        assert_eq!(digits.concat(), *root);
    }
}

#[test]
fn every_proof_of_a_small_tree_verifies_and_its_root_is_the_defined_one() {
    let all = leaves(40);
    let tree = Tree::from_leaf_hashes(all.clone());
    for size in 1..=40 {
        let root = defined(&all[..size]);
        assert_eq!(tree.root(size), Ok(root));
        for (index, leaf) in all[..size].iter().enumerate() {
            let proof = tree.inclusion(index, size).unwrap();
            assert!(is_included(index as u64, size as u64, leaf, &proof, &root), "{index} of {size}");
        }
        for old in 1..=size {
            let proof = tree.consistency(old, size).unwrap();
            assert!(is_consistent(old as u64, size as u64, &defined(&all[..old]), &root, &proof), "{old} to {size}");
        }
    }
}

#[test]
fn what_a_tree_does_not_have_is_refused() {
    let tree = Tree::from_leaf_hashes(leaves(7));
    let refusal = tree.inclusion(7, 7).unwrap_err();
    assert_eq!(refusal.to_string(), "`index` must be from 0 to 6; received 7");
    assert!(tree.root(8).is_err() && tree.inclusion(0, 0).is_err() && tree.inclusion(0, 8).is_err());
    assert!(tree.consistency(0, 7).is_err() && tree.consistency(7, 6).is_err() && tree.consistency(1, 8).is_err());
    assert!(tree.clone().truncate(8).is_err());
    assert!(tree.tile(0, 0, 8).is_err() && tree.tile(0, 0, 0).is_err() && tree.tile(1, 0, 1).is_err());
    assert!(tree.tile(0, 1, 1).is_err() && tree.tile(8, 0, 1).is_err() && tree.tile(0, 0, 257).is_err());
    assert!(!is_included(0, 0, &leaves(1)[0], &[[0; 32]; 0], &leaves(1)[0]));
    assert!(!is_consistent(0, 0, &[], &[], &[[0; 32]; 0]));
}

#[test]
fn a_tile_has_the_roots_of_the_tiles_below() {
    let n = 256 * 256 + 256 + 3;
    let all = leaves(n);
    let tree = Tree::from_leaf_hashes(all.clone());
    assert_eq!(tree.tile(0, 257, 3).unwrap(), &all[257 * 256..]);
    assert!(tree.tile(0, 257, 4).is_err());
    assert_eq!(tree.tile(1, 1, 1).unwrap(), [defined(&all[256 * 256..256 * 257])]);
    assert_eq!(tree.tile(1, 0, TILE_WIDTH).unwrap()[5], defined(&all[5 * 256..6 * 256]));
    assert_eq!(tree.tile(2, 0, 1).unwrap(), [defined(&all[..256 * 256])]);
}

#[test]
fn a_tree_without_its_first_tiles_is_the_same_once_they_are_handed_in() {
    let (all, n_cold) = (leaves(256 * 4 + 70), 3);
    let whole = Tree::from_leaf_hashes(all.clone());
    let tiles = whole.tile(1, 0, n_cold).unwrap().to_vec();
    let mut tree = Tree::from_tiles(tiles, all[n_cold * 256..900].to_vec());
    tree.extend(all[900..].iter().copied());
    assert_eq!((tree.len(), tree.cold()), (all.len(), 768));
    for size in [256, 512, 768, 769, 1000, 1024, all.len()] {
        assert_eq!(tree.root(size), whole.root(size));
        assert_eq!(tree.inclusion(768.min(size - 1), size).is_ok(), size > 768);
        assert_eq!(tree.consistency(512, size.max(512)), whole.consistency(512, size.max(512)));
    }
    assert!(tree.root(300).is_err() && tree.inclusion(3, 1000).is_err() && tree.consistency(5, 1000).is_err());
    assert!(tree.tile(0, 1, 256).is_err() && tree.truncate(767).is_err());
    assert!(
        !tree.warm(0, all[1..257].to_vec())
            && !tree.warm(0, all[..255].to_vec())
            && !tree.warm(3, all[768..1024].to_vec())
    );
    for tile in 0..n_cold {
        assert!(tree.warm(tile, all[tile * 256..][..256].to_vec()));
    }
    for size in (1..=all.len()).step_by(37) {
        assert_eq!(tree.root(size), whole.root(size));
        for index in (0..size).step_by(41) {
            assert_eq!(tree.inclusion(index, size), whole.inclusion(index, size));
            assert_eq!(tree.consistency(index + 1, size), whole.consistency(index + 1, size));
        }
    }
    assert_eq!(tree.tile(0, 1, 9), whole.tile(0, 1, 9));
    assert_eq!(tree.tile(1, 0, 4), whole.tile(1, 0, 4));
    tree.cool();
    assert!(tree.root(300).is_err());
    tree.truncate(768).unwrap();
    assert_eq!(tree.root(768), whole.root(768));
    tree.extend(all[768..].iter().copied());
    assert_eq!(tree.root(all.len()), whole.root(all.len()));
}

proptest! {
    #[test]
    fn a_proof_verifies_and_with_any_byte_changed_does_not(
        (size, index) in (1_usize..600).prop_flat_map(|size| (Just(size), 0..size)),
        place in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let all = leaves(size);
        let tree = Tree::from_leaf_hashes(all.clone());
        let root = tree.root(size).unwrap();
        let (mut included, mut consistent) = (tree.inclusion(index, size).unwrap(), tree.consistency(index + 1, size).unwrap());
        let old_root = tree.root(index + 1).unwrap();
        let (index, old, size) = (index as u64, index as u64 + 1, size as u64);
        prop_assert!(is_included(index, size, &all[index as usize], &included, &root));
        prop_assert!(is_consistent(old, size, &old_root, &root, &consistent));
        prop_assert!(!is_included(index, size, &all[index as usize], &[&included[..], &[root]].concat(), &root));
        prop_assert!(!is_consistent(old, size, &old_root, &root, &[&consistent[..], &[root]].concat()));
        let mut other = root;
        other[place.index(32)] ^= change;
        prop_assert!(!is_included(index, size, &all[index as usize], &included, &other));
        prop_assert!(!is_included(index, size, &other, &included, &root));
        prop_assert!(!is_consistent(old, size, &old_root, &other, &consistent));
        if let Some(byte) = included.as_flattened_mut().get_mut(place.index(256)) {
            *byte ^= change;
            prop_assert!(!is_included(index, size, &all[index as usize], &included, &root));
        }
        if let Some(byte) = consistent.as_flattened_mut().get_mut(place.index(256)) {
            *byte ^= change;
            prop_assert!(!is_consistent(old, size, &old_root, &root, &consistent));
        }
    }

    #[test]
    fn a_tree_is_the_same_however_it_grew(batches in prop::collection::vec(0_usize..40, 0..8), cut in 0_usize..200) {
        let all = leaves(batches.iter().sum());
        let (mut tree, mut rest) = (Tree::default(), &all[..]);
        for size in batches {
            let (batch, left) = rest.split_at(size);
            tree.extend(batch.iter().copied());
            rest = left;
        }
        let cut = cut.min(all.len());
        prop_assert_eq!(tree.len(), all.len());
        tree.truncate(cut).unwrap();
        let known = Tree::from_leaf_hashes(all[..cut].to_vec());
        prop_assert_eq!(tree.root(cut), known.root(cut));
        tree.extend(all[cut..].iter().copied());
        prop_assert_eq!(tree.root(all.len()), Tree::from_leaf_hashes(all.clone()).root(all.len()));
    }
}
