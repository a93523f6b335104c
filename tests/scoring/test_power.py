"""Statistical power, against simulated fields."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from builders import count
from scipy import stats
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.scoring.power import power

pytestmark = pytest.mark.once


def test_every_number_equals_its_formula() -> None:
    for n_returns, n_agents, ppy, sharpe, size, seen in (
        (50, 21, 252.0, 1.0, 0.05, 0.8),
        (2_520, 1, 252.0, 0.5, 0.01, 0.9),
        (120, 300, 12.0, 2.0, 0.1, 0.5),
    ):
        found = power(n_returns, n_agents, periods_per_year=ppy, sharpe=sharpe, size=size, power=seen)
        alone = 1.0 - (1.0 - size) ** (1.0 / n_agents)
        errors = stats.norm.isf(alone) + stats.norm.ppf(seen)
        error = math.sqrt(ppy / (n_returns - 1))
        per_bar = sharpe / math.sqrt(ppy)
        exact = 1.0 + (1.0 + per_bar**2 / 2.0) * (errors / per_bar) ** 2
        assert found.standard_error == pytest.approx(error, rel=1e-12)
        assert found.best_quantile == pytest.approx(error * stats.norm.isf(alone), rel=1e-11)
        assert found.n_needed == math.ceil(exact)
        assert found.tracks_needed == math.ceil((exact - 1.0) / (n_returns - 1))
        assert found.years_needed == found.n_needed / ppy
        pair = stats.norm.isf(size / 2.0) + stats.norm.ppf(seen)
        assert found.min_gap == pytest.approx(pair * error * math.sqrt(2.0), rel=1e-12)
        assert found.min_sharpe is not None
        least = found.min_sharpe / math.sqrt(ppy)
        assert least * math.sqrt((n_returns - 1) / (1.0 + least**2 / 2.0)) == pytest.approx(errors, rel=1e-12)


def test_the_best_of_a_field_without_skill_has_the_stated_expectation() -> None:
    rng, found = np.random.default_rng(3), power(250, 21)
    r = rng.standard_normal((count(20_000, 2_000), 21, 250), dtype=np.float32)
    best = (r.mean(axis=2) / r.std(axis=2, ddof=1)).max(axis=1) * math.sqrt(252.0)
    print(f"best of 21 on 250 days: {best.mean():.3f}, computed {found.best_expected:.3f}")
    assert best.mean() == pytest.approx(found.best_expected, rel=0.02)
    assert (best > found.best_quantile).mean() == pytest.approx(0.05, abs=count(10, 18) / 1_000)


def test_skill_is_detected_with_the_stated_power() -> None:
    rng, wanted = np.random.default_rng(4), power(50, 21, sharpe=3.0)
    n = int(wanted.n_needed)
    r = 3.0 / math.sqrt(252.0) + rng.standard_normal((count(20_000, 3_000), n), dtype=np.float32)
    ratio = r.mean(axis=1) / r.std(axis=1, ddof=1)
    z = ratio * math.sqrt(n - 1) / np.sqrt(1.0 + ratio**2 / 2.0)
    seen = (z > wanted.best_quantile / wanted.standard_error).mean()
    print(f"seen on {n} returns: {seen:.3f}")
    assert seen == pytest.approx(0.8, abs=0.03)


def test_a_comparison_without_power_says_so() -> None:
    found = power(4, 21)
    assert found.min_sharpe is None
    assert set(found.undefined) == {"min_sharpe"}
    assert "No true ratio can be detected" in found.sentence


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--days", "1", "--agents", "21"], "`--days` must be an integer from 2"),
        (["--days", "50", "--agents", "0"], "`--agents` must be an integer from 1"),
        (["--days", "50", "--agents", "2", "--size", "1"], "a probability is required"),
        (["--days", "50", "--agents", "2", "--sharpe", "-1"], "a number above its benchmark"),
    ],
)
def test_invalid_arguments_are_refused(words: list[str], message: str) -> None:
    refused = CliRunner().invoke(app, ["power", *words])
    assert isinstance(refused.exception, oo.OpenOutcryError)
    assert refused.exception.slug == "argument_invalid"
    assert message in str(refused.exception)


def test_the_command_prints_a_table_or_json() -> None:
    words = ["power", "--days", "50", "--agents", "21"]
    printed = CliRunner().invoke(app, words)
    found = power(50, 21)
    assert printed.exit_code == 0
    assert " ".join(found.sentence.split()) in " ".join(printed.output.split())
    assert f"{found.best_quantile:.2f}" in printed.output
    as_json = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert as_json["best_expected"] == found.best_expected
    assert as_json["sentence"] == found.sentence
    longer = CliRunner().invoke(app, [*words[:2], "2520", *words[3:], "--sharpe", "0.5", "--power", "0.9", "--json"])
    printed = json.loads(longer.output)
    assert (printed["n_returns"], printed["sharpe"], printed["power"]) == (2520, 0.5, 0.9)
    help_text = CliRunner().invoke(app, ["power", "--help"]).output
    assert "Interpretation" in help_text
