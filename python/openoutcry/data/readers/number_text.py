"""Numbers as vendors write them: signs, separators, decimal commas, suffixes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import OpenOutcryError, refusal

MISSING = frozenset(("", "nan", "null", "none", "n/a", "na", "#n/a", ".", "-", "--", "nat", "<na>"))
_SUFFIX = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_LONGEST = 64
# Marks between groups of three digits. In `112'16` the mark is that of a fraction in 32nds.
_MARKED = re.compile(r"['\s\u00a0\u202f]")
_GROUPED = re.compile(r"\d{1,3}(['\s\u00a0\u202f]\d{3})+([.,]\d*)?")
# `1.004` between numbers without a point can be a thousand.
_DOTTED = re.compile(r"[1-9]\d{0,2}(\.\d{3})+", re.ASCII)
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
# Powers of ten next to a decimal comma, as pandas writes them: `4,1e-05`.
_POWER = re.compile(r"[-+]?(\d+,?\d*|,\d+)[eE][-+]?\d+", re.ASCII)
_OTHER = re.compile(r"[^0-9.eE+\-\n]")
# A number per line, or nothing.
_COLUMNS = {
    mark: re.compile(
        rf"(?:(?:[-+]?(?:\d{{1,3}}(?:{other}\d{{3}})+|\d+)(?:{re.escape(mark)}\d*)?)?(?:\n|\Z))*", re.ASCII
    )
    for mark, other in ((".", ","), (",", r"\."))
}
_DECORATED_COLUMNS = {
    mark: re.compile(
        rf"(?:(?:[-+]?[$€£¥]?(?:\d{{1,3}}(?:{other}\d{{3}})+|\d{{1,3}}(?:['\ \u00a0\u202f]\d{{3}})+|\d+)"
        rf"(?:{re.escape(mark)}\d*)?[KMBTkmbt]?)?(?:\n|\Z))*",
        re.ASCII,
    )
    for mark, other in ((".", ","), (",", r"\."))
}
_DECORATIONS = {mark: dict.fromkeys(map(ord, f"$€£¥' \u00a0\u202f{other}")) for mark, other in ((".", ","), (",", "."))}
_SUFFIXES = re.compile("[KMBTkmbt]")
# Columns in which each number shows the mark.
_SIGNS = r"[ $€£¥%KMBTkmbt+()\u00a0-]*"
_SHOWS_COMMA = re.compile(
    rf"(?:{_SIGNS}(?:\d+,(?:\d{{1,2}}|\d{{4,}})|\d{{1,3}}(?:\.\d{{3}})+,\d*){_SIGNS}(?:\n|\Z))+", re.ASCII
)
_SHOWS_POINT = re.compile(rf"(?:{_SIGNS}\d{{1,3}}(?:,\d{{3}})+\.\d*{_SIGNS}(?:\n|\Z))+", re.ASCII)
_DECORATED = re.compile(
    r"(?P<sign>[-+]?)\s*[$€£¥]?\s*(?P<digits>[\d.,' \u00a0\u202f]+?)\s*[$€£¥]?(?P<suffix>[KMBTkmbt]?)"
)
# No thousand begins with 0.
_DECIMAL_COMMA = re.compile(
    r"\d+,\d{1,2}|\d+,\d{4,}|0,\d+|\d,\d+[eE][-+]?\d+|\d{1,3}(\.\d{3})+,\d*|\d{1,3}(\.\d{3}){2,}", re.ASCII
)
# A file with a number of four digits has no mark between thousands.
_UNGROUPED = re.compile(r"[1-9]\d{3,}([.,]\d*)?", re.ASCII)
_DECIMAL_POINT = re.compile(
    r"\d+\.\d{1,2}|\d+\.\d{4,}|\d*\.\d+|\d{1,3}(,\d{3})+\.\d*|\d{1,3}(,\d{3}){2,}|\d{1,2}(,\d\d)+,\d{3}(\.\d+)?",
    re.ASCII,
)


def is_missing(text: str) -> bool:
    """Return whether a text stands for a missing value."""
    return text.strip().lower() in MISSING


def are_dotted(column: Sequence[str]) -> bool:
    """Return whether every point of some numbers is before three digits."""
    has_dots = False
    for text in column:
        if "." in text:
            if _DOTTED.fullmatch(text) is None:
                return False
            has_dots = True
    return has_dots


def decimal_mark(columns: Iterable[Sequence[str]], stated: str | None = None, *, is_continental: bool = False) -> str:
    """Return the decimal mark of numbers: `.` or `,`.

    Args:
        columns: Numbers as text.
        stated: Mark that the caller states.
        is_continental: Whether the file has signs of a country that writes a comma, so that `1.234` may be a thousand.

    Raises:
        OpenOutcryError: `field_unparsable`: `1,234` can mean a thousand or a decimal. `argument_invalid`: the stated
            mark is neither, or the numbers contradict it.
    """
    if stated not in (None, ".", ","):
        raise refusal("argument_invalid", f"`decimal` must be '.' or ','; received {stated!r}")
    if stated is not None:
        _check_stated_mark(stated, columns)
        return stated
    has_comma = ""
    shows_comma = shows_point = ""
    has_dots, columns = "", list(columns)
    for column in columns:
        if are_dotted(column):
            has_dots = has_dots or next(text for text in column if "." in text)
            if any(map(str.isdigit, column)):
                raise _unstated_mark(f"{has_dots!r} in a column of whole numbers")
        for text in column[:1] if _is_of_one_mark(column) else column:
            # A text without a comma can show a point only.
            if "," not in text and (shows_point or "." not in text):
                continue
            digits = text.strip(" $€£¥%KMBTkmbt+-()\u00a0")
            has_comma = has_comma or (text if "," in digits else "")
            if _DECIMAL_COMMA.fullmatch(digits):
                shows_comma = shows_comma or digits
            elif _DECIMAL_POINT.fullmatch(digits) and not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
                shows_point = shows_point or digits
    if shows_comma and shows_point:
        received = f"{shows_comma!r} and {shows_point!r}"
        raise refusal("field_unparsable", f"numbers must have one decimal mark; received {received}")
    if has_comma and not shows_comma and not shows_point:
        raise _unstated_mark(f"{has_comma[:_LONGEST]!r}, commas before three digits only")
    if has_dots and is_continental and not shows_comma and not shows_point:
        if any(_UNGROUPED.fullmatch(text) for column in columns for text in column):
            return "."
        raise _unstated_mark(f"{has_dots!r}, points before three digits only")
    return "," if shows_comma else "."


def _check_stated_mark(stated: str, columns: Iterable[Sequence[str]]) -> None:
    """Refuse a mark that numbers such as `0.012` contradict."""
    other = re.compile(r"(?<![\d.,])0\.\d+" if stated == "," else r"(?<![\d.,])0,\d+", re.ASCII)
    for column in columns:
        found = other.search("\n".join(column))
        if found is not None:
            message = f"`decimal` must fit the numbers; received {stated!r} with {found[0][:_LONGEST]!r}"
            raise refusal("argument_invalid", message)


def _is_of_one_mark(column: Sequence[str]) -> bool:
    """Return whether all numbers of a column show the mark that the first one shows."""
    lines = "\n".join(column)
    if "," not in lines or lines.count("\n") != len(column) - 1:
        return False
    return any(pattern.fullmatch(lines) is not None for pattern in (_SHOWS_COMMA, _SHOWS_POINT))


def _unstated_mark(received: str) -> OpenOutcryError:
    required, keyword = "numbers must show their decimal mark", 'decimal="," or decimal="."'
    return unstated(Question("field_unparsable", required, received, keyword, "--decimal ,"))


def parse(values: Sequence[str], lines: Sequence[int], column: str, decimal: str = ".") -> npt.NDArray[np.float64]:
    """Return the numbers of a column, NaN where missing.

    Raises:
        OpenOutcryError: `field_unparsable`: a text is no number, with its line.
    """
    numbers = _plain_numbers(values) if decimal == "." else None
    if numbers is None:
        numbers = _grouped_numbers(known := _without_missing(values), decimal)
        if numbers is None and decimal == "." and known is not values:
            numbers = _plain_numbers(known)
        if numbers is None:
            numbers = _decorated_numbers(known, decimal)
    if numbers is None:
        numbers = _written_numbers(values, lines, column, decimal)
    check_finite(numbers, lines, column)
    return numbers


def check_finite(numbers: npt.NDArray[np.float64], lines: Sequence[int], column: str) -> None:
    """Refuse an infinite number, such as 1e999.

    Raises:
        OpenOutcryError: `field_unparsable`: a number is infinite, with its line.
    """
    is_infinite = np.isinf(numbers)
    if is_infinite.any():
        line = lines[int(np.flatnonzero(is_infinite)[0])]
        raise refusal("field_unparsable", f"`{column}` on line {line} must be a finite number; received infinity")


def is_numeric(values: Sequence[str]) -> bool:
    """Return whether every text is a number or missing, and at least one is a number."""
    present = [text.strip() for text in values if not is_missing(text)]
    return bool(present) and all(map(_is_number, present))


def _is_number(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text) or _POWER.fullmatch(text) or _decorated(text.rstrip("%")))


def _plain_numbers(values: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """Return numbers without marks, NaN where empty; None for other forms."""
    # Of these characters, `float` reads what `_PLAIN` matches.
    if _OTHER.search("\n".join(values)) is not None:
        return None
    try:
        if all(values):
            return np.fromiter(map(float, values), np.float64, len(values))
        return np.array([float(text) if text else np.nan for text in values], np.float64)
    except ValueError:
        return None


def _grouped_numbers(values: Sequence[str], decimal: str) -> npt.NDArray[np.float64] | None:
    """Return numbers with marks between thousands, NaN where empty; else None."""
    lines = "\n".join(values)
    if _COLUMNS[decimal].fullmatch(lines) is None or lines.count("\n") != len(values) - 1:
        return None
    plain = lines.replace("." if decimal == "," else ",", "").replace(decimal, ".").split("\n")
    return np.array([float(text) if text else np.nan for text in plain], np.float64)


def _without_missing(values: Sequence[str]) -> Sequence[str]:
    """Return texts, empty where they stand for a missing value."""
    missing = {text for text in set(values) if text and not text[-1].isdigit() and is_missing(text)}
    return ["" if text in missing else text for text in values] if missing else values


def _decorated_numbers(values: Sequence[str], decimal: str) -> npt.NDArray[np.float64] | None:
    """Return numbers with signs, marks and suffixes, NaN where empty.

    None for other forms.
    """
    lines = "\n".join(values)
    if _DECORATED_COLUMNS[decimal].fullmatch(lines) is None or lines.count("\n") != len(values) - 1:
        return None
    plain = lines.translate(_DECORATIONS[decimal]).replace(decimal, ".")
    texts = plain.split("\n")
    if not _SUFFIXES.search(plain):
        return np.array([float(text) if text else np.nan for text in texts], np.float64)
    factors = np.array([_SUFFIX.get(text[-1:].upper(), 1.0) for text in texts])
    known = [text.rstrip("KMBTkmbt") for text in texts]
    found: npt.NDArray[np.float64] = np.array([float(text) if text else np.nan for text in known]) * factors
    return found


def _written_numbers(values: Sequence[str], lines: Sequence[int], column: str, decimal: str) -> npt.NDArray[np.float64]:
    plain = [text if _PLAIN.fullmatch(text) else "" for text in values]
    numbers = np.array([float(text) if text else np.nan for text in plain])
    if decimal == "," or any(not text for text in plain):
        for place, text in enumerate(values):
            if decimal == "," or not plain[place]:
                numbers[place] = _number(text, decimal, column, lines[place])
    return numbers


def _number(text: str, decimal: str, column: str, line: int) -> float:
    if is_missing(text):
        return float("nan")
    if decimal == "," and _POWER.fullmatch(text.strip()):
        return float(text.replace(",", "."))
    match = _decorated(text.strip())
    if match is not None:
        thousands = "." if decimal == "," else ","
        digits = match["digits"] if _MARKED.search(match["digits"]) is None else ""
        digits = digits or (_ungrouped(match["digits"]) if _GROUPED.fullmatch(match["digits"]) else "")
        whole, mark, fraction = digits.partition(decimal)
        groups = whole.split(thousands)
        is_grouped = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
        # Lakh and crore: 12,34,567.
        is_grouped |= all(len(group) == 2 for group in groups[1:-1]) and len(groups[-1]) == 3 and len(groups[0]) <= 2
        if digits and is_grouped and thousands not in fraction and (mark == "" or decimal not in fraction):
            number = f"{match['sign']}{''.join(groups)}.{fraction or '0'}"
            if _PLAIN.fullmatch(number):
                return float(number) * _SUFFIX.get(match["suffix"].upper(), 1.0)
    raise refusal("field_unparsable", f"`{column}` on line {line} must be a number or empty; received {text!r}")


def _ungrouped(digits: str) -> str:
    return _MARKED.sub("", digits)


def _decorated(text: str) -> re.Match[str] | None:
    # No number is longer; the pattern needs quadratic time for long blanks.
    match = _DECORATED.fullmatch(text) if len(text) <= _LONGEST else None
    return match if match is not None and any(char.isdigit() for char in match["digits"]) else None
