"""The allowed uses between the folders and files directly below `src` of each Rust crate.

`tests/support/rust_graph.py` checks them. An unlisted crate, folder or use fails, and so does an unused row.
"""

from __future__ import annotations

RUST_LAYERS: dict[str, dict[str, set[str]]] = {
    "engine": {
        "error": set(),
        "vector": set(),
        "market": {"error", "vector"},
        "account": {"error", "market", "vector"},
        "fast_path": {"account", "error", "market", "vector"},
        "step": {"account", "error", "fast_path", "market", "vector"},
        "scenario": {"error", "market", "vector"},
    },
    "contract": {
        "wire": set(),
        "readable_text": set(),
        "merkle": set(),
        "record": {"wire"},
        "ledger": {"wire"},
        "arena_log": {"merkle", "wire"},
    },
    "env": {
        "agents": set(),
        "episode": set(),
        "environment": {"episode"},
        "backtest": {"agents", "episode"},
        "replay": {"agents", "backtest", "episode"},
        "batch": {"episode"},
    },
    "score": {
        "error": set(),
        "normal_distribution": set(),
        "metrics": {"error"},
        "bootstrap": {"error", "metrics"},
        "multiple_testing": {"bootstrap", "error", "metrics"},
        "forecasts": {"bootstrap"},
        "skill": {"error", "metrics", "normal_distribution"},
        "verdict": {"bootstrap", "error", "metrics", "multiple_testing", "normal_distribution", "skill"},
    },
    # The files of the bindings are in one folder, so each has a row.
    "python": {
        "error": set(),
        "events": set(),
        "huge_pages": set(),
        "ledger": set(),
        "pickle": set(),
        "readable_text": set(),
        "sheets": set(),
        "step_records": set(),
        "arguments": {"error"},
        "state": {"error"},
        "arrays": {"error"},
        "compression": {"error"},
        "arena_log": {"arguments", "error"},
        "conformance": {"arguments", "error"},
        "agents": {"arguments", "error"},
        "costs": {"arguments", "error", "pickle"},
        "dataset": {"arguments", "arrays", "error"},
        "forecasts": {"arguments", "arrays", "error"},
        "limits": {"arguments", "error", "pickle"},
        "metrics": {"arrays", "error"},
        "multiple_testing": {"arguments", "arrays", "error"},
        "output_arrays": {"arrays", "error"},
        "skill": {"arrays", "error"},
        "market_rows": {"arguments", "dataset", "error", "huge_pages"},
        "reward": {"arguments", "error"},
        "batch_options": {"arguments", "error", "output_arrays", "reward"},
        "batch": {
            "arguments", "arrays", "batch_options", "costs", "dataset", "error", "limits", "output_arrays", "reward",
            "step_records",
        },
        "record": {"arguments", "costs", "dataset", "error", "limits"},
        "scenario": {"arguments", "dataset", "error"},
        "buffers": {"batch", "error", "output_arrays"},
        "environment": {"arguments", "batch_options", "costs", "dataset", "error", "events", "limits", "reward", "state"},
        "episode_windows": {"arguments", "batch_options", "error"},
        "run": {"agents", "arguments", "arrays", "costs", "dataset", "error", "events", "limits", "metrics", "record"},
        "verdict": {"arguments", "costs", "dataset", "error", "limits", "record"},
    },
    "wasm": {
        "error": set(),
        "json_number": set(),
        "digests": {"error"},
        "market_json": {"error", "json_number"},
        "run_settings": {"error", "json_number"},
        "dataset": {"error", "market_json", "run_settings"},
        "backtest": {"dataset", "error", "run_settings"},
        "environment": {"dataset", "error", "run_settings"},
        "record": {"dataset", "error", "run_settings"},
        "verdict": {"dataset", "error", "run_settings"},
    },
}

# Accepted cycles of files within one folder, by crate: types that name each other, with the reason. There are none.
RUST_CYCLES: dict[str, list[set[str]]] = {}
