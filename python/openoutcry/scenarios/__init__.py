"""Synthetic markets: `scenario` holds specification, tiers and keys.

The generator itself is the Rust engine's. Imports `data`, `errors`, `arguments` and the native module.
"""
