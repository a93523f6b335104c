"""Audits: lookahead, contamination, re-identification, realism, martingale tests and attacks on the scorer.

Each folder is one audit with its own command. Imports the core, `gym`, `harness`, `scoring` and `report`. No audit
imports another, except that `martingale` uses the trading rules of `realism`.
"""
