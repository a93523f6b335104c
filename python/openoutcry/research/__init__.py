"""Research sessions: search for strategies and validate them walk-forward.

`loop` runs the rounds and `finalize` ends a session, `session_*` hold its configuration, journal and report,
`walkforward_*` and `acceptance_gates` decide on a trial, `code_loader` runs generated code in the sandbox. `proposers`
and `llm_clients` make proposals. Imports the core, `scoring`, `report`, `ledger` and `harness`. The guide is
`docs/research.md`.
"""
