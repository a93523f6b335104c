"""The Arena's HTTP server: the protocol and the public log.

`arena.app` creates the FastAPI application from these routes. `middleware` and `fast_routes` serve `/decisions` and
`/intel` as plain ASGI; `auth` and `rate_limit` admit requests. Imports `store`, `scoring`, `log` and `snapshots`.
"""
