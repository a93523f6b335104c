"""Recording of an episode, and its conversion to a trace with one row per bar."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.frame_columns import TIMES, iso
from openoutcry.audits.leakcheck.target_trace import Trace

FLAGS = ("terminated", "truncated")
LAYOUT = " (layout)"
SPACES = ("observation_space", "action_space")

NUMBER = (bool, int, float, np.generic)
_COMMON = (str, float, int, type(None))
_OBSERVATION, _INFO = f"observation{LAYOUT}", f"info{LAYOUT}"
_PLAIN = (str, bytes, Decimal, *NUMBER, type(None))

Values = npt.NDArray[Any]
# Size of each value by name; None where it changes between steps.
Layout = Mapping[str, int | None]


@dataclass
class Episode:
    """Recorded output of an episode.

    Attributes:
        seen: Numbers and texts of observations and infos by name, as pairs of observation index and value.
        not_compared: Type name of each value that is neither number nor text, by name.
        dates: Date in each info; None where it has none.
        rewards: Reward of each action.
        ended_by: `terminated` and `truncated`, where they ended the episode.
        labels: Labels of the numbers of an observation, by name, if the environment has them.
    """

    seen: dict[str, list[tuple[int, Values]]] = field(default_factory=lambda: defaultdict(list))
    not_compared: dict[str, str] = field(default_factory=dict)
    dates: list[str | None] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    ended_by: tuple[str, ...] = ()
    labels: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the environment ended the episode."""
        return bool(self.ended_by)

    def add(self, observation: Any, info: Mapping[str, Any], date: Any = None) -> None:
        """Record an observation, its info, and its date if the info has none."""
        place = len(self.dates)
        for name, value in (*leaves(observation, "observation"), *leaves(info, "info")):
            if isinstance(value, str):
                self.not_compared.setdefault(name, value)
            else:
                self.seen[name].append((place, value))
        for name, source in ((_OBSERVATION, observation), (_INFO, info)):
            self.seen[name].append((place, _text(structure(source))))
        dates = (value for name, value in info.items() if str(name).lower() in TIMES and value is not None)
        self.dates.append(next(map(iso, dates), date if isinstance(date, str) else None))

    def add_labels(self, env: Any) -> None:
        """Record the labels of an observation, as `OpenOutcryEnv` has them."""
        found = getattr(getattr(env, "unwrapped", env), "observation_labels", None)
        if isinstance(found, Mapping):
            self.labels = {f"observation.{key}" if key else "observation": list(found[key]) for key in found}

    def add_spaces(self, env: Any) -> None:
        """Record the spaces of an environment with its first observation."""
        for name in SPACES:
            for inner, value in leaves(_described(getattr(env, name, None)), name):
                if not isinstance(value, str):
                    self.seen[inner].append((0, value))


@lru_cache(maxsize=256)
def _text(text: str) -> Values:
    return np.array([text], dtype=object)


