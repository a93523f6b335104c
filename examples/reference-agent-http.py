"""A whole agent behind HTTP, on FastAPI: `POST /decide` with an observation is answered by a decision.

    python reference-agent-http.py --port 8000                      # needs fastapi and uvicorn
    openoutcry run --agent http://127.0.0.1:8000

Fork it: `decide` is yours. It keeps nothing from one request to the next, so that runs may share it.
"""

from __future__ import annotations

import argparse
import json
import sys

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

app = FastAPI()


def is_above(closes: list) -> bool:
    """Return whether the last close is above the mean of those shown."""
    # Summed from left to right, as in every language; `sum` is not.
    total = 0.0
    for close in closes:
        total += close
    return closes[-1] > total / len(closes)


def decide(observation: dict) -> dict:
    """Hold what is above its mean, in parts of 1/2, 1/4, 1/8 ..., as large as fit; close the rest."""
    held = {position["symbol"] for position in observation["portfolio"]}
    views = [(view["symbol"], is_above(view["close_history"])) for view in observation["symbols"]]
    n_above, weight = sum(above for _, above in views), 0.5
    while weight * n_above > 1:
        weight /= 2
    orders = []
    for symbol, above in views:
        if above:
            orders.append({"action": "buy", "symbol": symbol, "target_weight": weight})
        elif symbol in held:
            orders.append({"action": "close", "symbol": symbol, "target_weight": 0})
    return {"orders": orders}


@app.post("/decide")
async def answer(request: Request) -> JSONResponse:
    """Answer an observation with a decision, and what is no observation with a hold."""
    body = await request.body()
    try:
        decision = decide(json.loads(body, parse_int=float))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        print(f"reference-agent: holds all, for this is no observation: {error!r}", file=sys.stderr)
        decision = {"orders": []}
    return JSONResponse(decision)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve the reference agent on this machine.")
    parser.add_argument("--port", type=int, default=8000, help="0 takes one that is free, and says which")
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port, access_log=False)
