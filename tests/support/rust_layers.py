"""The allowed uses between the folders and files directly below `src` of each Rust crate.

`tests/support/rust_graph.py` checks them. An unlisted folder or use fails.
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
        "metrics": {"error", "normal_distribution"},
        "bootstrap": {"error", "metrics"},
        "multiple_testing": {"bootstrap", "error", "metrics"},
        "forecasts": {"bootstrap", "error"},
        "skill": {"error", "metrics", "normal_distribution"},
        "verdict": {"bootstrap", "error", "metrics", "multiple_testing", "normal_distribution", "skill"},
    },
}
