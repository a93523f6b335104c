"""A 5x7 bitmap font, for the rasterizer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["ADVANCE", "HEIGHT", "text_mask"]

HEIGHT = 7
ADVANCE = 6

# Seven rows per glyph, five bits each, the leftmost pixel in the highest bit.
_ROWS = {
    " ": "00 00 00 00 00 00 00",
    "0": "0E 11 13 15 19 11 0E",
    "1": "04 0C 04 04 04 04 0E",
    "2": "0E 11 01 02 04 08 1F",
    "3": "1F 02 04 02 01 11 0E",
    "4": "02 06 0A 12 1F 02 02",
    "5": "1F 10 1E 01 01 11 0E",
    "6": "06 08 10 1E 11 11 0E",
    "7": "1F 01 02 04 08 08 08",
    "8": "0E 11 11 0E 11 11 0E",
    "9": "0E 11 11 0F 01 02 0C",
    "A": "0E 11 11 11 1F 11 11",
    "B": "1E 11 11 1E 11 11 1E",
    "C": "0E 11 10 10 10 11 0E",
    "D": "1C 12 11 11 11 12 1C",
    "E": "1F 10 10 1E 10 10 1F",
    "F": "1F 10 10 1E 10 10 10",
    "G": "0E 11 10 17 11 11 0F",
    "H": "11 11 11 1F 11 11 11",
    "I": "0E 04 04 04 04 04 0E",
    "J": "07 02 02 02 02 12 0C",
    "K": "11 12 14 18 14 12 11",
    "L": "10 10 10 10 10 10 1F",
    "M": "11 1B 15 15 11 11 11",
    "N": "11 11 19 15 13 11 11",
    "O": "0E 11 11 11 11 11 0E",
    "P": "1E 11 11 1E 10 10 10",
    "Q": "0E 11 11 11 15 12 0D",
    "R": "1E 11 11 1E 14 12 11",
    "S": "0F 10 10 0E 01 01 1E",
    "T": "1F 04 04 04 04 04 04",
    "U": "11 11 11 11 11 11 0E",
    "V": "11 11 11 11 11 0A 04",
    "W": "11 11 11 15 15 15 0A",
    "X": "11 11 0A 04 0A 11 11",
    "Y": "11 11 11 0A 04 04 04",
    "Z": "1F 01 02 04 08 10 1F",
    "+": "00 04 04 1F 04 04 00",
    "-": "00 00 00 1F 00 00 00",
    ".": "00 00 00 00 00 0C 0C",
    ",": "00 00 00 00 0C 04 08",
    ":": "00 0C 0C 00 0C 0C 00",
    "%": "18 19 02 04 08 13 03",
    "/": "00 01 02 04 08 10 00",
    "=": "00 00 1F 00 1F 00 00",
    "_": "00 00 00 00 00 00 1F",
    "^": "04 0A 11 00 00 00 00",
    "&": "0C 12 14 08 15 12 0D",
    "#": "0A 0A 1F 0A 1F 0A 0A",
    "(": "02 04 08 08 08 04 02",
    ")": "08 04 02 02 02 04 08",
    "$": "04 0F 14 0E 05 1E 04",
}
_UNKNOWN = "1F 11 11 11 11 11 1F"


@lru_cache(maxsize=512)
def text_mask(text: str, size: int = 1) -> npt.NDArray[np.bool_]:
    """Return the lit pixels of `text`, shape `(7 * size, 6 * size * len(text))`.

    A character without a glyph is an empty box. Do not modify the result: it is cached.
    """
    if not text:
        return np.zeros((HEIGHT * size, 0), dtype=np.bool_)
    cells = [_glyph(c) for c in text.upper()]
    return np.concatenate(cells, axis=1).repeat(size, axis=0).repeat(size, axis=1)


@lru_cache(maxsize=128)
def _glyph(character: str) -> npt.NDArray[np.bool_]:
    rows = [int(row, 16) for row in _ROWS.get(character, _UNKNOWN).split()]
    return np.array([[row >> (ADVANCE - 2 - column) & 1 for column in range(ADVANCE - 1)] + [0] for row in rows], bool)
