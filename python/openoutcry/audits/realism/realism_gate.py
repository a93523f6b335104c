"""The realism gate: facts inside frozen bands, and no alpha for dumb rules."""

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
"""Largest |alpha-Sharpe| of a rule, and how much more the best of all may earn than on a martingale."""
SHARE = 0.8
"""Least share of seeds inside a band."""
LEVEL = 0.05
MANY_SEEDS = 100
"""From how many seeds on shares are taken as they are, and equivalence tests have power; of fewer failure is tested."""
PRINTED_ONLY = {"excess_kurtosis": "its variance is infinite where the tail index is below 4"}


def check(
    datasets: Iterable[Dataset],
    tier: str = "",
    *,
    name: str = "",
    costs: CostModel | None = None,
    jobs: int | None = None,
    on_panel: Callable[[int], object] | None = None,
) -> Verdict:
    """Judge markets of one kind, a panel a seed, or a single panel.

    Over seeds, the median of each fact must lie inside its band, and at least 80 % of seeds; of fewer than 100 seeds,
    their share must not be shown to be less. A single panel is tested
    against the draws of the band, by Holm at 5 %; one path says nothing of rules, so that their card is printed only.

    Args:
        datasets: Panels of one shape; ten years each is what the bands are made for.
        tier: Whose bands to ask; empty for none, when facts are printed only.
        name: What the verdict calls the market; that of the first panel by default.
        costs: What trading costs the rules; None for the defaults.
        jobs: Backtests at a time; None: one a processor.
        on_panel: Called with the count of panels done.

    Raises:
        OpenOutcryError: there is no panel, or one is too short to have facts.
    """
    bands = bands_of(tier) if tier else {}
    facts: list[dict[str, Fact]] = []
    alphas: list[Alphas] = []
    noise: list[Alphas] = []
    n_bars = 0
    for dataset in datasets:
        panel = panel_of(dataset)
        if not panel.counted:
            wanted = f"a panel must have a symbol with {MIN_RETURNS} returns, most of them not 0"
            raise refusal("argument_invalid", f"{wanted}; received {dataset.n_bars} bars of {dataset.name}")
        name, n_bars = name or dataset.name, n_bars or dataset.n_bars
        facts.append(facts_of(panel))
        alphas.append(alphas_of(dataset, RULES, costs, jobs))
        drift_free = martingale(dataset, *_shape(facts[-1]), seed=len(noise))
        noise.append(alphas_of(drift_free, RULES, costs, jobs))
        if on_panel is not None:
            on_panel(len(facts))
    if not facts:
        raise refusal("argument_invalid", "`datasets` must hold a panel; received none")
    rows = judged_facts(facts, bands)
    return Verdict(name, tier, len(facts), n_bars, rows, *judged_rules(alphas, noise))


def _shape(facts: dict[str, Fact]) -> tuple[float, float]:
    """Return the volatility and correlation that a martingale beside a panel has."""
    volatility, correlation = (facts[name].value for name in ("annual_volatility", "pairwise_correlation"))
    assert volatility is not None, "a panel with a counted symbol has a volatility"
    return volatility, min(max(correlation or 0.0, 0.0), 0.95)


def judged_facts(found: list[dict[str, Fact]], bands: dict[str, Band]) -> tuple[FactRow, ...]:
    """Return a row a fact: over seeds by their median and share, of one panel by Holm."""
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
        # What a tier has a band for, its markets must have; a single panel may lack it.
        required = band is not None and fact not in PRINTED_ONLY and len(found) > 1
        return FactRow(fact, None, passed=False if required else None, reason=reason + missing)
    median = float(np.median(values))
    if band is None:
        return FactRow(fact, median, reason="no band")
    inside = float(np.mean([band.holds(value) for value in values]))
    shown = (band.low, band.high, band.source, inside)
    if fact in PRINTED_ONLY:
        return FactRow(fact, median, *shown, reason=PRINTED_ONLY[fact])
    if len(values) == 1:
        p_value = band.p_value(values[0])
        return FactRow(fact, median, *shown, p_value, reason="" if band.quantiles else "no draws to test one panel by")
    return FactRow(fact, median, *shown, passed=band.holds(median) and _is_share_kept(values, band))


def _is_share_kept(values: list[float], band: Band) -> bool:
    """Return whether enough seeds are inside.

    Of few seeds, whether those inside are not shown to be too few.
    """
    n, n_inside = len(values), sum(map(band.holds, values))
    if n >= MANY_SEEDS:
        return n_inside >= SHARE * n
    return share_below(n_inside, n, SHARE) >= LEVEL / len(FACTS)


def judged_rules(
    alphas: list[Alphas], noise: list[Alphas]
) -> tuple[tuple[RuleRow, ...], str, float | None, float | None, bool | None]:
    """Return a row a rule, the test made, and the best beside a martingale's.

    What is tested is alpha before costs, from both sides: costs alone push what trades much below any bound, and what
    loses before costs is earned by its opposite.
    """
    net, gross = (np.array([getattr(each, kind) for each in alphas]) for kind in ("net", "gross"))
    best, best_noise = _best(net), _best(np.array([each.net for each in noise]))
    means = [[_mean(column) for column in table.T] for table in (net, gross)]
    if len(alphas) == 1:
        named = zip(RULES, *means, strict=True)
        return tuple(RuleRow(rule.name, rule.family, *each) for rule, *each in named), "none", best, best_noise, None
    is_shown = len(alphas) >= MANY_SEEDS
    columns = [column[np.isfinite(column)] for column in gross.T]
    test = equivalence if is_shown else excess
    # A rule that traded in fewer than two panels shows nothing either way.
    nothing = 1.0
    adjusted = holm([test(column, BOUND) if column.size > 1 else nothing for column in columns])
    rows = []
    for index, rule in enumerate(RULES):
        column, p_value = columns[index], adjusted[index]
        error = float(column.std(ddof=1) / np.sqrt(column.size)) if column.size > 1 else None
        passed = p_value < LEVEL if is_shown else p_value >= LEVEL
        rows.append(RuleRow(rule.name, rule.family, means[0][index], means[1][index], error, p_value, passed))
    is_no_more = None if best is None or best_noise is None else best <= best_noise + BOUND
    return tuple(rows), "equivalence" if is_shown else "excess", best, best_noise, is_no_more


def _best(table: Table) -> float | None:
    """Return the mean over panels of the best rule; None where no rule traded in one."""
    if np.isnan(table).all(axis=1).any():
        return None
    return float(np.nanmax(table, axis=1).mean())


def _mean(column: Table) -> float | None:
    known = column[np.isfinite(column)]
    return float(known.mean()) if known.size else None
