"""Reports: HTML pages and SVG charts of runs, boards, scores and research.

`run_report`, `score_report` and `self_verifying` turn results into plain records (`views`); `render` and `pages` turn
records into HTML; `charts` draws. Imports the core, `scoring` and NumPy. `Run.report` imports it when called.
"""
