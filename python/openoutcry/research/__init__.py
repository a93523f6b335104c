"""The research agent: hypotheses, tested out of sample, of which few are kept.

`openoutcry research run` proposes, validates walk-forward, keeps or discards, stops by itself, opens a sealed holdout
once, and hands a person a short list with its evidence. `docs/research.md` says how.
"""
