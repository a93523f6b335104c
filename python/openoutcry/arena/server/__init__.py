"""The Arena's web server: the protocol under `/v2/competition`, the log and the pages beside it."""
