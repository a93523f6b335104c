"""A count of one has a noun in the singular, on pages and in texts."""

from __future__ import annotations

import re

from report_pages import make_score, make_scores
from research_pages import make_research

from openoutcry import Dataset
from openoutcry.research.proposal_requests import MarketCard, ProposalRequest, TrialCard
from openoutcry.research.proposers.prompts import prompt_of

NOUNS = "trials rounds agents runs bars symbols folds windows seeds candidates days returns records columns bits times"
WRONG = re.compile(rf"(?<![\d.,:-])1 (?:[a-z]+ )?(?:{'|'.join(NOUNS.split())})\b")
CARD = TrialCard(0, None, "rejected", ("parse: no JSON",))
REQUEST = ProposalRequest(1, "", MarketCard("m", ("A",), "2000-01-03", "2001-01-03", 300, 252.0), {}, (CARD,))


def wrong_counts(page: str) -> list[str]:
    """Return the counts of one with a plural in the text of a page."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return WRONG.findall(" ".join(re.sub(r"<[^>]*>", " ", text).split()))


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
