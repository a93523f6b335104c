"""Every scenario tier passes the realism gate."""

from __future__ import annotations

import pytest
from builders import count

from openoutcry.audits.realism import check
from openoutcry.audits.realism.market_panel import panel_of
from openoutcry.audits.realism.realism_gate import evaluate_facts
from openoutcry.audits.realism.reference_bands import bands_of
from openoutcry.audits.realism.stylized_facts import facts_of
from openoutcry.audits.realism.tier_panels import panels_of

pytestmark = pytest.mark.once

TIERS = ("calm", "hard", "extreme", "fx")


@pytest.mark.parametrize("tier", TIERS)
def test_no_simple_rule_has_alpha_on_a_tier(tier: str) -> None:
    verdict = check(panels_of(tier, count(200, 20)), tier)
    assert [row.rule for row in verdict.rules if row.passed is False] == []
    assert verdict.best_passed


@pytest.mark.parametrize("tier", TIERS)
def test_the_facts_of_a_tier_lie_inside_their_bands(tier: str) -> None:
    # At least 100 seeds: the standard error of a share is 3 points at 200 seeds, 4 at 100 and 8 at 20.
    panels = panels_of(tier, count(200, 100))
    rows = evaluate_facts([facts_of(panel_of(dataset)) for dataset in panels], bands_of(tier))
    assert [row.fact for row in rows if row.passed is False] == []
