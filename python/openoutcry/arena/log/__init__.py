"""The Arena's public log: hash-chained records, Merkle tree, signed checkpoints.

`log_writer` appends `log_records` and signs checkpoints (`signed_notes`); `log_proofs` and `tiles` publish the tree;
`export_audit` verifies an export. A submission's record holds salted hashes of its decisions, revealed after the
cutoff. Imports `errors` and the native module. `arena.verifier` checks the same files without this package.
"""
