"""What the gate finds: the tables of docs/realism.md, drawn and computed again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from builders import count
from scipy.stats import binom

from openoutcry.audits.realism import FACTS, RULES
from openoutcry.audits.realism.realism_gate import LEVEL, MANY_SEEDS, SHARE, judged_rules
from openoutcry.audits.realism.rule_alpha import Alphas
from openoutcry.audits.realism.significance_tests import share_below

pytestmark = pytest.mark.once

PAGE = Path(__file__).resolve().parents[2] / "docs" / "realism.md"
ROW = re.compile(r"^\| (\d\.\d\d) \| (\d+) % \| (\d+) % \| (\d+) % \|$", re.MULTILINE)
SEEDS = (20, 100, 200)
N_CARDS = count(400, 60)
# Of a ten-year alpha-Sharpe over the seeds of a tier, and between rules of one market.
DEVIATION, CORRELATION = 0.32, 0.3


def failed(n_seeds: int, alpha: float) -> float:
    """Return the share of cards that fail the one rule which earns `alpha` while 29 earn nothing."""
    rng = np.random.default_rng([n_seeds, round(1000 * alpha)])
    found = 0
    for _ in range(N_CARDS):
        common, own = rng.standard_normal((n_seeds, 1)), rng.standard_normal((n_seeds, len(RULES)))
        table = DEVIATION * (np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * own)
        table[:, 0] += alpha
        card = [Alphas(row, row) for row in table]
        found += judged_rules(card, card)[0][0].passed is False
    return found / N_CARDS


def test_a_share_fails_as_often_as_the_page_says() -> None:
    found = re.findall(
        r"^\| (\d+) % \| (\d+) % \| (\d+) % \| (\d+) % \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [row[0] for row in found] == ["70", "75", "80", "85", "90"]
    for share, *told in found:
        for n, percent in zip(SEEDS, told, strict=True):
            least = (
                next(k for k in range(n + 1) if share_below(k, n, SHARE) >= LEVEL / len(FACTS))
                if n < MANY_SEEDS
                else round(SHARE * n)
            )
            assert round(100.0 * binom.cdf(least - 1, n, int(share) / 100.0)) == int(percent), (share, n)


ROWS = [tuple(map(float, row)) for row in ROW.findall(PAGE.read_text(encoding="utf-8"))]


def test_the_page_has_a_table_of_power() -> None:
    assert [row[0] for row in ROWS] == [0.0, 0.05, 0.1, 0.15, 0.2, 0.4]


@pytest.mark.once
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"alpha-{row[0]}")
def test_the_card_finds_what_the_page_says(row: tuple[float, ...]) -> None:
    alpha, *told = row
    for n_seeds, percent in zip(SEEDS, told, strict=True):
        share = percent / 100.0
        # Four standard errors of the drawn share, and the rounding of the page.
        spread = 4.0 * np.sqrt(max(share * (1.0 - share), 0.005) / N_CARDS)
        assert abs(failed(n_seeds, alpha) - share) <= spread + 0.02
