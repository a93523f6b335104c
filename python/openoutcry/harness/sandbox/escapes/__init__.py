"""Escape attempts: each function of these modules is one attempt.

`run_attempt.py` runs an attempt in a separate process. An attempt receives `target`, a dict of what it attacks, and
returns a text of what it reached; it raises or exits if it was stopped. All attempts are harmless if they succeed, and
run without the package. Imports the standard library only.
"""
