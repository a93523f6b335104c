"""Benchmarks behind `openoutcry bench`: speed and size on this machine, next to a numpy or library baseline.

`engine_speed` measures backtests, replay and import, `batch_speed` the vector environment, `scenario_speed`,
`scoring_speed` and `agent_speed` the rest. May import every other folder of the package but `cli`.
"""
