"""The realism gate passes facts inside their bands and fails others, and the command reports it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from builders import dates_of
from numpy.typing import NDArray
from scipy.stats import binom
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.audits.realism import FACTS, RULES, Fact, FactRow, check
from openoutcry.audits.realism.realism_gate import MANY_SEEDS, evaluate_facts, evaluate_rules
from openoutcry.audits.realism.reference_bands import Band, bands_of, document, levels, tiers
from openoutcry.audits.realism.rule_alpha import Alphas
from openoutcry.audits.realism.significance_tests import share_below
from openoutcry.cli.commands import app

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
BAND = Band(2.0, 4.0, "test", tuple(np.quantile(np.random.default_rng(0).normal(3.0, 0.5, 10_000), levels())))


def found(values: Sequence[float | None], fact: str = "hill") -> list[dict[str, Fact]]:
    absent = Fact(None, "not tested")
    return [
        dict.fromkeys(FACTS, absent) | {fact: Fact(value, "" if value is not None else "no volume")} for value in values
    ]


def row_of(values: Sequence[float | None], band: Band = BAND, fact: str = "hill") -> FactRow:
    rows = evaluate_facts(found(values, fact), {fact: band})
    return next(row for row in rows if row.fact == fact)


def noise_alphas(n_seeds: int, seed: int, shift: float = 0.0) -> list[Alphas]:
    """Return the alphas of ten-year noise paths, with `shift` added to the first rule."""
    table = np.random.default_rng(seed).normal(0.0, 0.316, (n_seeds, len(RULES)))
    table[:, 0] += shift
    return [Alphas(row - 0.1, row) for row in table]


def test_a_fact_passes_with_its_median_and_80_percent_of_the_seeds_inside() -> None:
    assert row_of([3.0] * 80 + [5.0] * 20).passed is True
    assert row_of([3.0] * 79 + [5.0] * 21).passed is False
    assert row_of([3.0] * 10).inside == 1.0
    assert row_of([4.5] * 10).passed is False


def test_with_few_seeds_a_fact_fails_only_if_its_share_is_significantly_low() -> None:
    # With a true share of 80 %, 14 of 20 or fewer seeds are inside in a fifth of all runs.
    assert row_of([3.0] * 14 + [5.0] * 6).passed is True
    assert row_of([3.0] * 28 + [5.0] * 22).passed is False
    for n_inside, n in ((14, 20), (0, 20), (20, 20), (28, 50)):
        assert share_below(n_inside, n, 0.8) == pytest.approx(binom.cdf(n_inside, n, 0.8), rel=1e-12)


def test_kurtosis_is_reported_but_not_tested() -> None:
    row = row_of([99.0] * 10, fact="excess_kurtosis")
    assert row.passed is None
    assert "infinite" in row.reason


def test_an_undefined_fact_fails_a_tier_that_has_a_band_for_it() -> None:
    row = row_of([3.0, None, 3.0])
    assert (row.passed, row.median, row.reason) == (False, None, "no volume in 1 of 3 panels")
    assert row_of([None]).passed is None


def test_one_panel_is_tested_against_the_draws_with_holms_correction() -> None:
    facts = ("hill", "skew", "leverage")
    one = {"hill": Fact(3.0), "skew": Fact(4.2), "leverage": Fact(3.0)}
    rows = evaluate_facts([found([None])[0] | one], dict.fromkeys(facts, BAND))
    by_name = {row.fact: row for row in rows}
    assert by_name["hill"].passed is True
    assert by_name["skew"].p_value == pytest.approx(3 * 2 * (1.0 - np.interp(4.2, BAND.quantiles, levels())))
    # Outside its band at 5 %, not significant after Holm's correction for three facts.
    assert not BAND.holds(4.2)
    assert by_name["skew"].passed is True
    assert row_of([9.0]).passed is False


def test_a_band_from_the_literature_does_not_test_a_single_panel() -> None:
    row = row_of([9.0], Band(2.0, 4.0, "literature"))
    assert (row.passed, row.p_value, row.inside) == (None, None, 0.0)


def test_with_enough_seeds_noise_passes_the_equivalence_test() -> None:
    rows, test, best, best_noise, is_within_bound = evaluate_rules(noise_alphas(200, 1), noise_alphas(200, 2))
    assert test == "equivalence"
    assert all(row.passed for row in rows)
    assert best == pytest.approx(best_noise, abs=0.1)
    assert is_within_bound is True


def test_a_rule_with_alpha_fails() -> None:
    rows, _, best, best_noise, is_within_bound = evaluate_rules(noise_alphas(200, 1, 0.9), noise_alphas(200, 2))
    assert [row.rule for row in rows if row.passed is False] == [RULES[0].name]
    assert best is not None
    assert best_noise is not None
    assert best > best_noise + 0.15
    assert is_within_bound is False
    losing, *_ = evaluate_rules(noise_alphas(200, 1, -0.6), noise_alphas(200, 2))
    assert [row.rule for row in losing if row.passed is False] == [RULES[0].name]


def test_few_seeds_use_the_excess_test() -> None:
    few = MANY_SEEDS // 5
    rows, test, *_ = evaluate_rules(noise_alphas(few, 3), noise_alphas(few, 4))
    assert test == "excess"
    assert all(row.passed for row in rows)
    rows, *_ = evaluate_rules(noise_alphas(few, 3, 1.0), noise_alphas(few, 4))
    assert rows[0].passed is False


def test_one_panel_does_not_test_rules() -> None:
    rows, test, _, _, is_within_bound = evaluate_rules(noise_alphas(1, 5), noise_alphas(1, 6))
    assert test == "none"
    assert is_within_bound is None
    assert {row.passed for row in rows} == {None}


def test_a_rule_that_never_traded_has_no_values_and_fails_the_equivalence_test() -> None:
    made = [
        Alphas(np.append(each.net[:-1], np.nan), np.append(each.gross[:-1], np.nan)) for each in noise_alphas(120, 7)
    ]
    rows, *_ = evaluate_rules(made, made)
    assert (rows[-1].net, rows[-1].error, rows[-1].passed) == (None, None, False)


def test_the_gate_fails_unrealistic_markets() -> None:
    panels = (oo.Dataset.synthetic(4, 800, seed) for seed in range(3))
    verdict = check(panels, "hard", jobs=1)
    assert not verdict.passed
    assert {"acf_abs_5", "hill"} <= set(verdict.failures)
    assert (verdict.n_seeds, verdict.n_bars, verdict.test) == (3, 800, "excess")
    json.dumps(verdict.to_dict(), allow_nan=False)


def test_the_gate_is_the_same_for_any_number_of_jobs() -> None:
    one, two = (check([oo.Dataset.synthetic(3, 700, 1)], "hard", jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_a_market_with_momentum_fails_on_rules() -> None:
    panels = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        moved = 0.01 * rng.standard_normal((1500, 4))
        for t in range(1, 1500):
            moved[t] += 0.2 * moved[t - 1]
        panels.append(oo.Dataset.from_arrays(dates_of(1500), list("ABCD"), 100.0 * np.exp(np.cumsum(moved, axis=0))))
    verdict = check(panels, jobs=1)
    assert "reversal-1" in verdict.failures
    assert verdict.tier == ""


@pytest.mark.parametrize(
    ("panels", "tier", "message"),
    [
        ([], "hard", "must contain a panel; received none"),
        ([oo.Dataset.synthetic(2, 120, 0)], "hard", "500 returns"),
        ([oo.Dataset.synthetic(2, 700, 0)], "harder", "calm, hard, extreme, fx; received 'harder'"),
    ],
)
def test_invalid_input_is_refused(panels: list[oo.Dataset], tier: str, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid") as caught:
        check(panels, tier)
    assert message in str(caught.value)


@pytest.mark.parametrize("tier", tiers())
def test_every_band_has_a_source_and_sorted_quantiles(tier: str) -> None:
    bands = bands_of(tier)
    assert set(bands) <= set(FACTS)
    for band in bands.values():
        assert band.low < band.high
        assert band.source
        assert list(band.quantiles) == sorted(band.quantiles)
        assert len(band.quantiles) in (0, len(levels()))
    measured = {fact for fact, band in bands.items() if band.quantiles}
    assert measured == set(FACTS) - {"volume_volatility", "range_ratio", "overnight_share"}


def test_the_bands_document_their_script_and_sources() -> None:
    root = Path(__file__).resolve().parents[2]
    found = document()
    assert (root / found["script"]).is_file()
    assert found["draws"] >= 1000
    assert all(tier["blocks"]["block"] >= 250 for tier in found["tiers"].values())
    assert all(source["from"] < source["to"] for source in found["sources"].values())


def test_the_bundled_currencies_pass_the_currency_bands() -> None:
    verdict = check([oo.data.load("ecb-fx")], "fx", jobs=1)
    assert verdict.passed
    assert {row.fact for row in verdict.facts if row.passed} >= {"hill", "acf_abs_20", "annual_volatility"}


def test_the_command_passes_currencies_on_currency_bands_and_fails_them_on_stock_bands() -> None:
    passed = CliRunner().invoke(app, ["realism", "ecb-fx", "--tier", "fx"])
    assert passed.exit_code == 0, passed.output
    assert "tail index" in passed.output
    failed = CliRunner().invoke(app, ["realism", "ecb-fx", "--tier", "hard", "--json"])
    assert failed.exit_code == 1
    result = json.loads(failed.stdout)
    assert "annual_volatility" in result["failures"]
    assert result["passed"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["no-such-market.csv"],
            "a bundled market (ecb-fx, us-treasury) or an existing file; received 'no",
        ),
        (["ecb-fx", "--seeds", "20"], "`--seeds` must be left out"),
        (["ecb-fx", "--tier", "harder"], "received 'harder'"),
        (["hard", "--periods-per-year", "252"], "`--periods-per-year` must come with a file of prices"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_command_refuses_invalid_arguments(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["realism", *arguments])
    assert isinstance(result.exception, oo.OpenOutcryError)
    assert message in str(result.exception)
