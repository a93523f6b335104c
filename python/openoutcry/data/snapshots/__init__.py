"""Snapshots of datasets: files named by fingerprint, and the differences of two versions.

`snapshot_files` freezes and loads, `snapshot_diff` compares, `restatements` holds values that were published later.
Imports `data` and NumPy.
"""
