"""Attempts to break out: each function of these modules is one.

`attempt.py` makes it in a process of its own. An attempt is given a place, what there is to reach, and returns what it
reached in words; it raises or ends where it was stopped. All are small enough to harm nothing where a lock fails. They
run without the package, on the standard library alone.
"""
