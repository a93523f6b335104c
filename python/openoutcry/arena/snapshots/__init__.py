"""Snapshots: what every agent is shown at one moment, as bytes that never change.

Pure functions: no clock, no network, no database. `docs/arena-snapshots.md` shows one item of every kind.
"""
