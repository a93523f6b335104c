"""Scores, verdicts and statistics of agents: numbers only, no pages or charts.

`scorer` scores records and returns, `verdict` holds the results; `skill`, `power` and `multiple_testing` are the
statistics, `suite*` the evaluation protocols. Imports the core and `harness`.
"""
