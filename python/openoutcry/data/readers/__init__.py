"""Readers of market files as vendors and libraries write them.

`market_file.read` returns columns by bar and symbol, and states what it took each column, unit and zone for.
Imports `errors`, `arguments` and the native module. Knows no `Dataset`.
"""
