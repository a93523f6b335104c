"""The Arena: a live forecasting competition whose log nobody can rewrite unseen.

Needs `openoutcry[arena]`. `docs/arena.md` is the protocol as it is served.
"""
