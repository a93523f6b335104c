"""The Arena's HTTP server: the protocol below `/v2/competition` and the public log below `/registry`.

`app` creates the FastAPI application. `middleware` and `fast_routes` serve `/decisions` and `/intel` as plain ASGI;
`auth` and `rate_limit` admit requests. Imports `store`, `scoring`, `log`, `snapshots` and `pages`.
"""
