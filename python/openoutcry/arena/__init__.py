"""The Arena: a live forecasting competition with a public log.

Every score can be recomputed from it.

`app`, `server` and `pages` serve it; `store` is its database, `log` its Merkle log, `scoring` its scores, `snapshots`
and `sources` its observations. `protocol`, `timestamps` and `request_schema` are shared. Imports `errors`,
`untrusted`, `agents` (the prompt), `records` (locks), `report` (the pages) and the native module.
"""
