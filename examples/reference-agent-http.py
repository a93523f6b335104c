"""A complete HTTP agent on FastAPI: `POST /decide` takes an observation and returns a decision.

    python reference-agent-http.py --port 8000                      # needs fastapi and uvicorn
    openoutcry run --agent http://127.0.0.1:8000

Replace `decide`. The server has no state between requests, so that several runs can use it at once.
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
    """Return whether the last close is above the mean of the close history."""
    # Left to right, as in the other languages; `sum` compensates for rounding.
    total = 0.0
    for close in closes:
        total += close
    return closes[-1] > total / len(closes)


def decide(observation: dict) -> dict:
    """Hold the symbols above their mean, each with the largest of 1/2, 1/4, 1/8, ... that fits; close the others."""
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
async def decide_request(request: Request) -> JSONResponse:
    """Return the decision for an observation; hold on an invalid one."""
    body = await request.body()
    try:
        decision = decide(json.loads(body, parse_int=float))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        print(f"reference-agent: invalid observation, holds all positions: {error!r}", file=sys.stderr)
        decision = {"orders": []}
    return JSONResponse(decision)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve the reference agent on this machine.")
    parser.add_argument("--port", type=int, default=8000, help="0 selects a free port and prints it")
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port, access_log=False)
