"""Backtests: runs, replay, sweeps, strategies and trades.

`run` runs decisions over a window; `replay` and `rerun` recompute a record, `divergence` compares two records, `sweep`
runs a grid of parameters on an executor. `decision_makers` resolves the names of agents. Imports `errors`,
`arguments`, `untrusted`, `data`, `agents`, `records` and the native module; `Run.report` imports `report` when called.
"""
