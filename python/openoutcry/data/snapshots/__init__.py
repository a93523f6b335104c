"""Snapshots of datasets, named by fingerprint, and differences of versions.

`snapshot_files` freezes and loads, `snapshot_diff` compares, `restatements` holds values that were published later.
Imports `data`, `errors`, `arguments`, `untrusted` and NumPy.
"""
