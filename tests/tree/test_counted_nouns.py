"""A count of one has a noun in the singular, on pages and in texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from report_pages import make_score, make_scores
from research_pages import make_research
from rust_graph import TESTS

from openoutcry import Dataset, OpenOutcryError, TradingEnv
from openoutcry.research.proposal_requests import MarketCard, ProposalRequest, TrialCard
from openoutcry.research.proposers.prompts import prompt_of
from openoutcry.verifiers_env.rewards import RewardTerms

NOUNS = "trials rounds agents runs bars symbols folds windows seeds candidates days returns records columns bits times"
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "openoutcry"
MORE = "markets twins decisions combinations answers orders"
IN_RUST = "bytes dates elements entries fields hashes lanes lines numbers rows steps streams terms values weights"
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
# At least 2 by their constants, or texts.
SEVERAL_IN_RUST = {
    "bootstrap/error.rs": ["{required} agents"],
    "market/open_basis.rs": ["{} bars"],
    "skill/power.rs": ["{n_agents} agents", "{} returns", "{} returns"],
    "src/compression.rs": ["{most} bytes"],
    "src/error.rs": ["{days} returns"],
}
# In Python: at least 2 by a check before or by their constants, or "1 of n".
SEVERAL_OF_MODULES = {
    "audits/leakcheck/leak_chart.py": ["len(report.columns)"],
    "audits/leakcheck/leak_report.py": ["self.n_columns"],
    "audits/realism/stylized_facts.py": ["MIN_RETURNS + VOLUME_TREND"],
    "backtest/unfilled_orders.py": ["total", "n_fills + len(lost)"],
    "benchmarks/engine_speed.py": ["len(runs)"],
    "benchmarks/scenario_speed.py": ["len(report.columns)", "report.n_runs"],
    "cli/commands.py": ["times"],
    "cli/conformance.py": ["found.n_answers"],
    "cli/leakcheck.py": ["report.n_columns"],
    "cli/progress_process.py": ["n_runs"],
    "cli/report_timing.py": ["found.n_returns"],
    "data/bar_axis.py": ["per_session"],
    "data/bar_labels.py": ["len(found)"],
    "data/bar_periods.py": ["len(dates)"],
    "data/lagged_symbols.py": ["self.n_returns"],
    "data/masking.py": ["len(columns['dates'])"],
    "data/readers/dividend_checks.py": ["len(bars)"],
    "gym/action_schemes.py": ["n_symbols"],
    "harness/concurrent_runs.py": ["len(runs)"],
    "harness/conformance/decision_rules.py": ["n_orders"],
    "harness/conformance/report_verification.py": ["'no' if name in WITHOUT_ANSWERS else 'some'"],
    "harness/mcp/market_selection.py": ["self.dataset.n_bars"],
    "ledger/run_listing.py": ["n"],
    "report/charts/rolling_sharpe.py": ["rolling.n_returns", "rolling.n_returns", "n_returns"],
    "report/pages/run_page.py": ["rolling.n_returns", "view.n_fan", "bars", "bars"],
    "report/pages/score_page.py": ["len(view.rows)"],
    "report/pages/search_sections.py": ["gaps[-1]"],
    "report/pages/skill_section.py": ["number(math.ceil(needed), 0)"],
    "report/run_analysis.py": ["bands.block_length", "bands.cell"],
    "research/cautions.py": ["found.total_bits"],
    "research/holdout_power.py": ["self.advised_bars"],
    "research/proposers/prompts.py": ["len(history)"],
    "research/search_history.py": ["budgets['trials']"],
    "research/source_checks.py": ["len(values)"],
    "research/source_information.py": ["most"],
    "research/walkforward_folds.py": ["least_test"],
    "scoring/least_squares.py": ["n_columns + 3"],
    "scoring/return_bands.py": ["month"],
    "scoring/track_comparison.py": ["len(track.dates)"],
    "scoring/verdict.py": ["n_agents", "needed"],
}
# Checked to be at least 2, a rate, a factor, and the constants.
SEVERAL = re.compile(r"[A-Z_]+|(\w+\.)?n_bars|row\.horizon|row\.n_windows|.*periods_per_year|weight")
PLURAL = re.compile(rf" (?:{'|'.join([*NOUNS.split(), *MORE.split()])})\b(?! per year)")
WRONG = re.compile(rf"(?<![\d.,:-])1 (?:[a-z]+ )?(?:{'|'.join(NOUNS.split())})\b")
PLACEHOLDER = re.compile(
    rf"\{{(?![A-Z_]+\}})[^{{}}]*\}} (?:{'|'.join([*NOUNS.split(), *MORE.split(), *IN_RUST.split()])})\b(?! per year)"
)
CARD = TrialCard(0, None, "rejected", ("parse: no JSON",))
REQUEST = ProposalRequest(1, "", MarketCard("m", ("A",), "2000-01-03", "2001-01-03", 300, 252.0), {}, (CARD,))


def wrong_counts(page: str) -> list[str]:
    """Return the counts of one with a plural in the text of a page."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return WRONG.findall(" ".join(re.sub(r"<[^>]*>", " ", text).split()))


