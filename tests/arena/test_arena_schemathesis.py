"""Schemathesis runs on the OpenAPI document, without and with a key."""

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
SETTINGS = settings(
    max_examples=N_EXAMPLES, phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("is_keyed", [False, True])
def test_generated_requests_get_documented_responses(tmp_path: Path, is_keyed: bool) -> None:
    #
    """Statuses, headers, content types and bodies are documented."""
    with floor(tmp_path / "arena") as ground:
        ground.publish()
        ground.register("one")
        headers = {"Authorization": f"Bearer {ground.keys['one']}"} if is_keyed else {}
        for operation in operations(ground):
            check(operation, headers)


def operations(ground: Floor) -> list[Any]:
    schema = schemathesis.openapi.from_asgi("/openapi.json", ground.client.app)
    found = [each.ok() for each in schema.get_all_operations()]
    # Rotation would invalidate the key of the following requests.
    return [each for each in found if not each.path.endswith("/keys/rotate")]


def check(operation: Any, headers: dict[str, str]) -> None:
    # Well-formed requests may still name an unknown path or an unsigned checkpoint.
    apart = [schemathesis.checks.positive_data_acceptance]

    @SETTINGS
    @given(case=operation.as_strategy())
    def go(case: Any) -> None:
        case.call_and_validate(headers=headers, excluded_checks=apart)

    go()
