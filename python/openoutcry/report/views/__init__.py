"""View records: plain, validated data classes that report pages are rendered from.

Every metric arrives computed, and an undefined one comes with its reason. Imports NumPy, `untrusted` and
`openoutcry_py`; `research_view` also imports `report.charts`.
"""
