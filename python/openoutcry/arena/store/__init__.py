"""The Arena's database (SQLite or PostgreSQL) and its writer.

`arena_store` opens an arena. `write_queue` commits entries (`entry_writes`, `submission_writes`) in batches on one
thread; `read_queries` and `cached_state` serve readers. Imports `log`, `scoring`, the Arena's `protocol`, `timestamps`
and `submission_schema`, the locks of `records`, `errors` and the native module.
"""
