"""Benchmarks of `openoutcry bench`: speed and size, compared with a baseline.

`engine_speed` measures backtests, replay and import, `batch_speed` the vector environment, `scenario_speed`,
`scoring_speed` and `agent_speed` the rest. Imports the core, `gym`, `harness`, `scoring` and `audits`.
"""
