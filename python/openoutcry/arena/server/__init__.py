"""The Arena's web server: the protocol, and the log beside it."""
