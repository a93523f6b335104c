"""Dates of the rows of returns, from the labels that they have."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from openoutcry.arguments import row_labels
from openoutcry.data import columns
from openoutcry.data.readers import date_text
from openoutcry.data.readers.column_roles import is_date_name
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.questions import questions_of
from openoutcry.errors import OpenOutcryError, refusal

_ISO = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ?)?", re.ASCII)
# Numbers of days such as 20240131, and of months such as 202401.
_DIGITS = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?", re.ASCII)
_HINT = "hint: sort all series by date, such as `returns.sort_index()`"


def iso_dates(labels: Any) -> list[str] | None:
    """Return labels as ISO 8601 dates, or None if they are no dates.

    Times that are all midnight in their own zone are days, other times with a zone are UTC, and a period has its last
    day. Texts have any form of date that files have.

    Raises:
        OpenOutcryError: `date_invalid`: a label is no date though the first one is, or the form is ambiguous.
    """
    if getattr(labels, "inferred_type", "") == "integer":
        # Others count the rows.
        if not all(_DIGITS.fullmatch(str(label)) for label in labels):
            return None
        labels = list(map(str, labels))
    texts = _texts(labels)
    if not texts or (not _ISO.fullmatch(texts[0]) and not looks_like_date(texts[0])):
        return None
    if _are_iso(texts):
        return texts
    try:
        return date_text.parse(texts, range(1, len(texts) + 1)).texts
    except OpenOutcryError as error:
        if not (questions := questions_of(error)):
            raise
        message = f"{questions[0].required}; received {questions[0].received}; hint: write dates such as 2024-01-31"
        raise refusal(questions[0].slug, message) from error


def names_dates(name: str) -> bool:
    """Return whether a column name is that of dates, or of an index without a name."""
    return is_date_name(name)


def check_order(dates: Sequence[str]) -> None:
    """Check that ISO 8601 dates are strictly increasing.

    Raises:
        OpenOutcryError: `date_order`: a date is not after the one before it.
    """
    for row, (before, date) in enumerate(itertools.pairwise(dates), 1):
        if date <= before:
            hint = "hint: keep one return for each date" if date == before else _HINT
            raise refusal("date_order", f"the date of row {row} must be after {before}; received {date}; {hint}")


def in_row_order(values: Any) -> Any:
    """Return values, if the rows of a pandas object are in the order of its labels.

    Labels that are neither dates nor numbers have no order. Arrays have no labels.

    Raises:
        OpenOutcryError: `date_order`: a date or a number is not after the one before it.
    """
    labels = row_labels(values)
    if labels is not None:
        check_label_order(labels)
    return values


def check_label_order(labels: Any) -> list[str] | None:
    """Check the order of an index, and return its dates; None if it has none.

    Raises:
        OpenOutcryError: `date_order`: a date or a number is not after the one before it.
    """
    dates = iso_dates(labels)
    if dates is not None:
        check_order(dates)
    elif labels.inferred_type in ("integer", "floating"):
        numbers = labels.to_numpy()
        if len(late := np.flatnonzero(~(numbers[1:] > numbers[:-1]))):
            before, number = numbers[late[0]], numbers[late[0] + 1]
            message = f"the label of row {late[0] + 1} must be after {before}; received {number}"
            raise refusal("date_order", f"{message}; {_HINT}, or drop labels with `returns.to_numpy()`")
    return dates


def _texts(labels: Any) -> list[str]:
    if hasattr(labels, "end_time") and hasattr(labels, "start_time"):
        is_days = (labels.end_time - labels.start_time >= np.timedelta64(86_399, "s")).all()
        labels = (labels.end_time.floor("D") if is_days else labels.start_time).to_numpy()
    if hasattr(labels, "inferred_type") and hasattr(labels, "tz"):
        return columns.index_dates(labels)
    return columns.iso(labels)


def _are_iso(texts: Sequence[str]) -> bool:
    length = len(texts[0])
    if not all(len(text) == length and _ISO.fullmatch(text) for text in texts):
        return False
    try:
        np.array([text.removesuffix("Z") for text in texts], dtype="datetime64[s]")
    except ValueError:
        return False
    return True
