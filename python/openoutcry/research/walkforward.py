from __future__ import annotations
from dataclasses import dataclass


@dataclass(frozen=True)
class Fold:
    train: tuple[int, int]
    test: tuple[int, int]


def reserve(n_bars, holdout, embargo):
    return n_bars - holdout - (embargo if holdout else 0)


def folds(n_bars, n_folds=None, *, train=None, test=None, mode="anchored", gap=1, lookback=0, min_bars=30):
    test = test or (n_bars - gap) // (n_folds + 1)
    train = train or test
    out = []
    e = train
    while len(out) < n_folds and e + gap + test <= n_bars:
        out.append(Fold((0 if mode == "anchored" else e - train, e), (e + gap, e + gap + test)))
        e += test
    return tuple(out)
