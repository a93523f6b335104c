"""The arena's log: records, signed checkpoints, tiles and proofs.

A record is one line of canonical JSON (RFC 8785) that names the SHA-256 of the record before, and a leaf of a Merkle
tree (RFC 9162). A checkpoint is a note over the tree's size and root that the log signs. Each submission commits to
decisions by salted hashes, which are revealed later; `openoutcry.arena.verifier` checks all of it with nothing of this
package.
"""
