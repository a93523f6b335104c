"""A program with pseudo-random faults: `python faulty_program.py EPISODE SHARE`.

The fault of a bar depends only on the episode and the date, so that a test can compute it, too.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time

FAULTS = {
    "late": "agent_late",
    "dies": "agent_died",
    "is killed": "agent_died",
    "half a line": "answer_cut_short",
    "a long line": "answer_too_long",
    "no text": "answer_not_text",
    "junk": "malformed",
    "no decision": "malformed",
    "a line ahead": "answer_too_early",
    "floods stderr": None,
    "deaf": "agent_died",
}
"""Kinds of faults and their slugs in a record; a line ahead is a fault of the next bar."""

RARE = ("late",)


def wrong_at(episode: int, share: float, date: str) -> str | None:
    """Return the kind of fault on a bar, if any."""
    chance = random.Random(f"{episode} {date}")
    if chance.random() >= share:
        return None
    kind = chance.choice(list(FAULTS))
    # Each late answer costs the test a timeout.
    return "dies" if kind in RARE and chance.random() < 0.8 else kind


def decision(observation: dict) -> str:
    """Return a decision from prices alone, independent of positions and earlier faults."""
    rising = [each["symbol"] for each in observation["symbols"] if each["close_history"][-1] > each["close_history"][0]]
    orders = [{"symbol": name, "action": "buy", "target_weight": 0.25} for name in rising]
    held = [each["symbol"] for each in observation["symbols"] if each["symbol"] not in rising]
    return json.dumps({"orders": orders + [{"symbol": name, "action": "close", "target_weight": 0} for name in held]})


def misbehave(kind: str | None, answer: bytes) -> None:
    """Write an answer, or produce a fault."""
    if kind == "late":
        time.sleep(60.0)
    elif kind == "dies":
        os._exit(3)
    elif kind == "is killed":
        os.kill(os.getpid(), 9)
    elif kind == "half a line":
        os.write(1, answer[: len(answer) // 2])
        os._exit(0)
    elif kind == "a long line":
        os.write(1, b"x" * 5000 + b"\n")
    elif kind == "no text":
        os.write(1, b"\xff\xfe\n")
    elif kind == "junk":
        os.write(1, b"I would buy all of it.\n")
    elif kind == "no decision":
        os.write(1, b'{"orders": null}\n')
    elif kind == "deaf":
        os.close(0)
        os._exit(0)
    elif kind == "a line ahead":
        os.write(1, answer + b"\n" + answer + b"\n")
    else:
        if kind == "floods stderr":
            os.write(2, b"words\n" * 5000)
        os.write(1, answer + b"\n")


if __name__ == "__main__":
    for line in sys.stdin:
        seen = json.loads(line)
        misbehave(wrong_at(int(sys.argv[1]), float(sys.argv[2]), seen["date"]), decision(seen).encode())
