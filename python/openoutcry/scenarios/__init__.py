"""Synthetic markets: `scenario` holds the specification, the tiers, and the keys of generated markets.

The generator itself is the Rust engine's. Imports `data`, `errors`, `arguments` and the native module.
"""
