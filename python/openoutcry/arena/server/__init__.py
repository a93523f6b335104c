"""The Arena's HTTP server: the protocol and the public log.

`arena.app` creates the FastAPI application from these routes. `middleware` and `fast_routes` serve `/decisions` and
`/intel` as plain ASGI; `auth` and `rate_limit` admit requests. Imports `store`, `scoring`, `log`, `snapshots`, the
Arena's protocol and schemas (`protocol`, `timestamps`, `request_schema`, `submission_schema`), `errors`,
`untrusted` and the native module.
"""
