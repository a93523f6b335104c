"""A count of one has a noun in the singular, on pages and in texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from report_pages import make_score, make_scores
from research_pages import make_research

from openoutcry import Dataset
from openoutcry.research.proposal_requests import MarketCard, ProposalRequest, TrialCard
from openoutcry.research.proposers.prompts import prompt_of
from openoutcry.verifiers_env.rewards import RewardTerms

NOUNS = "trials rounds agents runs bars symbols folds windows seeds candidates days returns records columns bits times"
PACKAGE = Path(__file__).resolve().parents[2] / "python" / "openoutcry"
# Elsewhere a plural may follow a number that has a least of 2 in another file.
SEARCHED = (
    *(PACKAGE / "audits" / "martingale").glob("*.py"),
    *(PACKAGE / "audits" / "contamination").glob("*.py"),
    *(PACKAGE / "verifiers_env").rglob("*.py"),
    *(PACKAGE / "cli" / f"{name}.py" for name in ("contamination", "martingale", "research", "score")),
)
MORE = "markets twins decisions combinations answers orders"
# At least 2 by the checks of their arguments, a rate, a factor, and the constants.
SEVERAL = re.compile(r"[A-Z_]+|(\w+\.)?n_bars|row\.horizon|row\.n_windows|.*periods_per_year|weight")
PLURAL = re.compile(rf" (?:{'|'.join([*NOUNS.split(), *MORE.split()])})\b")
WRONG = re.compile(rf"(?<![\d.,:-])1 (?:[a-z]+ )?(?:{'|'.join(NOUNS.split())})\b")
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


def test_audits_environments_and_commands_count_with_a_noun_in_the_singular() -> None:
    found = {path.name: list(plural_counts(path.read_text(encoding="utf-8"))) for path in SEARCHED}
    assert {name: counts for name, counts in found.items() if counts} == {}
    assert "the best of 1 trial without" in RewardTerms(n_trials=1).describe("deflated_sharpe_reward")


def test_the_search_finds_a_plural_after_any_number() -> None:
    assert list(plural_counts("f'{n} trials, {MOST} bars and {len(x):,} days a {kind}s'")) == ["n", "len(x)"]
