"""Realism gate: stylized facts inside reference bands, no alpha for simple rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from openoutcry.audits.realism.market_panel import MIN_RETURNS, panel_of
from openoutcry.audits.realism.realism_result import FactRow, RuleRow, Verdict
from openoutcry.audits.realism.reference_bands import Band, bands_of
from openoutcry.audits.realism.rule_alpha import Alphas, alphas_of, martingale
from openoutcry.audits.realism.significance_tests import equivalence, excess, holm, share_below
from openoutcry.audits.realism.stylized_facts import FACTS, Fact, facts_of
from openoutcry.audits.realism.trading_rules import RULES
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel

Table = npt.NDArray[np.float64]

BOUND = 0.15
"""Largest allowed |alpha-Sharpe| of a rule, and largest excess of the best rule over its value on a martingale."""
MIN_SHARE = 0.8
"""Smallest share of seeds that must lie inside a band."""
LEVEL = 0.05
MANY_SEEDS = 100
"""Number of seeds from which shares are compared directly and equivalence tests have power."""
UNTESTED = {"excess_kurtosis": "its variance is infinite where the tail index is below 4"}


def check(
    datasets: Iterable[Dataset],
    tier: str = "",
    *,
    name: str = "",
    costs: CostModel | None = None,
    jobs: int | None = None,
    on_panel: Callable[[int], object] | None = None,
) -> Verdict:
    """Check a market against stylized facts of returns and test rules for alpha.

    With several seeds, the median of each fact and at least 80 % of the seeds must lie inside its band. With fewer
    than 100 seeds, a fact fails only if its share is significantly below 80 %. A single panel is tested against the
    bootstrap draws of the band, with Holm's correction at 5 %; rules are reported but not tested, because one path has
    no power.

    Args:
        datasets: Panels of the same shape, one for each seed. The bands describe ten years of daily bars.
        tier: Tier that supplies the bands; empty for none, which reports the facts without a test.
        name: Name of the market in the verdict; by default that of the first panel.
        costs: Costs of the rules; None for the default costs.
        jobs: Number of parallel backtests; None for one per processor.
        on_panel: Called with the number of finished panels.

    Raises:
        OpenOutcryError: `datasets` is empty, or a panel is too short.
    """
    bands = bands_of(tier) if tier else {}
    facts: list[dict[str, Fact]] = []
    alphas: list[Alphas] = []
    noise: list[Alphas] = []
    n_bars = 0
    for dataset in datasets:
        panel = panel_of(dataset)
        if not panel.counted:
            required = f"a panel must have a symbol with {MIN_RETURNS} returns, most of them nonzero"
            raise refusal("argument_invalid", f"{required}; received {dataset.n_bars} bars of {dataset.name}")
        name, n_bars = name or dataset.name, n_bars or dataset.n_bars
        facts.append(facts_of(panel))
        alphas.append(alphas_of(dataset, RULES, costs, jobs))
        drift_free = martingale(dataset, *_shape(facts[-1]), seed=len(noise))
        noise.append(alphas_of(drift_free, RULES, costs, jobs))
        if on_panel is not None:
            on_panel(len(facts))
    if not facts:
        raise refusal("argument_invalid", "`datasets` must contain a panel; received none")
    rows = evaluate_facts(facts, bands)
    return Verdict(name, tier, len(facts), n_bars, rows, *evaluate_rules(alphas, noise))


def _shape(facts: dict[str, Fact]) -> tuple[float, float]:
    """Return the volatility and correlation of the martingale that matches a panel."""
    volatility, correlation = (facts[name].value for name in ("annual_volatility", "pairwise_correlation"))
    assert volatility is not None, "a panel with a counted symbol has a volatility"
    return volatility, min(max(correlation or 0.0, 0.0), 0.95)


def evaluate_facts(found: list[dict[str, Fact]], bands: dict[str, Band]) -> tuple[FactRow, ...]:
    """Evaluate each fact over all seeds, or with Holm's correction for one panel.

    Over seeds, the median and the share of seeds inside the band decide.
    """
    rows = {fact: _fact_row(fact, [each[fact] for each in found], bands.get(fact)) for fact in FACTS}
    if len(found) > 1:
        return tuple(rows.values())
    tested = {fact: row.p_value for fact, row in rows.items() if row.p_value is not None}
    for fact, adjusted in zip(tested, holm(list(tested.values())), strict=True):
        row = rows[fact]
        rows[fact] = FactRow(
            fact, row.median, row.low, row.high, row.source, row.inside, adjusted, adjusted >= LEVEL, row.reason
        )
    return tuple(rows.values())


def _fact_row(fact: str, found: list[Fact], band: Band | None) -> FactRow:
    values = [each.value for each in found if each.value is not None]
    if len(values) < len(found):
        reason = next(each.reason for each in found if each.value is None)
        missing = "" if not values else f" in {len(found) - len(values)} of {len(found)} panels"
        # A tier must have every fact that has a band; a single panel may lack one.
        required = band is not None and fact not in UNTESTED and len(found) > 1
        return FactRow(fact, None, passed=False if required else None, reason=reason + missing)
    median = float(np.median(values))
    if band is None:
        return FactRow(fact, median, reason="no band")
    inside = float(np.mean([band.holds(value) for value in values]))
    shown = (band.low, band.high, band.source, inside)
    if fact in UNTESTED:
        return FactRow(fact, median, *shown, reason=UNTESTED[fact])
    if len(values) == 1:
        p_value = band.p_value(values[0])
        return FactRow(
            fact, median, *shown, p_value, reason="" if band.quantiles else "the band has no draws to test one panel"
        )
    return FactRow(fact, median, *shown, passed=band.holds(median) and _is_share_sufficient(values, band))


def _is_share_sufficient(values: list[float], band: Band) -> bool:
    """Return whether enough seeds lie inside a band.

    With few seeds, the share must not be significantly too low.
    """
    n, n_inside = len(values), sum(map(band.holds, values))
    if n >= MANY_SEEDS:
        return n_inside >= MIN_SHARE * n
    return share_below(n_inside, n, MIN_SHARE) >= LEVEL / len(FACTS)


def evaluate_rules(
    alphas: list[Alphas], noise: list[Alphas]
) -> tuple[tuple[RuleRow, ...], str, float | None, float | None, bool | None]:
    """Test the rules for alpha and compare the best rule with that on a martingale.

    The test is two-sided on alpha before costs: costs alone push a rule with high turnover below any bound, and the
    opposite of a rule that loses before costs earns.

    Returns:
        A row for each rule, the name of the test, the best alpha-Sharpe after costs, the same on martingales, and
        whether the first exceeds the second by at most `BOUND`.
    """
    net, gross = (np.array([getattr(each, kind) for each in alphas]) for kind in ("net", "gross"))
    best, best_noise = _best(net), _best(np.array([each.net for each in noise]))
    means = [[_mean(column) for column in table.T] for table in (net, gross)]
    if len(alphas) == 1:
        named = zip(RULES, *means, strict=True)
        return tuple(RuleRow(rule.name, rule.family, *each) for rule, *each in named), "none", best, best_noise, None
    has_power = len(alphas) >= MANY_SEEDS
    columns = [column[np.isfinite(column)] for column in gross.T]
    test = equivalence if has_power else excess
    # A rule that traded in fewer than two panels gives no evidence.
    no_evidence = 1.0
    adjusted = holm([test(column, BOUND) if column.size > 1 else no_evidence for column in columns])
    rows = []
    for index, rule in enumerate(RULES):
        column, p_value = columns[index], adjusted[index]
        error = float(column.std(ddof=1) / np.sqrt(column.size)) if column.size > 1 else None
        passed = p_value < LEVEL if has_power else p_value >= LEVEL
        rows.append(RuleRow(rule.name, rule.family, means[0][index], means[1][index], error, p_value, passed))
    is_within_bound = None if best is None or best_noise is None else best <= best_noise + BOUND
    return tuple(rows), "equivalence" if has_power else "excess", best, best_noise, is_within_bound


def _best(table: Table) -> float | None:
    """Return the panel mean of the best rule; None if no rule trades in a panel."""
    if np.isnan(table).all(axis=1).any():
        return None
    return float(np.nanmax(table, axis=1).mean())


def _mean(column: Table) -> float | None:
    known = column[np.isfinite(column)]
    return float(known.mean()) if known.size else None
