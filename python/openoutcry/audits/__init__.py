"""Audits: look-ahead, contamination, masking, realism, the engine and the scorer.

Each folder is one audit with its own command. Imports the core, `gym`, `harness`, `scoring` and `report`. No audit
imports another, except that `martingale` uses the trading rules of `realism`.
"""
