"""Generators that are not cryptographically secure, markets drawn from them, and state recovery attacks.

An attack takes uniforms as computed from prices, each with an error, and returns the next one; None if no state of the
generator is consistent with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

NORMAL = NormalDist()
VOL, FIRST = 0.01, 100.0
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
# Multiplier, increment and bits: of Java, of Knuth's MMIX.
JAVA = (0x5DEECE66D, 0xB, 48)
MMIX = (6364136223846793005, 1442695040888963407, 64)


def splitmix(state: int) -> Iterator[int]:
    """Yield the outputs of SplitMix64."""
    while True:
        state = (state + GOLDEN) & MASK
        yield int(_mixed(np.array([state], np.uint64))[0])


def _mixed(state: Words) -> Words:
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _unmixed(z: Words) -> Words:
    def unshifted(z: Words, k: int) -> Words:
        x = z
        for _ in range(64 // k):
            x = z ^ (x >> np.uint64(k))
        return x

    z = unshifted(z, 31) * np.uint64(pow(0x94D049BB133111EB, -1, 2**64))
    z = unshifted(z, 27) * np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
    return unshifted(z, 30)


def congruence(state: int, law: tuple[int, int, int] = JAVA) -> Iterator[int]:
    """Yield the states of a linear congruence."""
    a, c, bits = law
    while True:
        state = (a * state + c) & (2**bits - 1)
        yield state


def xorshift(state: int) -> Iterator[int]:
    """Yield the outputs of xorshift64."""
    while True:
        state ^= (state << 13) & MASK
        state ^= state >> 7
        state ^= (state << 17) & MASK
        yield state


def prices_of(normals: Sequence[float] | Array) -> Array:
    """Return the prices of a walk that moves by standard normals."""
    return FIRST * np.exp(VOL * np.concatenate([[0.0], np.cumsum(normals)]))


def normals_of(prices: Array) -> Array:
    """Return the standard normals of such a walk from its prices."""
    return np.diff(np.log(prices)) / VOL


def uniforms_of(prices: Array) -> Array:
    """Return the uniforms of the normals of such a walk."""
    return np.array([NORMAL.cdf(z) for z in normals_of(prices)])


def walk_of(uniforms: Sequence[float]) -> Array:
    """Return the prices of a walk that moves by quantiles of uniforms."""
    return prices_of([NORMAL.inv_cdf(u) for u in uniforms])


def box_muller(words: Iterator[int], n_pairs: int) -> Array:
    """Return standard normals, two per pair of words."""
    unit = [(next(words) >> 11) / 2**53 for _ in range(2 * n_pairs)]
    radius, angle = np.sqrt(-2.0 * np.log(np.array(unit[::2]) + 2.0**-54)), 2.0 * np.pi * np.array(unit[1::2])
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def invert_splitmix(normals: Array, error: float) -> float | None:
    """Return the next normal of a market drawn by Box-Muller from words of SplitMix64.

    The first two normals give two uniforms, up to an error. Each word that matches the first determines a state, whose
    next word must match the second. Later normals select the state.
    """
    x, y = normals[:2]
    first, second = np.exp(-0.5 * (x * x + y * y)), np.arctan2(y, x) / (2.0 * np.pi) % 1.0
    reach = min(int((error + 2.0**-52) * 2**53) + 2, 2**10)
    tops = int(first * 2**53) + np.arange(-reach, reach + 1)
    words = (tops[:, None].astype(np.uint64) << np.uint64(11)) | np.arange(2**11, dtype=np.uint64)
    states = _unmixed(words.reshape(-1))
    after = (_mixed(states + np.uint64(GOLDEN)) >> np.uint64(11)) / 2**53
    fits = np.flatnonzero(np.abs(after - second) < 4.0 * error)
    for place in fits:
        made = box_muller(splitmix((int(states[place]) - GOLDEN) & MASK), len(normals) // 2 + 1)
        if np.abs(made[: len(normals)] - normals).max() < 1e3 * error:
            return float(made[len(normals)])
    return None


def invert_congruence(uniforms: Array, error: float, stride: int = 1, law: tuple[int, int, int] = JAVA) -> float | None:
    """Return the next uniform of a linear congruence from the upper bits of its states.

    States are points of a lattice. A short basis gives the point nearest to the observed values.

    Source: Frieze, Hastad, Kannan, Lagarias and Shamir (1988).
    """
    a, c, bits = law
    size, modulus = 6, 1 << bits
    step, added = pow(a, stride, modulus), sum(c * pow(a, k, modulus) for k in range(stride)) % modulus
    shifts = [0]
    for _ in range(size - 1):
        shifts.append((step * shifts[-1] + added) % modulus)
    target = [int(seen * modulus) - shift for seen, shift in zip(uniforms, shifts, strict=False)]
    state = _nearest(*_short(step, modulus, size), target)[0] % modulus
    for seen in uniforms:
        if abs(state / modulus - seen) > 2.0 * error:
            return None
        state = (step * state + added) % modulus
    return state / modulus


@cache
def _short(step: int, modulus: int, size: int) -> tuple[list[list[int]], list[list[Fraction]]]:
    """Return a short basis of the lattice of consecutive states, and its orthogonalization."""
    basis = [[pow(step, k, modulus) for k in range(size)]]
    basis += [[modulus if k == place else 0 for k in range(size)] for place in range(1, size)]
    basis = _reduced(basis)
    return basis, _orthogonal(basis)


def _reduced(basis: list[list[int]]) -> list[list[int]]:
    """Return a short basis of a lattice (Lenstra, Lenstra and Lovasz 1982)."""
    basis, k = [row[:] for row in basis], 1
    while k < len(basis):
        # Subtracting earlier rows does not change the orthogonal part of a row.
        upright = _orthogonal(basis)
        for j in range(k - 1, -1, -1):
            share = round(_share(basis[k], upright[j]))
            basis[k] = [x - share * y for x, y in zip(basis[k], basis[j], strict=True)]
        share = _share(basis[k], upright[k - 1])
        if _dot(upright[k], upright[k]) >= (Fraction(3, 4) - share**2) * _dot(upright[k - 1], upright[k - 1]):
            k += 1
        else:
            basis[k], basis[k - 1], k = basis[k - 1], basis[k], max(k - 1, 1)
    return basis


def _nearest(basis: list[list[int]], uprights: list[list[Fraction]], target: list[int]) -> list[int]:
    """Return a point of the lattice close to a target (Babai 1986)."""
    rest = [Fraction(x) for x in target]
    for row, upright in reversed(list(zip(basis, uprights, strict=True))):
        share = round(_share(rest, upright))
        rest = [x - share * y for x, y in zip(rest, row, strict=True)]
    return [int(x - y) for x, y in zip(target, rest, strict=True)]


def _orthogonal(basis: list[list[int]]) -> list[list[Fraction]]:
    rows: list[list[Fraction]] = []
    for row in basis:
        upright = [Fraction(x) for x in row]
        for other in rows:
            share = _share(row, other)
            upright = [x - share * y for x, y in zip(upright, other, strict=True)]
        rows.append(upright)
    return rows


def _share(row: Sequence[int | Fraction], of: Sequence[Fraction]) -> Fraction:
    return Fraction(_dot(row, of)) / _dot(of, of)


def _dot(a: Sequence[int | Fraction], b: Sequence[int | Fraction]) -> int | Fraction:
    return sum(x * y for x, y in zip(a, b, strict=True))


def invert_xorshift(uniforms: Array, error: float, stride: int = 1) -> float | None:
    """Return the next uniform of xorshift64, whose output bits are linear in the bits of its state.

    Solves the equations of the upper bits of each uniform; a contradiction means another generator.
    """
    n_bits = int(-np.log2(error)) - 4
    rows = [1 << bit for bit in range(64)]
    solved: dict[int, tuple[int, int]] = {}
    for seen in uniforms[:-1]:
        for _ in range(stride):
            rows = _shifted(rows)
        scaled = seen * 2**n_bits
        # The error of a uniform near a step can change its upper bits.
        if abs(scaled - round(scaled)) < 2.0 * error * 2**n_bits:
            continue
        for bit in range(n_bits):
            if not _add(solved, rows[64 - n_bits + bit], int(scaled) >> bit & 1):
                return None
    if len(solved) < 64:
        return None
    state = _back(solved)
    for seen in uniforms:
        for _ in range(stride):
            state = next(xorshift(state))
        if abs(state / 2**64 - seen) > 2.0 * error:
            return None
    for _ in range(stride):
        state = next(xorshift(state))
    return state / 2**64


def _shifted(rows: list[int]) -> list[int]:
    rows = [row ^ (rows[i - 13] if i >= 13 else 0) for i, row in enumerate(rows)]
    rows = [row ^ (rows[i + 7] if i + 7 < 64 else 0) for i, row in enumerate(rows)]
    return [row ^ (rows[i - 17] if i >= 17 else 0) for i, row in enumerate(rows)]


def _add(solved: dict[int, tuple[int, int]], row: int, value: int) -> bool:
    """Add an equation; return False if it contradicts the earlier ones."""
    while row:
        top = row.bit_length() - 1
        if top not in solved:
            solved[top] = (row, value)
            return True
        row, value = row ^ solved[top][0], value ^ solved[top][1]
    return value == 0


def _back(solved: dict[int, tuple[int, int]]) -> int:
    state = 0
    for top in sorted(solved):
        row, value = solved[top]
        known = (row & state & ~(1 << top)).bit_count() & 1
        state |= (value ^ known) << top
    return state


def invert_twister(uniforms: Array, error: float) -> float | None:
    """Return the next uniform of the MT19937 of numpy; 624 outputs of 32 bits determine the state."""
    if len(uniforms) < 630 or error > 2.0**-33:
        return None
    words = np.round(uniforms * 2**32 - 0.5).astype(np.uint64)
    key = np.array([_untempered(int(word)) for word in words[:624]], np.uint32)
    random = np.random.RandomState()
    random.set_state(("MT19937", key, 624))
    expected = random.randint(0, 2**32, len(words) - 624 + 1, dtype=np.uint32)
    return float((expected[-1] + 0.5) / 2**32) if (expected[:-1] == words[624:]).all() else None


def _untempered(y: int) -> int:
    y ^= y >> 18
    y ^= (y << 15) & 0xEFC60000
    x = y
    for _ in range(5):
        x = y ^ ((x << 7) & 0x9D2C5680)
    y = x
    for _ in range(3):
        x = y ^ (x >> 11)
    return x
