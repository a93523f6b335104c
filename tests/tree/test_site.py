"""The site: glossary terms are linked, errors are listed by slug, and few entries are visible at once."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import openoutcry

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
hooks = pytest.importorskip("mkdocs_hooks")
yaml = pytest.importorskip("yaml")

NAMES = [
    *(name for name in openoutcry.__all__ if not name.startswith("Verifiers")),
    *("VerifiersEnv", "VerifiersHarness", "VerifiersTaskset"),
]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
MOST_ENTRIES = 8


def test_only_the_first_use_of_a_term_is_linked() -> None:
    linked = hooks.link_terms("# Turnover\n\nTurnover costs; turnover again.\n", "score.md")
    assert linked == "# Turnover\n\n[Turnover](glossary.md#turnover) costs; turnover again.\n"


def test_terms_in_code_links_and_tables_are_not_linked() -> None:
    page = "`turnover` and [turnover](x.md)\n\n```python\nturnover = 1\n```\n\n| turnover |\n"
    assert hooks.link_terms(page, "score.md") == page


def test_a_word_in_another_sense_is_not_linked() -> None:
    page = "Wheels for Windows. We split them.\n"
    assert hooks.link_terms(page, "releasing.md") == page
    assert hooks.link_terms("Two windows.\n", "score.md") == "Two [windows](glossary.md#window).\n"


def test_a_term_is_linked_once_under_all_its_names() -> None:
    page = "The probabilistic Sharpe ratio (PSR) of [agents](glossary.md#decision) is PSR; a decision is not linked.\n"
    assert hooks.link_terms(page, "score.md").count("](glossary.md#") == 2


def test_every_page_with_another_sense_exists() -> None:
    pages = {page for pages in hooks._OTHER_SENSE.values() for page in pages}
    assert {page for page in pages if not (ROOT / "docs" / page).is_file()} == set()
    assert set(hooks._OTHER_SENSE) <= set(hooks.terms())


def test_every_glossary_term_is_explained_in_at_most_two_lines() -> None:
    entries = re.findall(r"^### (.+)\n((?:(?!#|\n).+\n)*)", GLOSSARY, re.MULTILINE)
    assert len(entries) > 50
    assert {term: text for term, text in entries if not 1 <= text.count("\n") <= 2} == {}


def test_every_slug_of_the_contract_is_a_section_of_the_error_page() -> None:
    errors = json.loads((ROOT / "contract" / "errors.json").read_text(encoding="utf-8"))["errors"]
    assert re.findall(r"^### (.+)$", hooks.error_table(), re.MULTILINE) == [each["slug"] for each in errors]


@pytest.mark.parametrize("name", NAMES)
def test_the_api_page_lists_every_public_name(name: str) -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"^::: openoutcry(\.\w+)*\.{name}$", page, re.MULTILINE)


def groups(entries: list[Any]) -> list[list[Any]]:
    """Return the entries of each level of the navigation."""
    inner = [value for each in entries for value in each.values() if isinstance(value, list)]
    return [entries, *(group for each in inner for group in groups(each))]


def test_the_navigation_has_four_groups_of_at_most_eight_entries() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(text[text.index("nav:") : text.index("theme:")])["nav"]
    assert [next(iter(each)) for each in nav] == ["Get started", "Guides", "Concepts", "Reference"]
    assert [len(group) for group in groups(nav) if len(group) > MOST_ENTRIES] == []


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 130
