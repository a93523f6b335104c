"""Other Python threads run while a batch is stepped."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

from openoutcry.vector import OpenOutcryVectorEnv


@pytest.mark.parametrize("copies", [True, False])
def test_others_run_while_a_batch_is_stepped(copies: bool) -> None:
    # Milliseconds a step.
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
    # Nobody is made to hand the lock over: who gets it in the meantime was let in by the step.
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
