"""Synthetic markets: `scenario` holds specification, tiers and keys.

The generator itself is the Rust engine's. Imports `data`, `untrusted`, `errors`, `arguments` and the native module.
"""
