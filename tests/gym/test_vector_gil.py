"""A step of the vector environment releases the GIL."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

from openoutcry.vector import OpenOutcryVectorEnv


@pytest.mark.parametrize("copies", [True, False])
def test_other_threads_run_during_a_step(copies: bool) -> None:
    # A step takes milliseconds.
    env = OpenOutcryVectorEnv(4096, 30, observation="flat", copy=copies)
    env.reset(seed=0)
    actions = np.full((4096, 30), 0.01, np.float32)
    turns, before, after = 0, 0, 0
    interval = sys.getswitchinterval()

    def steps() -> None:
        nonlocal before, after
        before = turns
        for _ in range(20):
            env.step(actions)
        after = turns

    stepper = threading.Thread(target=steps)
    # With this switch interval the interpreter never switches threads by itself: only a step can release the GIL.
    sys.setswitchinterval(60.0)
    try:
        stepper.start()
        while stepper.is_alive():
            turns += 1
            time.sleep(0.0001)
    finally:
        sys.setswitchinterval(interval)
        stepper.join()
    assert after > before
