"""Audits: look-ahead, contamination, re-identification, realism, martingale tests and attacks on the scorer.

Each folder is one audit with a command of its name. Imports the core, `gym`, `harness`, `scoring` and `report`; no audit
imports another, but for `martingale`, which trades the rules of `realism`.
"""
