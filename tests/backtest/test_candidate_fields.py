"""Fields of a candidate's file: what is missing, unknown, doubled or of another type is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import openoutcry as oo
from openoutcry.backtest.decision_makers import named_agent
from openoutcry.backtest.strategies import LIBRARY, from_json
from openoutcry.backtest.strategies.candidate_fields import digest_of_fields
from openoutcry.backtest.strategies.candidate_file import CandidateFile

MARKET: dict[str, Any] = {"name": "ecb-fx", "symbols": ["USD"], "last": "2020-01-01", "fingerprint": "0" * 64}
CANDIDATE: dict[str, Any] = {
    "format": "openoutcry/candidate/v1",
    "strategy": "trend",
    "params": {"fast": 5},
    "market": MARKET,
    "holdout": ["2020-02-01", "2020-03-01"],
    "costs": {"fee_bps": 2.0, "capital": 1e6},
    "limits": {"max_participation": None, "allow_short": True},
    "provenance": {"session_id": "s", "trial": "t"},
}


@pytest.mark.parametrize(
    ("changes", "wanted", "received"),
    [
        ({"costs": {"fees_bps": 2.0}}, "`costs` of a candidate must have known fields only", "hint: `fee_bps`"),
        ({"costs": {"zzz": 2.0}}, "must have known fields only", "hint: its fields are fee_bps, slippage_bps"),
        ({"costs": {"capital": None}}, "`costs.capital` of a candidate must be a finite number", "received None"),
        ({"costs": {"fee_bps": True}}, "`costs.fee_bps` of a candidate must be a finite number", "received True"),
        ({"costs": {"fee_bps": "2"}}, "must be a finite number", "received '2'"),
        ({"costs": {"fee_bps": 10**400}}, "must be a finite number", "received 1000"),
        ({"costs": {"fee_bps": -1.0}}, "`fee_bps` must be", "received -1"),
        ({"costs": [1]}, "`costs` of a candidate must be an object", "received [1]"),
        ({"limits": {"max_gross": None}}, "`limits.max_gross` of a candidate must be a finite number", "received None"),
        ({"limits": {"allow_short": 1}}, "`limits.allow_short` of a candidate must be true or false", "received 1"),
        ({"market": {}}, "a candidate must have `market.symbols`", "hint: use the file as research wrote it"),
        ({"market": MARKET | {"symbols": "USD"}}, "`market.symbols` of a candidate must be a list", "received 'USD'"),
        ({"market": MARKET | {"symbols": [1]}}, "`market.symbols` of a candidate must be a list", "received [1]"),
        ({"market": MARKET | {"symbols": []}}, "must be a list of distinct names", "received []"),
        ({"market": MARKET | {"symbols": ["A", "A"]}}, "must be a list of distinct names", "received ['A', 'A']"),
        ({"market": MARKET | {"last": 2020}}, "`market.last` of a candidate must be a date", "received 2020"),
        ({"market": MARKET | {"fingerprint": "ab"}}, "must be 64 hexadecimal digits", "received 'ab'"),
        ({"market": MARKET | {"symbol": "USD"}}, "must have known fields only", "hint: `symbols`"),
        ({"provenance": {"session": "s"}}, "`provenance` of a candidate must have known", "hint: `session_id`"),
        ({"provenance": {"session_id": 3}}, "`provenance.session_id` of a candidate must be a text", "received 3"),
        ({"provenance": None}, "`provenance` of a candidate must be an object", "received None"),
        ({"source": ""}, "`source` of a candidate must be the Python source", "received ''"),
        ({"source": None}, "and absent for a library strategy", "received None"),
        ({"status": "live"}, "`status` of a candidate must be `candidate`", "received 'live'"),
        ({"holdouts": None}, "a candidate must have known fields only", "hint: `holdout`"),
        ({"holdout": ["2020-03-01", "2020-02-01"]}, "must be its first and last date in order", "received ['2020-03"),
        ({"holdout": "2020"}, "must be its first and last date in order", "received '2020'"),
        ({"holdout": ["2019-02-01", "2020-02-01"]}, "`holdout` of a candidate must be after", "received 2019-02-01"),
        ({"params": {"fast": None}}, "params of a candidate must be texts, numbers or bools", "received None"),
        ({"params": {"fast": 5.0}}, "`fast` must be an integer from 2 to 60", "received 5.0"),
        ({"params": {"fats": 5}}, "parameters must be among fast, slow, side", "received 'fats'"),
        ({"digest": "0" * 64}, "a candidate must be as research wrote it, with the digest 00000000", "an edited one"),
        ({"digest": 3}, "`digest` of a candidate must be 64 hexadecimal digits", "received 3"),
    ],
)
def test_an_invalid_field_is_refused_with_what_is_required(
    tmp_path: Path, changes: dict[str, Any], wanted: str, received: str
) -> None:
    """By the file, and in Python by its content and by its text."""
    path = tmp_path / "found.json"
    path.write_text(json.dumps(CANDIDATE | changes))
    content = CANDIDATE | changes
    for read in (lambda: named_agent(str(path)), lambda: from_json(content), lambda: from_json(json.dumps(content))):
        with pytest.raises(oo.OpenOutcryError) as raised:
            read()
        assert raised.value.slug in ("argument_invalid", "cost_invalid")
        message = str(raised.value)
        assert wanted in message
        assert received in message.partition("; ")[2]
        assert message.count("hint: ") <= 1
        assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "name"),
    [('"params": {"fast": 5}', "params"), ('"fast": 6', "fast"), ('"holdout": null', "holdout")],
)
def test_a_field_that_is_given_twice_is_refused(tmp_path: Path, text: str, name: str) -> None:
    """JSON readers keep the last, so that a person may read another value than the one that runs."""
    whole = json.dumps(CANDIDATE)
    twice = whole.replace('"fast": 5', f'"fast": 5, {text}') if name == "fast" else f"{whole[:-1]}, {text}}}"
    (tmp_path / "found.json").write_text(twice)
    with pytest.raises(oo.OpenOutcryError, match=f"must be given once; received '{name}' twice; hint: keep one"):
        CandidateFile.read(tmp_path / "found.json")
    with pytest.raises(oo.OpenOutcryError, match=f"must be given once; received '{name}' twice; hint: keep one"):
        from_json(twice)


def test_a_candidate_has_the_name_of_its_strategy_with_all_parameters(tmp_path: Path) -> None:
    """One strategy has one identity: files that state a default, or omit it, differ in the digest only."""
    names, identities = set(), set()
    for params in ({"fast": 5}, {"fast": 5, "slow": 200}, {"side": "long", "slow": 200, "fast": 5}):
        (tmp_path / "found.json").write_text(json.dumps(CANDIDATE | {"params": params}))
        found = named_agent(str(tmp_path / "found.json"))
        names.add(found.name.partition(" (candidate ")[0])
        assert found.agent == LIBRARY["trend"](fast=5)
        run = oo.run_backtest(oo.Dataset.synthetic(2, 300), str(tmp_path / "found.json"))
        identities.add(json.dumps(run.strategy))
        assert run.name == found.name
    assert names == {"trend:fast=5,slow=200,side=long"}
    assert len(identities) == 1


def test_the_digest_of_a_file_does_not_depend_on_its_layout_or_on_itself(tmp_path: Path) -> None:
    digest = digest_of_fields(CANDIDATE)
    assert CandidateFile.of(CANDIDATE).digest == digest
    (tmp_path / "found.json").write_text(json.dumps(dict(reversed(CANDIDATE.items())) | {"digest": digest}, indent=4))
    found = CandidateFile.read(tmp_path / "found.json")
    assert found.digest == digest
    assert found.is_digested
    edited = CANDIDATE | {"digest": digest, "params": {"fast": 6}}
    with pytest.raises(oo.OpenOutcryError, match="hint: restore the file, or run the strategy as `trend:fast=6`"):
        CandidateFile.of(edited)


@pytest.mark.parametrize("text", ['{"evidence": ' + "[" * 900 + "]" * 900 + "}", '{"evidence": {"a": 1e400}}'])
def test_a_value_that_has_no_canonical_json_is_refused(tmp_path: Path, text: str) -> None:
    whole = json.dumps(CANDIDATE)
    (tmp_path / "found.json").write_text(f"{whole[:-1]}, {text[1:]}")
    with pytest.raises(oo.OpenOutcryError) as raised:
        CandidateFile.read(tmp_path / "found.json")
    assert raised.value.slug == "argument_invalid"
    assert "a candidate must be" in str(raised.value)
