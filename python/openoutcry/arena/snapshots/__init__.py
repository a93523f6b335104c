"""Snapshots: the observation of all agents at one time, as immutable bytes.

`snapshot_builder` builds a snapshot from items (`item_kinds`); `item_ranking` selects them, `time_leaks` rejects items
from the future, `market_items` reads the markets back. Pure functions. Imports the Arena's `protocol`.
"""
