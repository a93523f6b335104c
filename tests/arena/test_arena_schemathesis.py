"""What schemathesis makes of the OpenAPI document, without a key and with one (R-03, R-04)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("schemathesis")

import schemathesis
from arena_in_process import Floor, floor

pytestmark = pytest.mark.once

N_EXAMPLES = 300 if os.environ.get("OPENOUTCRY_FULL") else 4
TOLD = settings(
    max_examples=N_EXAMPLES, phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("is_keyed", [False, True])
def test_whatever_the_document_allows_is_answered_as_it_says(tmp_path: Path, is_keyed: bool) -> None:
    """R-03, R-04: no status, header, kind of content or body that it does not name."""
    with floor(tmp_path / "arena") as ground:
        ground.publish()
        ground.register("one")
        headers = {"Authorization": f"Bearer {ground.keys['one']}"} if is_keyed else {}
        for operation in operations(ground):
            ask(operation, headers)


def operations(ground: Floor) -> list[Any]:
    schema = schemathesis.openapi.from_asgi("/openapi.json", ground.client.app)
    found = [each.ok() for each in schema.get_all_operations()]
    # Whoever rotates a key has no more the one that the next is asked with.
    return [each for each in found if not each.path.endswith("/keys/rotate")]


def ask(operation: Any, headers: dict[str, str]) -> None:
    # A path that nobody has, and a checkpoint that nobody signed, have the form of those that there are.
    apart = [schemathesis.checks.positive_data_acceptance]

    @TOLD
    @given(case=operation.as_strategy())
    def go(case: Any) -> None:
        case.call_and_validate(headers=headers, excluded_checks=apart)

    go()
