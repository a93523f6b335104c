"""What a run page states of the origin of a run: trials, strategy, candidate, sizes of trades."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from candidate_sessions import MARKET, TUNE, market_file, searched
from command_line import typed

import openoutcry as oo
from openoutcry.backtest.trade_list import round_trips
from openoutcry.research.candidate_agents import load_candidate

DATES = [f"2020-01-0{day}" for day in range(1, 8)]
WINDOW = (60, 200)


@pytest.fixture(scope="module")
def candidate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return searched(tmp_path_factory.mktemp("session"), TUNE)[2][0]


def origin_of(page: Path) -> dict[str, str]:
    """Return the entries of the provenance of a page."""
    text = page.read_text(encoding="utf-8")
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text[text.index('class="provenance"') :])
    return {unescape(name): unescape(re.sub(r"<[^>]+>", "", value)) for name, value in pairs}


def test_the_number_of_trials_is_explained_by_where_it_comes_from(tmp_path: Path) -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(2, 120, 3), "momentum")
    text = Path(run.report(tmp_path / "run.html", n_trials=21)).read_text(encoding="utf-8")
    row = re.search(r"N, trials counted</th><td>21</td><td class=\"help\">([^<]*)<", text)
    assert row
    assert row[1] == "this run and the earlier trials stated with `--trials`"


def test_a_run_states_its_strategy_and_the_candidate_that_it_is_of(candidate: Path, tmp_path: Path) -> None:
    loaded = load_candidate(candidate)
    digest, strategy = loaded.candidate_file.digest, "trend:fast=5,slow=65,side=long"  # type: ignore[union-attr]
    for agent in (str(candidate), loaded):
        run = oo.run_backtest(MARKET, agent, WINDOW, capture=True)
        assert run.name == run.record.agent_id == f"{strategy} (candidate {digest[:16]})"
        found = origin_of(Path(run.report(tmp_path / "run.html")))
        assert found["strategy"] == strategy
        assert re.fullmatch(rf"{digest}, research session [\w-]+, trial \w+", found["candidate"])
    named = oo.run_backtest(MARKET, loaded, WINDOW, name="mine")
    assert named.name == "mine"
    assert origin_of(Path(named.report(tmp_path / "mine.html")))["candidate"].startswith(digest)


def test_a_run_of_a_strategy_or_a_table_of_weights_says_so_and_others_claim_nothing(tmp_path: Path) -> None:
    run = oo.run_backtest(MARKET, "trend:fast=5,slow=65", WINDOW)
    found = origin_of(Path(run.report(tmp_path / "run.html")))
    assert found["strategy"] == "trend:fast=5,slow=65,side=long"
    assert "candidate" not in found
    weights = oo.run_backtest(MARKET, np.full((420, 2), 0.5), WINDOW, name="halves")
    assert origin_of(Path(weights.report(tmp_path / "run.html")))["decisions"] == "a table of target weights"
    other = origin_of(Path(oo.run_backtest(MARKET, "buy-and-hold", WINDOW).report(tmp_path / "run.html")))
    assert not {"strategy", "candidate", "decisions"} & set(other)


def test_a_record_of_a_candidate_states_it_by_the_start_of_its_digest(candidate: Path, tmp_path: Path) -> None:
    market = market_file(tmp_path / "market.csv")
    record, page = tmp_path / "run.json", tmp_path / "run.html"
    files = ["--record", record, "--report", page, "--ledger-dir", tmp_path / "ledger"]
    typed("run", "--data", market, "--agent", candidate, "--window", "60:200", *files)
    direct = origin_of(page)
    typed("report", record, "--data", market, "--out", page)
    found = origin_of(page)
    assert found["strategy"] == direct["strategy"] == "trend:fast=5,slow=65,side=long"
    digest = direct["candidate"][:16]
    assert digest in found["agent"]
    assert found["candidate"] == f"{digest}, the start of the digest of its file"


def test_a_trade_has_its_quantity_on_the_share_basis_of_its_exit_and_its_notional() -> None:
    close = [[10.0], [10.0], [11.0], [6.0], [6.0], [6.0], [6.0]]
    splits = [[1.0]] * 7
    splits[3] = [2.0]
    data = oo.Dataset.from_arrays(DATES, ["A"], close, close, splits=splits)
    costs = oo.CostModel.zero()
    hold = [float("nan")]
    run = oo.run_backtest(data, [[0.2], [0.4], hold, [-0.1], [0.0], [0.0], [0.0]], (0, 7), costs, oo.Limits.off())
    long, short = round_trips(run)
    fills = [tuple(each) for each in zip(*(run.trades[name].tolist() for name in ("shares", "price")), strict=True)]
    capital = run.cost_model.capital
    bought = [each for each in fills if each[0] > 0.0][:2]
    assert long.notional == pytest.approx(capital * sum(shares * price for shares, price in bought), rel=1e-12)
    assert long.quantity == pytest.approx(capital * 2.0 * sum(shares for shares, _ in bought), rel=1e-12)
    (sold,) = (each for each in fills if each[0] < 0.0)
    assert short.quantity == pytest.approx(capital * -sold[0] - long.quantity, rel=1e-9)
    assert short.notional == pytest.approx(short.quantity * short.entry_price, rel=1e-12)
    assert {"quantity", "notional"} < set(run.tables()["trades"].columns)


def test_the_list_of_trades_has_the_words_of_the_field(tmp_path: Path) -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(3, 200, 1), "momentum")
    text = Path(run.report(tmp_path / "run.html")).read_text(encoding="utf-8")
    head = re.search(r"Closed trades, latest.*?</thead>", text, re.DOTALL)
    assert head
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)', head[0])[4:8] == [
        "Entry price",
        "Exit price",
        "Quantity",
        "Notional",
    ]
