"""Statistical power of the realism gate: the tables of docs/realism.md are recomputed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from builders import count
from scipy.stats import binom

from openoutcry.audits.realism import FACTS, RULES
from openoutcry.audits.realism.realism_gate import LEVEL, MANY_SEEDS, MIN_SHARE, evaluate_rules
from openoutcry.audits.realism.rule_alpha import Alphas
from openoutcry.audits.realism.significance_tests import share_below

pytestmark = pytest.mark.once

PAGE = Path(__file__).resolve().parents[2] / "docs" / "realism.md"
ROW = re.compile(r"^\| (\d\.\d\d) \| (\d+) % \| (\d+) % \| (\d+) % \|$", re.MULTILINE)
SEEDS = (20, 100, 200)
N_SIMULATIONS = count(400, 60)
# Standard error of a ten-year alpha-Sharpe over seeds, and correlation between rules of one market.
DEVIATION, CORRELATION = 0.32, 0.3


def failure_rate(n_seeds: int, alpha: float) -> float:
    """Return how often a rule with alpha-Sharpe `alpha` fails while the other 29 rules have none."""
    rng = np.random.default_rng([n_seeds, round(1000 * alpha)])
    found = 0
    for _ in range(N_SIMULATIONS):
        common, own = rng.standard_normal((n_seeds, 1)), rng.standard_normal((n_seeds, len(RULES)))
        table = DEVIATION * (np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * own)
        table[:, 0] += alpha
        card = [Alphas(row, row) for row in table]
        found += evaluate_rules(card, card)[0][0].passed is False
    return found / N_SIMULATIONS


def test_the_failure_rates_of_shares_equal_the_table() -> None:
    found = re.findall(
        r"^\| (\d+) % \| (\d+) % \| (\d+) % \| (\d+) % \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [row[0] for row in found] == ["70", "75", "80", "85", "90"]
    for share, *percents in found:
        for n, percent in zip(SEEDS, percents, strict=True):
            least = (
                next(k for k in range(n + 1) if share_below(k, n, MIN_SHARE) >= LEVEL / len(FACTS))
                if n < MANY_SEEDS
                else round(MIN_SHARE * n)
            )
            assert round(100.0 * binom.cdf(least - 1, n, int(share) / 100.0)) == int(percent), (share, n)


ROWS = [tuple(map(float, row)) for row in ROW.findall(PAGE.read_text(encoding="utf-8"))]


def test_the_page_has_a_power_table() -> None:
    assert [row[0] for row in ROWS] == [0.0, 0.05, 0.1, 0.15, 0.2, 0.4]


@pytest.mark.once
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"alpha-{row[0]}")
def test_the_power_against_alpha_equals_the_table(row: tuple[float, ...]) -> None:
    alpha, *percents = row
    for n_seeds, percent in zip(SEEDS, percents, strict=True):
        share = percent / 100.0
        # Four standard errors of the simulated share, and the rounding of the page.
        spread = 4.0 * np.sqrt(max(share * (1.0 - share), 0.005) / N_SIMULATIONS)
        assert abs(failure_rate(n_seeds, alpha) - share) <= spread + 0.02
