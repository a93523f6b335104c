use openoutcry::merkle::{is_consistent, is_included};
use openoutcry::record::Digest;
use wasm_bindgen::prelude::*;

use crate::error::raise;

/// Returns a JSON text in the canonical form of RFC 8785.
#[wasm_bindgen]
pub fn canonicalize(text: &str) -> Result<String, JsValue> {
    openoutcry::canonicalize(text).map_err(|error| raise("bad_json", &error.to_string()))
}

/// Returns the SHA-256 of bytes, in hex.
#[wasm_bindgen]
pub fn sha256(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

/// Returns whether an inclusion proof of RFC 6962 is valid.
#[wasm_bindgen]
pub fn verify_inclusion(index: u64, size: u64, leaf: &[u8], proof: Vec<js_sys::Uint8Array>, root: &[u8]) -> bool {
    is_included(index, size, leaf, &bytes(&proof), root)
}

/// Returns whether a consistency proof of RFC 6962 is valid.
#[wasm_bindgen]
pub fn verify_consistency(
    old_size: u64,
    size: u64,
    old_root: &[u8],
    root: &[u8],
    proof: Vec<js_sys::Uint8Array>,
) -> bool {
    is_consistent(old_size, size, old_root, root, &bytes(&proof))
}

fn bytes(proof: &[js_sys::Uint8Array]) -> Vec<Vec<u8>> {
    proof.iter().map(js_sys::Uint8Array::to_vec).collect()
}

/// Returns the version of the contract.
#[wasm_bindgen]
pub fn contract_version() -> String {
    openoutcry::CONTRACT_VERSION.to_owned()
}

/// Returns the version of the engine in records.
#[wasm_bindgen]
pub fn engine_version() -> String {
    openoutcry::ENGINE_VERSION.to_owned()
}
