"""Worker process of a generated strategy: `python -m ...research.code_worker`.

Reads one JSON object per line from standard input and writes one response per line. The first request holds source and
parameters. Later requests hold closes, oldest first: a `window`, or a `row` that follows the previous window. The
worker receives nothing else of the market.
"""

from __future__ import annotations

import builtins
import json
import sys
from types import ModuleType
from typing import Any

import numpy as np

from openoutcry.agents import python_worker
from openoutcry.backtest.strategies import Strategy, WindowStrategy
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.research import source_checks

NAME = "strategy"
_MAX_MESSAGE = 300


def main() -> int:
    """Serve requests until the input ends, and return the exit code."""
    requests, responses = python_worker.claim_pipes()
    python_worker.die_with_parent()
    strategy: Strategy | None = None
    window = np.zeros((0, 0))
    for line in requests:
        request = json.loads(line)
        response: dict[str, Any] = {"id": request["id"]}
        try:
            if strategy is None:
                strategy = _construct(request["source"], request["params"])
                response["lookback"] = strategy.checked_lookback()
            else:
                window = _next(window, request)
                response["weights"] = strategy.decide(window.copy()).tolist()
        except Exception as error:  # noqa: BLE001 any exception of a strategy is reported
            response = {"id": request["id"], "error": f"{type(error).__name__}: {error}"[:_MAX_MESSAGE]}
        python_worker.write(responses, json.dumps(response).encode() + b"\n")
    return 0


def _construct(source: str, params: dict[str, Any]) -> Strategy:
    module = ModuleType(NAME)
    # Dataclasses look up the names of annotations here.
    sys.modules[NAME] = module
    module.__dict__["__builtins__"] = _builtins()
    exec(compile(source, f"<{NAME}>", "exec", dont_inherit=True), module.__dict__)
    kinds = [each for each in vars(module).values() if _is_strategy(each)]
    strategy: Strategy = kinds[0](**params)
    return strategy


def _is_strategy(value: Any) -> bool:
    # Defined here, not imported.
    is_made = isinstance(value, type) and value.__module__ == NAME
    return is_made and issubclass(value, Strategy) and value not in (Strategy, WindowStrategy)


def _builtins() -> dict[str, Any]:
    """Return the builtins of a strategy.

    This is hygiene, not a security boundary: code can reach the other builtins. Imports are checked in the source. Here
    they are unrestricted, because numpy imports modules on behalf of its caller.
    """
    allowed = {name: value for name, value in vars(builtins).items() if name not in source_checks.REFUSED_NAMES}
    return allowed | {"__import__": builtins.__import__}


def _next(window: Array, request: dict[str, Any]) -> Array:
    if "window" in request:
        return np.array(request["window"], dtype=np.float64)
    rows = np.empty(window.shape)
    rows[:-1] = window[1:]
    rows[-1] = request["row"]
    return rows


if __name__ == "__main__":
    sys.exit(main())
