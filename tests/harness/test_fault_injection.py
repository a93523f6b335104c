"""Agents with random faults: no hang, no zombie, no lost episode, and every fault is counted."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faulty_program
import numpy as np
import pytest
from agent_servers import Post, serving
from builders import count

import openoutcry as oo
from openoutcry.harness import Bounds, CommandAgent, HttpAgent, Launcher, SupervisedAgent

pytestmark = pytest.mark.once

N_BARS = 30
SHARE = 0.12
EPISODES = count(1000, 60)
MARKET = oo.Dataset.synthetic(3, N_BARS + 20, 4)
WINDOW = (19, 19 + N_BARS)
DATES = MARKET.dates[slice(*WINDOW)]
BOUNDS = Bounds(start_seconds=5.0, answer_seconds=0.4, end_seconds=0.5, answer_bytes=2000, stderr_bytes=1000)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads `/proc`")


def command(episode: int, share: float = SHARE) -> CommandAgent:
    words = [sys.executable, "-S", faulty_program.__file__, str(episode), str(share)]
    return CommandAgent(words, bounds=BOUNDS, show=lambda text: None)


def run(agent: Launcher) -> tuple[oo.Run, list[tuple[int, str]]]:
    """Run an episode, and return the faults that were reported during the run."""
    message: list[tuple[int, str]] = []
    with SupervisedAgent(agent, lambda fault, step: message.append((step, fault.slug))) as session:
        return oo.run_backtest(MARKET, session, WINDOW, capture=True), message


def expected(kinds: list[str | None], slugs: dict[str, str | None]) -> dict[int, str]:
    """Return the expected faults of an episode, from the fault kind of each bar."""
    faults: dict[int, str] = {}
    in_a_row, ahead = 0, False
    for step, kind in enumerate(kinds):
        if in_a_row == BOUNDS.faults_in_a_row:
            faults[step] = "agent_given_up"
            continue
        slug = "answer_too_early" if ahead else None if kind == "a line ahead" else slugs[kind] if kind else None
        ahead = kind == "a line ahead" and not ahead
        if slug is not None:
            faults[step] = slug
        in_a_row = in_a_row + 1 if slug not in (None, "malformed") else 0
    return faults


@pytest.fixture(scope="module")
def clean() -> oo.Run:
    """Return the episode without a fault."""
    done, message = run(command(0, 0.0))
    assert message == []
    assert done.faults == {}
    assert len(np.unique(done.decisions)) > 1
    return done


def children() -> list[str]:
    """Return the child processes that were not reaped."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = each.read_text().rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == os.getpid():
            found.append(name)
    return found


@linux
def test_programs_that_misbehave_at_random(clean: oo.Run) -> None:
    before = len(children()), sum(1 for _ in Path("/proc/self/fd").iterdir())
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda episode: run(command(episode)), range(EPISODES)))
    assert (len(children()), sum(1 for _ in Path("/proc/self/fd").iterdir())) == before
    assert len(made) == EPISODES
    seen: Counter[str] = Counter()
    for episode, (done, message) in enumerate(made):
        kinds = [faulty_program.wrong_at(episode, SHARE, date) for date in DATES[:-1]]
        faults = expected(kinds, faulty_program.FAULTS)
        assert done.faults == faults, episode
        asked = {step: slug for step, slug in faults.items() if slug != "agent_given_up"}
        assert dict(message) == asked
        for step in set(range(N_BARS - 1)) - set(faults):
            np.testing.assert_array_equal(done.decisions[step], clean.decisions[step])
            assert done.record.decisions[0][step] == clean.record.decisions[0][step]
        for step in faults:
            assert np.isnan(done.decisions[step]).all()
        seen.update(faults.values())
    assert set(seen) >= {slug for slug in faulty_program.FAULTS.values() if slug}
    print(f"{EPISODES} episodes of {N_BARS - 1} decisions, held for faults: {dict(seen)}")


# Servers

STATUSES = {"busy for a moment": None, "fails": "answer_status", "hangs up": "answer_cut_short", "junk": "malformed"}


def test_servers_that_misbehave_at_random(clean: oo.Run) -> None:
    n_episodes, retried = count(200, 20), Counter[str]()
    lock = threading.Lock()

    def wrong_at(episode: int, date: str) -> str | None:
        kind = faulty_program.wrong_at(episode, SHARE, date)
        return None if kind is None else list(STATUSES)[list(faulty_program.FAULTS).index(kind) % len(STATUSES)]

    def handle(post: Post) -> None:
        # The run id is random, so the order of the first requests identifies the run.
        headers = {name.lower(): value for name, value in post.headers.items()}
        with lock:
            episode = runs.setdefault(headers["openoutcry-run"], len(runs))
        seen = json.loads(post.body)
        kind = wrong_at(episode, seen["date"])
        answer = faulty_program.decision(seen).encode()
        if kind == "busy for a moment" and retried[f"{episode} {seen['date']}"] == 0:
            retried[f"{episode} {seen['date']}"] += 1
            post.answer(b"busy", 503)
        elif kind == "fails":
            post.answer(b"Internal Server Error", 500)
        elif kind == "hangs up":
            post.start_response(len(answer))
            post.wfile.write(answer[:5])
            post.close_connection = True
        else:
            post.answer(b"all of it" if kind == "junk" else answer)

    runs: dict[str, int] = {}
    bounds = Bounds(start_seconds=10.0, answer_seconds=10.0, faults_in_a_row=1000)
    with serving(handle) as server:
        made = [run(HttpAgent(server.url, bounds)) for _ in range(n_episodes)]
    assert sum(retried.values()) > 0
    assert len(runs) == n_episodes
    seen_faults: set[str] = set()
    for episode, (done, message) in enumerate(made):
        kinds = enumerate(wrong_at(episode, date) for date in DATES[:-1])
        assert done.faults == {step: slug for step, kind in kinds if kind and (slug := STATUSES[kind])}
        assert dict(message) == done.faults
        for step in set(range(N_BARS - 1)) - set(done.faults):
            assert done.record.decisions[0][step] == clean.record.decisions[0][step]
        seen_faults.update(done.faults.values())
    assert seen_faults == set(filter(None, STATUSES.values()))
