"""Texts of pages on a narrow screen: names break between their parts, and labels do not overlap."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.report.charts.sparklines import interval_axis
from openoutcry.report.text_format import breakable, escape

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("trend:fast=20,slow=100,side=long-short", "trend: fast=20, slow=100, side=long-short"),
        ("a_long_parameter_of_a_rule=12", "a_ long_ parameter_ of_ a_ rule=12"),
        ("averyverylongkey=averylongvalue", "averyverylongkey= averylongvalue"),
        ("x" * 20, f"{'x' * 18} xx"),
    ],
)
def test_a_name_breaks_between_its_parts(name: str, parts: str) -> None:
    assert breakable(name) == parts.replace(" ", "<wbr>")


@given(st.text())
def test_a_breakable_name_is_the_escaped_name(name: str) -> None:
    assert breakable(name).replace("<wbr>", "") == escape(name)


def test_labels_of_intervals_that_would_overlap_on_a_phone_are_hidden_there_but_zero() -> None:
    shown = {
        text: not hidden
        for hidden, text in re.findall(r'middle"( class="oo-minor")?>([^<]*)<', interval_axis(-0.31, 0.44))
    }
    assert shown == {"\u22120.25": False, "0": True, "0.25": True}
