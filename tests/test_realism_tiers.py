"""Every tier of scenarios passes the realism gate."""

from __future__ import annotations

import pytest
from support import count

from openoutcry.realism import check
from openoutcry.realism.source import panels_of

pytestmark = pytest.mark.once

TIERS = ("calm", "hard", "extreme", "fx")


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_looks_real_and_pays_no_dumb_rule(tier: str) -> None:
    verdict = check(panels_of(tier, count(200, 20)), tier)
    assert verdict.failures == ()