def structure(value: Any) -> str:
    """Describe the structure of a value: keys in their order, types and shapes."""
    if isinstance(value, _COMMON):
        return type(value).__name__
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype.str}{value.shape}" if value.dtype.kind not in "US" else f"text{value.shape}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {structure(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        kinds = {type(inner) for inner in value}
        if len(kinds) == 1 and (kind := kinds.pop()) in (bool, int, float, str):
            return f"{type(value).__name__} of {len(value)} {kind.__name__}"
        return f"{type(value).__name__} of " + ", ".join(map(structure, value))
    return type(value).__name__


def _described(space: Any) -> Any:
    """Return the numeric bounds of a space, or the repr of a space without bounds."""
    inner = getattr(space, "spaces", None)
    if inner is not None:
        named = inner.items() if isinstance(inner, Mapping) else enumerate(inner)
        return {str(name): _described(each) for name, each in named}
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if isinstance(low, np.ndarray) and isinstance(high, np.ndarray):
        ends = {"low": low, "high": high}
        return {name: _bounds_summary(values) for name, values in ends.items()} | {
            "kind": f"{low.dtype}{list(low.shape)}"
        }
    # A memory address differs between runs.
    return None if space is None else re.sub(r"0x[0-9a-f]+", "", repr(space))


def _bounds_summary(bounds: Values) -> list[float]:
    values = bounds.astype(np.float64)
    with np.errstate(all="ignore"):
        return [float(values.min()), float(values.mean()), float(values.max())] if values.size else []


def leaves(value: Any, name: str) -> Iterator[tuple[str, Values | str]]:
    """Yield the values of an observation or info by name.

    Numbers and texts are copied to flat arrays. Any other value yields the name of its type.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}")
    elif isinstance(value, list) and value and all(isinstance(each, NUMBER) for each in value):
        # Named as an array of the same values.
        yield from leaves(np.array(value), name)
    elif isinstance(value, (tuple, list)):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{name}[{place}]")
    elif isinstance(value, str):
        yield name, np.array([value], dtype=object)
    elif isinstance(value, (bytes, bytearray)):
        yield name, np.array([repr(bytes(value))], dtype=object)
    elif isinstance(value, Decimal):
        yield name, np.array([float(value)])
    elif isinstance(value, (complex, np.complexfloating)):
        yield name, np.array([value.real, value.imag], dtype=np.float64)
    elif isinstance(value, (set, frozenset)) and all(isinstance(each, _PLAIN) for each in value):
        yield name, np.array([", ".join(sorted(map(repr, value)))], dtype=object)
    elif isinstance(value, SimpleNamespace):
        yield from leaves(vars(value), name)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from leaves({each.name: getattr(value, each.name) for each in fields(value)}, name)
    elif isinstance(value, Enum):
        yield name, np.array([value.name], dtype=object)
    elif hasattr(value, "isoformat"):
        yield name, np.array([iso(value)], dtype=object)
    elif isinstance(value, NUMBER) or hasattr(value, "__array__"):
        array = np.asarray(value).flatten()
        if array.dtype.kind == "c":
            array = np.ascontiguousarray(array).astype(np.complex128).view(np.float64)
        yield name, array if array.dtype.kind in "fiub" else _texts(array)
    elif value is not None:
        yield name, type(value).__name__


def _texts(array: Values) -> Values | str:
    """Return texts, dates and plain values as objects, other types as a description."""
    if array.dtype.kind in "SUMm":
        return array.astype(str).astype(object)
    if array.dtype.kind == "O" and all(isinstance(each, _PLAIN) for each in array):
        return array
    return f"array of {array.dtype}"


def layout_of(episode: Episode) -> Layout:
    """Return the size of each value before the end of an episode, by name."""
    n_seen = len(episode.dates) - episode.is_over
    seen = {name: [pair for pair in values if pair[0] < n_seen] for name, values in episode.seen.items()}
    return {name: _size(values) for name, values in seen.items() if values}


def _size(values: Sequence[tuple[int, Values]]) -> int | None:
    sizes = {len(value) for _, value in values}
    return sizes.pop() if len(sizes) == 1 else None


def trace_of(episode: Episode, layout: Layout, start: int, n_bars: int) -> Trace:
    """Convert an episode to a trace with one row for each bar.

    Args:
        episode: Episode on the unchanged or the perturbed data.
        layout: Sizes on the unchanged data, so that both traces have the same columns.
        start: Bar of the first observation.
        n_bars: Bars of the unchanged data.
    """
    # No decision follows the last observation of a finished episode, and it may show that the data ends.
    n_seen = len(episode.dates) - episode.is_over
    bars = start + np.arange(len(episode.dates))
    ends = bars.copy()
    bars[n_seen:] = n_bars
    inside = (bars >= 0) & (bars < n_bars)
    present = np.zeros(n_bars, dtype=bool)
    present[bars[inside]] = True
    columns: dict[str, Values] = {}
    shown: dict[str, list[tuple[int, Values]]] = {name: [] for name in layout}
    rewards = [(k + 1, np.array([reward])) for k, reward in enumerate(episode.rewards)]
    for name, values in {**shown, **episode.seen, "reward": rewards}.items():
        size = layout[name] if name in layout else _size(values)
        placed = [(int(bars[place]), value) for place, value in values if 0 <= bars[place] < n_bars]
        labels = episode.labels.get(name, [])
        columns |= _lists(name, placed, n_bars) if size is None else _fixed((name, labels), size, placed, n_bars)
    for flag in FLAGS:
        columns[flag] = np.full(n_bars, np.nan)
        steps = ends[1:][(ends[1:] >= 0) & (ends[1:] < n_bars)]
        columns[flag][steps] = 0.0
        if flag in episode.ended_by and 0 <= ends[-1] < n_bars:
            columns[flag][ends[-1]] = 1.0
    return Trace(columns, np.arange(n_bars), present, is_whole=False, flags=frozenset(FLAGS))


def _fixed(
    named: tuple[str, Sequence[str]], size: int, placed: Sequence[tuple[int, Values]], n_bars: int
) -> dict[str, Values]:
    """Return a column for each element of a value, and one for deviating sizes.

    Elements have their labels if there are as many, and numbers otherwise.
    """
    name, labels = named
    kinds = {value.dtype if value.dtype.kind in "fO" else np.dtype(np.float64) for _, value in placed}
    full = np.full((n_bars, size), np.nan, np.result_type(*kinds) if kinds else np.float64)
    sizes = np.full(n_bars, np.nan)
    for bar, value in placed:
        n = min(len(value), size)
        full[bar, :n] = value[:n]
        sizes[bar] = np.nan if len(value) == size else len(value)
    # A wrapper may have another observation than its environment.
    ends = labels if len(labels) == size else [""] if size == 1 else [f"[{place}]" for place in range(size)]
    columns = {f"{name}{end}": full[:, place] for place, end in enumerate(ends)}
    return columns if np.isnan(sizes).all() else {**columns, f"{name} (size)": sizes}


def _lists(name: str, placed: Sequence[tuple[int, Values]], n_bars: int) -> dict[str, Values]:
    """Return a column of lists of variable size, and one of their sizes."""
    full, sizes = np.full(n_bars, None, dtype=object), np.full(n_bars, np.nan)
    for bar, value in placed:
        full[bar], sizes[bar] = value, len(value)
    return {name: full, f"{name} (size)": sizes}