def plural_counts(source: str) -> Iterator[str]:
    """Yield the expressions of f-strings that a plural noun follows."""
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for shown, after in pairwise(parts):
            if isinstance(shown, ast.FormattedValue) and isinstance(after, ast.Constant):
                expression = ast.unparse(shown.value)
                if PLURAL.match(str(after.value)) and not SEVERAL.fullmatch(expression):
                    yield expression


def rust_plurals(source: str) -> list[str]:
    """Return the placeholders of Rust texts that a plural noun follows."""
    code = re.sub(r"//[^\n]*", "", TESTS.sub("", source))
    return [found for text in LITERAL.findall(code) for found in PLACEHOLDER.findall(text)]


def test_pages_of_one_trial_and_of_one_agent_have_no_plural_of_one() -> None:
    research = make_research(n_trials=1, n_session=1, n_eff=1)
    assert "deflated for 1 trial counted" in " ".join(research.split())
    assert wrong_counts(research) == []
    assert wrong_counts(make_scores([make_score("only", 1, 1)])) == []


def test_prompts_and_texts_have_no_plural_of_one() -> None:
    prompt = prompt_of(REQUEST).text
    assert "\n\n1 round. Scores" in prompt
    assert wrong_counts(prompt) == []
    one = Dataset.synthetic(1, 30)
    assert " x 1 symbol," in repr(one)
    assert wrong_counts(repr(one)) == []


def test_the_check_finds_a_plural_of_one() -> None:
    assert wrong_counts("<p>1 trials, 11 trials and 1 prior <b>runs</b></p>")


def test_the_messages_of_the_package_count_with_a_noun_in_the_singular() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {name: list(plural_counts(text)) for name, text in sorted(files.items())}
    assert {name: counts for name, counts in found.items() if counts} == SEVERAL_OF_MODULES
    assert "the best of 1 trial without" in RewardTerms(n_trials=1).describe("deflated_sharpe_reward")


def test_the_search_finds_a_plural_after_any_number() -> None:
    assert list(plural_counts("f'{n} trials, {MOST} bars and {len(x):,} days a {kind}s'")) == ["n", "len(x)"]


def test_messages_of_the_engine_count_with_a_noun_in_the_singular() -> None:
    found = {
        path: rust_plurals(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "rust").glob("*/src/**/*.rs"))
    }
    assert {"/".join(path.parts[-2:]): texts for path, texts in found.items() if texts} == SEVERAL_IN_RUST
    env = TradingEnv(1)
    env.reset()
    with pytest.raises(OpenOutcryError, match="expected 1 weight, one per symbol; received 2"):
        env.step_weights(np.full(2, 0.5))
    days = ["2024-01-02", "2024-01-03"]
    with pytest.raises(OpenOutcryError, match="`risk_free` must have 2 values for 2 bars and 1 symbol; received 1"):
        Dataset.from_arrays(days, ["A"], [[1.0], [1.0]], risk_free=[0.0])


def test_the_search_finds_a_plural_in_a_text_of_rust() -> None:
    source = '// {n} bars "\nf("{n} bars; {} returns", "{MOST} bars {} bars per year", "{} x")'
    assert rust_plurals(source) == ["{n} bars", "{} returns"]
