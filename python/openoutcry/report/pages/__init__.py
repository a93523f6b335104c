"""HTML pages and page sections, with their CSS and JavaScript.

Functions render views to HTML text and compute no metric. Imports `report.views`, `report.charts`,
`report.text_format`, `report.wasm_engine`, `untrusted` and the native module.
"""
