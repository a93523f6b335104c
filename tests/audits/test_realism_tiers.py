"""Every tier of scenarios passes the realism gate."""

from __future__ import annotations

import pytest
from builders import count

from openoutcry.audits.realism import check
from openoutcry.audits.realism.market_panel import panel_of
from openoutcry.audits.realism.realism_gate import judged_facts
from openoutcry.audits.realism.reference_bands import bands_of
from openoutcry.audits.realism.stylized_facts import facts_of
from openoutcry.audits.realism.tier_panels import panels_of

pytestmark = pytest.mark.once

TIERS = ("calm", "hard", "extreme", "fx")


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_pays_no_dumb_rule(tier: str) -> None:
    verdict = check(panels_of(tier, count(200, 20)), tier)
    assert [row.rule for row in verdict.rules if row.passed is False] == []
    assert verdict.best_passed


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_looks_real(tier: str) -> None:
    # Never of few: a share of 200 seeds has a standard error of 3 points, of 100 it has 4, of 20 it has 8.
    panels = panels_of(tier, count(200, 100))
    rows = judged_facts([facts_of(panel_of(dataset)) for dataset in panels], bands_of(tier))
    assert [row.fact for row in rows if row.passed is False] == []
