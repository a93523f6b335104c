"""Tables of a run: for its page, for `Run.tables` and for files.

May import scores and views. The numbers are computed in `openoutcry.scoring` and `openoutcry.backtest`.
"""
