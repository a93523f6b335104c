"""Pictures and text of an account, and the frames of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import checked_integer
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

_Flags: TypeAlias = npt.NDArray[np.bool_]
_Numbers: TypeAlias = npt.NDArray[np.float64]

MODES = ("ansi", "rgb_array")


def render_mode_of(value: Any) -> str | None:
    """Return the validated render mode."""
    if value is not None and (not isinstance(value, str) or value not in MODES):
        raise refusal("argument_invalid", f"`render_mode` must be ansi, rgb_array or None; received {value!r}")
    return None if value is None else str(value)


def render_lane_of(value: Any, mode: str | None, num_envs: int) -> int:
    """Return the validated lane of the first frame."""
    lane = checked_integer("render_lane", value, 0, num_envs - 1)
    if lane and mode is None:
        message = f"`render_lane` must be 0 without a `render_mode`; received {lane}"
        raise refusal("argument_invalid", f"{message}; hint: render_mode='rgb_array'")
    return lane


def frame_of(mode: str, navs: Sequence[float], account: dict[str, Any], symbols: Sequence[str], date: str) -> Any:
    """Return an account as text, or as an image of shape `(400, 640, 3)`, uint8.

    Args:
        mode: One of `MODES`.
        navs: NAV at every bar of the episode so far.
        account: `closes` and `positions`, shape `(n,)`, and `cash`, shape `(1,)`.
        symbols: Names of the symbols.
        date: Date of the bar.
    """
    nav, cash = navs[-1], float(account["cash"][0])
    held = account["positions"] * account["closes"] / (nav or 1.0)
    if mode == "ansi":
        weights = "  ".join(f"{s} {w:+.1%}" for s, w in zip(symbols, held, strict=True) if w)
        return f"{date}  NAV {nav:.4f}  cash {cash:+.4f}  {weights or 'flat'}\n"
    from openoutcry.report.charts.raster import render_frame

    return render_frame(list(navs), held, tuple(symbols), date, cash)


class NavHistory:
    """NAV of every lane at every bar of its episode.

    Attributes:
        rows: NAV of all lanes, one array per step; steps before all running episodes are dropped.
        starts: Row of the first bar of each lane's episode.
    """

    def __init__(self, navs: _Numbers) -> None:
        self.rows, self.starts = [navs], np.zeros(navs.size, dtype=np.int64)

    def add(self, navs: _Numbers, started: _Flags) -> None:
        """Add a step; `started` are lanes that are at the first bar of an episode."""
        self.rows.append(navs)
        self.starts[started] = len(self.rows) - 1
        first = int(self.starts.min())
        del self.rows[:first]
        self.starts -= first

    def restart(self, navs: _Numbers, started: _Flags) -> None:
        """Replace the NAV of the last step for lanes that were reset after it."""
        self.rows[-1] = navs
        self.starts[started] = len(self.rows) - 1


class LaneFrames(Sequence[Any]):
    """Frames of lanes, drawn when accessed.

    Args:
        draw: Function that draws the frame of a lane.
        lanes: Lanes in the order of the frames.
    """

    def __init__(self, draw: Callable[[int], Any], lanes: Sequence[int]) -> None:
        self._draw, self._lanes = draw, lanes

    def __len__(self) -> int:
        return len(self._lanes)

    def __getitem__(self, place: Any) -> Any:
        lanes = self._lanes[place]
        return [self._draw(lane) for lane in lanes] if isinstance(place, slice) else self._draw(lanes)


def lane_frames(
    mode: str,
    history: NavHistory,
    accounts: dict[str, npt.NDArray[Any]],
    markets: tuple[Sequence[Dataset], Sequence[int], npt.NDArray[np.int64]],
    first: int,
) -> LaneFrames:
    """Return the frames of all lanes at this step.

    Args:
        mode: One of `MODES`.
        history: NAV of the lanes.
        accounts: `closes`, `positions` and `cash` of the lanes.
        markets: Datasets, the index of that of each lane, and its bar.
        first: Lane of the first frame; the others follow in order.
    """
    datasets, of_lane, bars = markets
    rows, starts = list(history.rows), history.starts.copy()

    def draw(lane: int) -> Any:
        dataset = datasets[of_lane[lane]]
        navs = [float(row[lane]) for row in rows[starts[lane] :]]
        account = {name: accounts[name][lane] for name in ("closes", "positions", "cash")}
        return frame_of(mode, navs, account, dataset.symbols, dataset.dates[bars[lane]])

    return LaneFrames(draw, [first, *(lane for lane in range(starts.size) if lane != first)])


__all__ = ["MODES", "LaneFrames", "NavHistory", "frame_of", "lane_frames", "render_mode_of"]
