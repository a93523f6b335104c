"""Tables of a run: for its page, for `Run.tables` and for files.

`run_report` and `run_analysis` collect them. The numbers are computed in `openoutcry.scoring` and
`openoutcry.backtest`. Imports the core, `scoring`, the other folders of `report` and NumPy.
"""
