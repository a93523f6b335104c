"""Readers of market files as vendors and libraries write them.

`market_file.read` returns columns by bar and symbol, and states what it took each column, unit and zone for.
Knows no `Dataset`. Imports `arguments`, `openoutcry_py`, `errors` and `untrusted`.
"""
