"""`python -m openoutcry.research.code_worker`: a strategy in a process of its own.

It reads one JSON object a line from standard input and answers each with one. The first holds the source and the
parameters; those after it hold closes, oldest first: `window`, or `row`, which follows the window before it. It never
has more of a market than that.
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
_MOST_TOLD = 300


def main() -> int:
    """Answer until there is no more to answer, and return the exit code."""
    questions, answers = python_worker.claim_pipes()
    python_worker.die_with_parent()
    made: Strategy | None = None
    window = np.zeros((0, 0))
    for line in questions:
        asked = json.loads(line)
        answer: dict[str, Any] = {"id": asked["id"]}
        try:
            if made is None:
                made = _made(asked["source"], asked["params"])
                answer["lookback"] = made.checked_lookback()
            else:
                window = _next(window, asked)
                answer["weights"] = made.decide(window.copy()).tolist()
        except Exception as error:  # noqa: BLE001 whatever a strategy raises is told
            answer = {"id": asked["id"], "error": f"{type(error).__name__}: {error}"[:_MOST_TOLD]}
        python_worker.write(answers, json.dumps(answer).encode() + b"\n")
    return 0


def _made(source: str, params: dict[str, Any]) -> Strategy:
    module = ModuleType(NAME)
    # Where dataclasses look for the names of annotations.
    sys.modules[NAME] = module
    module.__dict__["__builtins__"] = _builtins()
    exec(compile(source, f"<{NAME}>", "exec", dont_inherit=True), module.__dict__)
    kinds = [each for each in vars(module).values() if _is_strategy(each)]
    made: Strategy = kinds[0](**params)
    return made


def _is_strategy(value: Any) -> bool:
    # Made here, and not imported.
    is_made = isinstance(value, type) and value.__module__ == NAME
    return is_made and issubclass(value, Strategy) and value not in (Strategy, WindowStrategy)


def _builtins() -> dict[str, Any]:
    """Return the builtins of a strategy.

    That is hygiene: whoever wants the others finds them. Imports have been read in the source; here they are free,
    since numpy itself imports in the name of who calls it.
    """
    kept = {name: value for name, value in vars(builtins).items() if name not in source_checks.REFUSED_NAMES}
    return kept | {"__import__": builtins.__import__}


def _next(window: Array, asked: dict[str, Any]) -> Array:
    if "window" in asked:
        return np.array(asked["window"], dtype=np.float64)
    rows = np.empty(window.shape)
    rows[:-1] = window[1:]
    rows[-1] = asked["row"]
    return rows


if __name__ == "__main__":
    sys.exit(main())
