"""Write `skfolio_folds.json`: the folds and splits of skfolio, as ranges.

Run `python -m oracle.skfolio_folds` in `tests`, in an environment with skfolio. The tests read only the written file,
because skfolio depends on a convex solver and scikit-learn. `python -m oracle.skfolio_folds live N SEED` prints N
random settings with their folds instead, one a line.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.random import default_rng

FORWARD = (
    (40, 10, 5, 2), (40, 10, 5, 0), (41, 10, 5, 1), (500, 100, 100, 1), (500, 252, 63, 5), (503, 60, 30, 10),
    (61, 30, 30, 1), (90, 30, 30, 1), (7126, 1425, 1425, 1), (7126, 1000, 250, 21), (33, 1, 1, 1), (30, 30, 30, 1),
)  # fmt: skip
COMBINED = (
    (27, 5, 2, 1, 2), (41, 4, 2, 0, 8), (60, 6, 2, 3, 0), (100, 6, 3, 2, 4), (101, 10, 8, 1, 1), (500, 10, 2, 5, 10),
    (48, 3, 2, 0, 0), (90, 9, 5, 4, 4),
)  # fmt: skip


def ranges(indices):
    """Return sorted indices as half-open ranges."""
    indices = np.asarray(indices, dtype=int)
    if not len(indices):
        return []
    cuts = np.flatnonzero(np.diff(indices) != 1) + 1
    return [[int(part[0]), int(part[-1]) + 1] for part in np.split(indices, cuts)]


def forward(n_bars, train, test, gap):
    from skfolio.model_selection import WalkForward

    found = {}
    for mode in ("anchored", "rolling"):
        folder = WalkForward(test_size=test, train_size=train, purged_size=gap, expand_train=mode == "anchored")
        # skfolio refuses splits without room for a test.
        splits = folder.split(np.zeros((n_bars, 1))) if train + gap < n_bars else ()
        found[mode] = [[ranges(fit)[0], ranges(tested)[0]] for fit, tested in splits]
    return {"n_bars": n_bars, "train": train, "test": test, "gap": gap, **found}


def combined(n_bars, n_groups, n_test, purge, embargo):
    from skfolio.model_selection import CombinatorialPurgedCV

    folder = CombinatorialPurgedCV(n_groups, n_test, purged_size=purge, embargo_size=embargo)
    splits = [[ranges(fit), [ranges(each)[0] for each in tests]] for fit, tests in folder.split(np.zeros((n_bars, 1)))]
    asked = {"n_bars": n_bars, "n_groups": n_groups, "n_test": n_test, "purge": purge, "embargo": embargo}
    return asked | {"splits": splits, "path_ids": folder.get_path_ids().tolist(), "n_paths": int(folder.n_test_paths)}


def live(count, seed):
    rng = default_rng(seed)
    for _ in range(count):
        train, test, gap = (int(rng.integers(low, high)) for low, high in ((1, 200), (1, 120), (0, 30)))
        print(json.dumps(forward(int(rng.integers(2, 1500)), train, test, gap)))
        n_groups = int(rng.integers(3, 11))
        n_bars = int(rng.integers(3 * n_groups, 400))
        # skfolio refuses purge and embargo of all but one bar of a group.
        room = n_bars // n_groups - 1
        purge = int(rng.integers(0, room))
        n_test, embargo = int(rng.integers(2, n_groups)), int(rng.integers(0, room - purge))
        print(json.dumps(combined(n_bars, n_groups, n_test, purge, embargo)))


def main():
    if sys.argv[1:2] == ["live"]:
        live(int(sys.argv[2]), int(sys.argv[3]))
        return
    written = {
        "skfolio": version("skfolio"),
        "forward": [forward(*case) for case in FORWARD],
        "combined": [combined(*case) for case in COMBINED],
    }
    lines = ["{", f' "skfolio": {json.dumps(written["skfolio"])},']
    for name in ("forward", "combined"):
        rows = ",\n".join(f"  {json.dumps(row)}" for row in written[name])
        lines += [f' "{name}": [', rows, " ]" + ("," if name == "forward" else "")]
    Path(__file__).with_suffix(".json").write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
