"""What a file does not say: all of it is asked for in one refusal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from openoutcry.errors import OpenOutcryError, refusal


@dataclass(frozen=True)
class Question:
    """One thing that a file does not say.

    Attributes:
        slug: Slug of the refusal.
        required: What is required.
        received: What the file has instead.
        keyword: Keyword argument that answers it.
        option: Option of the command that answers it.
        rest: Text after the hint.
    """

    slug: str
    required: str
    received: str
    keyword: str
    option: str
    rest: str = ""


def unstated(question: Question) -> OpenOutcryError:
    """Return the refusal of one question; `asked` collects it from there."""
    return _refusal_of([question])


def check(questions: Sequence[Question]) -> None:
    """Raise one refusal for all questions.

    Raises:
        OpenOutcryError: there is a question; the slug is that of the first.
    """
    if questions:
        raise _refusal_of(list(dict.fromkeys(questions)))


@contextmanager
def asked(into: list[Question]) -> Iterator[None]:
    """Collect the questions of a refusal; any other error propagates."""
    try:
        yield
    except OpenOutcryError as error:
        found = questions_of(error)
        if not found:
            raise
        into += found


def questions_of(error: OpenOutcryError) -> list[Question]:
    """Return the questions of a refusal; none if an option cannot answer it."""
    return list(getattr(error, "questions", ()))


def _refusal_of(questions: list[Question]) -> OpenOutcryError:
    required = ", and ".join(each.required for each in questions)
    received = ", and ".join(each.received for each in questions)
    keywords = ", ".join(each.keyword for each in questions)
    options = " ".join(each.option for each in questions)
    rest = "".join(each.rest for each in questions)
    error = refusal(questions[0].slug, f"{required}; received {received}; hint: {keywords}, `{options}`{rest}")
    error.questions = questions  # type: ignore[attr-defined]
    return error
