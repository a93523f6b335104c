"""The Arena's HTTP server: the protocol below `/v2/competition` and the public log below `/registry`.

`arena.app` creates the FastAPI application from these routes. `middleware` and `fast_routes` serve `/decisions` and
`/intel` as plain ASGI; `auth` and `rate_limit` admit requests. Imports `store`, `scoring`, `log` and `snapshots`.
"""
