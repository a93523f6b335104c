"""The two bundled datasets, as NumPy arrays read from files of this folder.

`ecb_fx` and `us_treasury` build a `Panel` each; `universe` selects its symbols. Imports `errors` and NumPy.
"""
