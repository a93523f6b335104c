from dataclasses import dataclass


@dataclass
class P:
    n_changed: int = 0


def causality_probe(s, d, n_cuts=25, seed=0):
    return P()
