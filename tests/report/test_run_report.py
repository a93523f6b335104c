"""`Run.plot` and `Run.report`."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import openoutcry as oo
from openoutcry.report.run_report import page_renderer


@pytest.fixture(scope="module")
def run() -> oo.Run:
    return oo.run_backtest(oo.Dataset.synthetic(3, 90, 5), "momentum")


def test_a_plot_is_one_svg_with_buy_and_hold_and_can_be_saved(run: oo.Run, tmp_path: Path) -> None:
    picture = run.plot()
    assert picture.save(tmp_path / "run.svg").read_text(encoding="utf-8") == picture._repr_svg_()
    words = "".join(ElementTree.fromstring(picture.svg).itertext())
    assert "momentum on synthetic-3x90" in words
    assert "buy-and-hold" in words


def test_a_report_shows_its_provenance(run: oo.Run, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    assert run.report(path) == str(path)
    page = path.read_text(encoding="utf-8")
    for text in (run.dataset.fingerprint, oo.__version__, oo.CONTRACT_VERSION, "bars 19:90", "fee_bps=1"):
        assert text in page
    assert "the dataset has no risk-free rate" in page


def test_a_report_of_data_without_opens_has_a_notice(tmp_path: Path) -> None:
    dataset = oo.Dataset.from_csv("date,A\n2020-01-01,100\n2020-01-02,101\n2020-01-03,99\n")
    page = Path(oo.run_backtest(dataset, "equal-weight").report(tmp_path / "run.html")).read_text(encoding="utf-8")
    assert "orders fill close-to-close" in page


def test_the_report_of_a_ruined_account_is_written(tmp_path: Path) -> None:
    dataset = oo.Dataset.from_csv("date,A\n2020-01-01,1\n2020-01-02,1\n2020-01-03,5\n2020-01-06,5\n")
    short = oo.run_backtest(dataset, [[-1.0]] * 4, (0, 4))
    assert short.nav.tolist()[-2:] == [0.0, 0.0]
    assert Path(short.report(tmp_path / "ruin.html")).stat().st_size > 0
    assert short.plot().svg


@pytest.mark.parametrize("name", ["run.png", "run", "run.svg.gz"])
def test_a_plot_is_saved_as_svg_only(run: oo.Run, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"a path that ends in `.svg` is required; received .*run"):
        run.plot().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert run.plot().save(tmp_path / "RUN.SVG").exists()


def test_a_page_of_many_bars_leaves_room_for_its_record_market_and_engine() -> None:
    run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", capture=True)
    page = page_renderer(run)()
    bars = re.search(r"<template>(.*?)</template>", page)
    assert bars is not None
    # The rest of a self-verifying page is limited by `packed_trace.CELLS_WITH_DATA` and the size of the engine.
    assert len(page) - len(bars[1]) < 450_000
