"""The learning curve shows a dot per window and the line of their mean."""

from __future__ import annotations

from math import nan
from xml.etree import ElementTree

from openoutcry.report.charts.learning_curve import learning_curve
from openoutcry.report.charts.svg import standalone

POINTS = [(0, (-1.0, 1.0, nan)), (5000, (nan, nan, nan)), (10_000, (1.0, 3.0, 2.0))]


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter() if each.tag.rpartition("}")[2] == tag]


def test_the_line_joins_the_means_of_defined_values() -> None:
    svg = learning_curve(POINTS, "sharpe <&>")
    places = [(each.get("cx"), each.get("r"), each[0].text) for each in elements(svg, "circle")]
    # Five windows, then two means; an evaluation without a value has no mark.
    assert [text for _, radius, text in places if radius == "3"] == [
        *("\u22121.0000 after 0 steps", "1.0000 after 0 steps"),
        *("1.0000 after 10,000 steps", "3.0000 after 10,000 steps", "2.0000 after 10,000 steps"),
    ]
    assert [(at, text) for at, radius, text in places if radius == "4.5"] == [
        ("0%", "0.0000 after 0 steps"),
        ("100%", "2.0000 after 10,000 steps"),
    ]
    (line,) = [each for each in elements(svg, "line") if each.get("class") == "oo-whisker"]
    assert (line.get("x1"), line.get("x2")) == ("0%", "100%")
    assert float(line.get("y1", "").rstrip("%")) > float(line.get("y2", "").rstrip("%"))
    assert "The last mean is 2.0000." in svg


def test_a_single_window_has_only_its_line() -> None:
    svg = learning_curve([(0, (0.1,)), (64, (0.2,))], "return")
    assert [each.get("r") for each in elements(svg, "circle")] == ["4.5", "4.5"]
    assert "It is undefined throughout." in learning_curve([(0, (nan,))], "return")


def test_a_plot_of_a_document_has_room_for_its_labels() -> None:
    box = elements(standalone(learning_curve(POINTS, "sharpe"), title="Learning curve"), "svg")[1]
    assert (box.get("x"), box.get("width")) == ("56", "564")


def test_a_curve_of_positive_values_of_all_sizes_is_linear_from_zero() -> None:
    svg = learning_curve([(0, (0.001,)), (10, (1.5,)), (20, (3.0,))], "sharpe")
    low, middle, high = (float(each.get("cy", "").rstrip("%")) for each in elements(svg, "circle"))
    assert low - middle > 40.0
    assert abs((low - middle) - (middle - high)) < 0.1
    assert [each.text for each in elements(svg, "text")][:3] == ["0", "1", "2"]
