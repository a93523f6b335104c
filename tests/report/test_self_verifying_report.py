"""Reports of records: the replayed run, refused arguments, and the content of self-verifying pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from report_pages import Page
from report_proofs import CASES, joined_page, market, odd_run, part_of, prices, sealed_page, small_page
from typer.testing import CliRunner, Result

import openoutcry as oo
from openoutcry.backtest.rerun import rerun
from openoutcry.cli.commands import app
from openoutcry.cli.market_options import open_dataset
from openoutcry.cli.reader_options import Reading
from openoutcry.report.pages.proof_panel import content_digest
from openoutcry.report.wasm_engine import has_engine
from openoutcry.scenarios.scenario import Scenario

needs_engine = pytest.mark.skipif(not has_engine(), reason="not run: needs the WebAssembly engine; hint: scripts/wasm")


def report(*words: str) -> Result:
    return CliRunner().invoke(app, ["report", *words])


@pytest.fixture
def record(tmp_path: Path) -> Path:
    (tmp_path / "prices.csv").write_text(prices())
    data = oo.Dataset.from_csv(tmp_path / "prices.csv", 365.0)
    oo.run_backtest(data, "momentum", name="momentum", capture=True).record.save(tmp_path / "run.json")
    return tmp_path / "run.json"


def source_of(record: Path) -> list[str]:
    return [str(record), "--data", str(record.parent / "prices.csv"), "--periods-per-year", "365"]


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_reproduced_from_its_record_bit_for_bit(case: str) -> None:
    run = odd_run(case)
    again = rerun(run.record, 0, run.dataset, CASES[case].get("fill_key"))
    np.testing.assert_array_equal(again.nav, run.nav)
    np.testing.assert_array_equal(again.weights, run.weights)
    assert again.events == run.events
    assert again.faults == run.faults
    assert again.metrics == run.metrics
    assert again.record == run.record
    assert (again.name, again.ending, again.lookback) == (run.name, run.ending, run.lookback)
    assert (again.cost_model, again.limits, again.window) == (run.cost_model, run.limits, run.window)


def test_the_report_of_a_record_equals_the_report_of_the_run(record: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    data = ["--data", str(tmp_path / "prices.csv"), "--periods-per-year", "365"]
    run = ["run", *data, "--agent", "momentum", "--record", str(record), "--force", "--report", str(first)]
    assert CliRunner().invoke(app, run).exit_code == 0
    done = report(*source_of(record), "--out", str(second))
    assert done.exit_code == 0, done.output
    assert "verified" in done.output
    assert second.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")


def test_json_output_describes_the_report(record: Path, tmp_path: Path) -> None:
    done = report(*source_of(record), "--out", str(tmp_path / "x.html"), "--json")
    assert json.loads(done.output) == {
        "report": str(tmp_path / "x.html"),
        "digest": oo.RunRecord.load(record).digest,
        "run": 0,
        "steps": 60,
    }


def test_a_record_that_differs_has_no_report(record: Path, tmp_path: Path) -> None:
    changed = json.loads(record.read_text())
    changed["runs"][0]["steps"][10]["decision"] = '{"orders":[]}'
    record.write_text(oo.RunRecord.from_json(json.dumps(changed, separators=(",", ":"), sort_keys=True)).to_json())
    done = report(*source_of(record), "--out", str(tmp_path / "x.html"))
    assert done.exit_code == 1
    assert "no report: differs: run 0, step 10" in done.output
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "/absent/x.html"], "`--out` must be a writable file"),
        (["--without-data"], "`--without-data` must come with `--self-verifying`"),
        (["--run", "1"], "`--run` must be the index of a run of the record, from 0 to 0; received 1"),
        (
            ["--scenario", "calm"],
            "`--scenario` and `--scenario-key` must be given together; received `--scenario` alone",
        ),
        (["--scenario", "absent.json", "--scenario-key", "07" * 32], "or a JSON file with a spec"),
    ],
)
def test_invalid_options_are_refused(record: Path, tmp_path: Path, words: list[str], message: str) -> None:
    out = [] if "--out" in words else ["--out", str(tmp_path / "x.html")]
    done = report(*source_of(record), *out, *words)
    assert isinstance(done.exception, oo.openoutcry_py.OpenOutcryError)
    assert message in str(done.exception)


def test_a_market_is_required(record: Path, tmp_path: Path) -> None:
    done = report(str(record), "--out", str(tmp_path / "x.html"))
    assert "`--data` or `--scenario` is required; received neither" in str(done.exception)


@pytest.mark.parametrize("name", ["us-treasury", "us-treasury:all"])
def test_a_bundled_market_is_found_by_the_name_in_the_record(name: str, tmp_path: Path) -> None:
    data = open_dataset(name, Reading())
    oo.run_backtest(data, "equal-weight", (20, 60), capture=True).record.save(tmp_path / "run.json")
    done = report(str(tmp_path / "run.json"), "--out", str(tmp_path / "x.html"))
    assert done.exit_code == 0, done.output
    # Another market of that name is no market of the record.
    renamed = oo.Dataset(oo.Dataset.synthetic(2, 60, 1)._core, name="us-treasury")
    oo.run_backtest(renamed, "equal-weight", capture=True).record.save(tmp_path / "other.json")
    other = report(str(tmp_path / "other.json"), "--out", str(tmp_path / "y.html"))
    assert other.exit_code != 0
    assert not (tmp_path / "y.html").exists()


def test_a_record_of_several_runs_requires_a_run_index(tmp_path: Path) -> None:
    data = market()
    runs = [oo.run_backtest(data, "momentum", window, capture=True).record for window in ((19, 40), (40, 70))]
    oo.RunRecord.join("both", runs).save(tmp_path / "both.json")
    (tmp_path / "prices.csv").write_text(prices())
    words = source_of(tmp_path / "both.json")
    refused = report(*words, "--out", str(tmp_path / "x.html"))
    assert "the index of a run of the record, from 0 to 1; received none" in str(refused.exception)
    assert report(*words, "--out", str(tmp_path / "x.html"), "--run", "1").exit_code == 0
    assert "2021-02-10 .. 2021-03-11" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_a_sealed_run_is_reported_by_its_revealed_keys(tmp_path: Path) -> None:
    scenario = Scenario.revealed("calm", "07" * 32)
    costs = oo.CostModel(slippage_jitter=0.5)
    run = oo.run_backtest(scenario.dataset(), "momentum", (19, 60), costs, fill_key=b"\5" * 32, capture=True)
    run.record.save(tmp_path / "run.json")
    (tmp_path / "spec.json").write_text(scenario.spec.to_json())
    out = ["--out", str(tmp_path / "x.html"), "--scenario-key", "07" * 32]
    for spec in ("calm", str(tmp_path / "spec.json")):
        done = report(str(tmp_path / "run.json"), *out, "--scenario", spec, "--fill-key", "05" * 32)
        assert done.exit_code == 0, done.output
    unkeyed = report(str(tmp_path / "run.json"), *out, "--scenario", "calm")
    assert "fill" in str(unkeyed.exception)


@pytest.mark.skipif(has_engine(), reason="not run: the WebAssembly engine is present")
def test_without_the_engine_a_self_verifying_page_is_refused(record: Path, tmp_path: Path) -> None:
    done = report(*source_of(record), "--out", str(tmp_path / "x.html"), "--self-verifying")
    assert "a package with the WebAssembly engine is required" in str(done.exception)
    assert "hint: in a checkout, build it with `scripts/wasm`" in str(done.exception)
    assert not (tmp_path / "x.html").exists()


_PAGE = (
    '<!doctype html><html><head><title>t</title><style>p{}</style></head><body><template data-part="a">1</template>'
    '<main><p>A &amp; b</p><td>1</td><td>23</td><template>xyz</template><br><svg viewBox="0 0 1 1">'
    '<path d="M0 1l2 3"/></svg><input value="1" disabled></main><script>f()</script></body></html>'
)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("A", "B"),
        ("xyz", "xyy"),
        ("l2 3", "l2 4"),
        ("l2 3", "l23"),
        ("<td>1</td><td>23</td>", "<td>12</td><td>3</td>"),
        ("<p>", '<p class="x">'),
        ("<p>", "<b>"),
        ("<br>", ""),
        ('value="1"', 'value="2"'),
        (" disabled", ""),
        ("<br>", "<br><img>"),
        ("A &amp; b</p>", "</p>A &amp; b"),
        ("<br>", "&lt;br"),
        ("<br>", "/p"),
        ("p{}", "p{top:0}"),
        ("f()", "g()"),
        ("html>", "html SYSTEM>"),
        ("<html>", "<html dir=rtl>"),
        ("<body>", "<body style='a'>"),
        ("</head>", "<style></style></head>"),
        ("<title>t", "<title>u"),
        ('data-part="a"', 'data-part="b"'),
        ("1</template>", "2</template>"),
        ("<p>A &amp; b</p>", "<p 'A=&amp; b></p>"),
        ("</script>", "</script>x"),
    ],
)
def test_the_digest_of_a_page_covers_tags_attributes_text_and_parts(was: str, now: str) -> None:
    assert was in _PAGE
    assert content_digest(_PAGE) != content_digest(_PAGE.replace(was, now, 1))


def test_the_digest_of_a_page_excludes_white_space_and_itself() -> None:
    for was, now in (
        ("<p>", "<p>\n "),
        ("A &amp; b", "A  &#38;\tb"),
        ("0 1l2", "0\n1l2"),
        ("<br>", "<br/>"),
        ("/>", "></path>"),
        ("p{}", "\np{} "),
    ):
        assert was in _PAGE
        assert content_digest(_PAGE) == content_digest(_PAGE.replace(was, now))
    page = _PAGE.replace('data-part="a"', 'data-part="page"')
    assert content_digest(page) == content_digest(page.replace("1</template>", "2</template>"))


def test_an_exported_market_hashes_to_its_fingerprint(tmp_path: Path) -> None:
    import gzip
    import hashlib

    (tmp_path / "prices.csv").write_text(prices())
    for name, unpack in (("a.market", bytes), ("a.market.gz", gzip.decompress)):
        words = ["data", "export", str(tmp_path / "prices.csv"), "--out", str(tmp_path / name), "--json"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        content = unpack((tmp_path / name).read_bytes())
        assert hashlib.sha256(content).hexdigest() == json.loads(done.output)["fingerprint"]


@pytest.mark.parametrize("name", ["a.market", "a.market.gz"])
def test_an_exported_market_is_accepted_by_every_command(tmp_path: Path, name: str) -> None:
    path, said = tmp_path / name, oo.Dataset.from_csv(prices(), 365.0, name="a")
    (tmp_path / "a.csv").write_text(prices())
    words = ["data", "export", str(tmp_path / "a.csv"), "--periods-per-year", "365", "--out", str(path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    market = open_dataset(str(path))
    assert (market.name, market.fingerprint, market.periods_per_year) == (said.name, said.fingerprint, 365.0)
    oo.run_backtest(said, "momentum", capture=True).record.save(tmp_path / "run.json")
    done = CliRunner().invoke(app, ["replay", str(tmp_path / "run.json"), "--data", str(path)])
    assert done.exit_code == 0, done.output
    with pytest.raises(oo.openoutcry_py.OpenOutcryError, match=r"left out with a .market file, which states it"):
        open_dataset(str(path), Reading(periods_per_year=365.0))
    slug = "argument_invalid" if path.suffix == ".gz" else "bytes_invalid"
    for content in (path.read_bytes()[:-9], b"date,A"):
        path.write_bytes(content)
        with pytest.raises(oo.openoutcry_py.OpenOutcryError, match=f"^{slug}: "):
            open_dataset(str(path))
    with pytest.raises(oo.openoutcry_py.OpenOutcryError, match=r"^unknown_dataset: "):
        open_dataset(str(tmp_path / f"no.{name}"))


@needs_engine
def test_a_self_verifying_page_may_run_only_its_own_scripts(tmp_path: Path) -> None:
    small_page(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    Page(page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    sources = r"'sha256-[\w+/=]{44}' 'wasm-unsafe-eval'"
    assert re.fullmatch(rf"default-src 'none'; style-src 'unsafe-inline'; script-src {sources}", policy[1])
    assert market().fingerprint in part_of(page, "claims")
    assert "<b>not verified</b>" in page


def test_other_pages_do_not_allow_webassembly(record: Path, tmp_path: Path) -> None:
    assert report(*source_of(record), "--out", str(tmp_path / "x.html")).exit_code == 0
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "wasm" not in page
    assert 'class="proof"' not in page


@needs_engine
def test_the_same_run_is_the_same_page(tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        small_page(tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


@needs_engine
def test_the_market_can_be_left_out_of_the_page(tmp_path: Path) -> None:
    _, kept = small_page(tmp_path / "kept.html")
    _, left = small_page(tmp_path / "left.html", has_data=False)
    assert (kept.has_data, left.has_data) == (True, False)
    assert left.n_bytes == (tmp_path / "left.html").stat().st_size
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("kept.html", "left.html")]
    assert ['data-part="market-0"' in page for page in pages] == [True, False]
    assert ['type="file"' in page for page in pages] == [False, True]


@needs_engine
def test_an_oversized_page_leaves_its_market_out(tmp_path: Path) -> None:
    run = ["run", "--data", "ecb-fx:all", "--agent", "buy-and-hold", "--record", str(tmp_path / "run.json")]
    assert CliRunner().invoke(app, run).exit_code == 0
    words = ["--data", "ecb-fx:all", "--out", str(tmp_path / "x.html"), "--self-verifying"]
    done = report(str(tmp_path / "run.json"), *words)
    assert done.exit_code == 0, done.output
    assert "the reader must open the market file" in done.output


@needs_engine
def test_a_page_contains_all_markets_of_its_record(tmp_path: Path) -> None:
    joined_page(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert [each["name"] for each in json.loads(part_of(page, "claims"))["markets"]] == ["one", "two"]


@needs_engine
def test_the_page_of_a_sealed_market_contains_spec_and_key_instead_of_prices(tmp_path: Path) -> None:
    sealed_page(tmp_path / "x.html", b"\5" * 32, b"\5" * 32)
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    claims = json.loads(part_of(page, "claims"))
    assert claims["markets"][0]["key"] == "07" * 32
    assert claims["held"] == {"fill_key": "05" * 32}
    assert 'data-part="market-0"' not in page
    assert 'type="file"' not in page
