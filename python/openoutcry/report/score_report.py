"""Report pages of scored boards."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from openoutcry.records.run_record import RunRecord
from openoutcry.report.pages.score_page import render_scores
from openoutcry.report.run_report import versions
from openoutcry.report.views.run_view import Provenance
from openoutcry.report.views.score_view import FieldTest, Floor, ScoreGate, ScoreRow, ScoreSide, ScoreView, ScoreWindow
from openoutcry.scoring.suite import IMPLIED, Suite
from openoutcry.scoring.suite_evaluation import Evaluation
from openoutcry.scoring.verdict import BENCHMARKS, Board, Gate, Score, field_of
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["provenance_of", "view_of", "write_score_report"]

_QUANTILES = {"min": 0.0, "p5": 0.05, "p50": 0.5, "p95": 0.95, "max": 1.0}
_DEFLATED = {"sharpe": "sharpe_bar", "sigma": "sigma_sr"}
_PLAIN = ("mean", "sharpe", "standard_error", "p_value", "sign_flip", "romano_wolf", "false_discovery")

Markets = Mapping[str, str]


def write_score_report(
    board: Board,
    path: str | os.PathLike[str],
    *,
    suite: Suite | Evaluation | None = None,
    command: str = "",
    records: Iterable[RunRecord] = (),
    tables: Mapping[str, str] | None = None,
    notices: Iterable[str] = (),
) -> str:
    """Write the page of a scored board to one HTML file and return its path.

    Args:
        board: The board.
        path: Path of the page.
        suite: The evaluation protocol; an `Evaluation` also supplies the market names.
        command: Command line that recomputes the board; empty if a program made it.
        records: The scored records, for their signers and engine versions.
        tables: SHA-256 of the CSV files of returns, by file name.
        notices: Additional caveats, one sentence each.
    """
    view = view_of(board, suite)
    view = replace(view, notices=[*notices, *view.notices])
    page = render_scores(view, provenance_of(board, suite, command, records, tables))
    Path(path).write_text(page, encoding="utf-8")
    return os.fspath(path)


def view_of(board: Board, suite: Suite | Evaluation | None = None) -> ScoreView:
    """Return the view of a scored board."""
    protocol = _published(suite)
    markets = _markets(board, suite)
    tests = []
    for name, results in board.tests.items():
        reason = board.undefined.get(f"tests_{field_of(name)}", "")
        tests.append(FieldTest(name, results or {}, reason))
    n_runs = max((score.n_windows * score.n_seeds for score in board.scores), default=0)
    size = counted(len(board.scores), "agent") + (f", {counted(n_runs, 'run')} each" if n_runs else "")
    size += f"; scorer edition {board.edition}"
    return ScoreView(
        title="Scores" if protocol is None else f"Scores: {protocol.name} {protocol.edition}",
        protocol=f"No suite; {size}"
        if protocol is None
        else f"Suite {protocol.name}, edition {protocol.edition}; {size}",
        sentence=board.sentence,
        power=board.power["sentence"] if board.power else "",
        rows=[_row(score, markets) for score in board.scores],
        floor=_floor(board.luck_floor),
        tests=tests,
        overfit=board.overfit,
        overfit_reason=board.undefined.get("overfit", ""),
        notices=_notices(board),
    )


def provenance_of(
    board: Board,
    suite: Suite | Evaluation | None = None,
    command: str = "",
    records: Iterable[RunRecord] = (),
    tables: Mapping[str, str] | None = None,
) -> Provenance:
    """Return the information needed to recompute a board."""
    groups: dict[str, list[tuple[str, str]]] = {}
    protocol = _published(suite)
    if protocol is not None:
        rules = [("costs", repr(protocol.costs)), ("limits", repr(protocol.limits))]
        seeds = ", ".join(map(str, protocol.seeds))
        named = [("name", protocol.name), ("edition", protocol.edition), ("digest", protocol.digest)]
        groups["Suite"] = [*named, *rules, ("seeds", seeds)]
    known = list(records)
    signers = {
        record.digest: record.public_key for record in known if record.public_key is not None and record.is_whole()
    }
    groups["Records"] = [(score.agent_id, _digest(score, signers)) for score in board.scores]
    engines = sorted({header["engine_version"] for record in known for header in record.headers})
    entries = [*versions(), *([("engine stated by the records", ", ".join(engines))] if engines else [])]
    if tables:
        groups["Files, by SHA-256"] = list(tables.items())
    source = "the returns in its files" if tables else "the decisions of every agent"
    return Provenance(entries, groups, verify=command, verified=f"the board from {source}")


def _digest(score: Score, signers: Mapping[str | None, str]) -> str:
    if score.digest is None:
        return "returns without a record"
    return f"{score.digest}, signed by {signers[score.digest]}" if score.digest in signers else score.digest


def _published(suite: Suite | Evaluation | None) -> Suite | None:
    """Return the suite; None for one inferred from records."""
    protocol = suite.suite if isinstance(suite, Evaluation) else suite
    return None if protocol is None or protocol.edition == IMPLIED else protocol


def _notices(board: Board) -> list[str]:
    notices, reasons = [*board.caveats], {reason for score in board.scores for reason in score.reasons}
    if "no_suite" in reasons:
        notices.append("no suite: the agents chose windows, costs and limits, so none is eligible")
    if "public_windows" in reasons:
        notices.append("every window is public: an agent that knew the prices in advance would appear skilled")
    if any(score.digest is None for score in board.scores):
        notices.append("returns without decisions cannot be recomputed, so they are never eligible")
    if board.luck_floor is None:
        notices.append("no null agents: the distribution of results without skill is not shown")
    return notices


def _markets(board: Board, suite: Suite | Evaluation | None) -> Markets:
    """Return the display name of each market by its fingerprint.

    Duplicate names get the first digits of the fingerprint.
    """
    named: dict[str, str] = {}
    for score in board.scores:
        for window in score.windows:
            named.setdefault(window["dataset"] or "", window["name"])
    names = list(named.values())
    labels = {digest: f"{name} {digest[:6]}" if names.count(name) > 1 else name for digest, name in named.items()}
    if isinstance(suite, Evaluation):
        labels |= {window.dataset.fingerprint: window.market for window in suite.windows}
    return labels


def _row(score: Score, markets: Markets) -> ScoreRow:
    words = dict(zip(score.reasons, score.because, strict=True))
    wolf = score.ranking_gate("romano_wolf")
    dsr = score.ranking_gate("dsr")
    diagnostics, reasons = _diagnostics(score.diagnostics)
    return ScoreRow(
        name=score.agent_id,
        verdict=score.verdict,
        because=score.because,
        rank=score.rank,
        values={"z": score.z, "above_luck": score.above_luck, "dsr": dsr.value, "romano_wolf": wolf.value},
        reasons={
            **score.undefined,
            **{gate.slug: gate.undefined["value"] for gate in (dsr, wolf) if gate.undefined},
            **score.metrics.get("undefined", {}),
            **reasons,
        },
        seed_z=score.seed_z,
        n_won=score.n_won,
        n_trials=score.trials["n_trials"],
        sides=[_side(side) for side in score.sides],
        gates=[_gate(each, words) for each in score.gates if not _is_daily(each, score)],
        sealed=_sealed(score.sealed),
        windows=[_window(window, markets) for window in score.windows],
        pass_k=score.pass_k["rates"],
        markets=[_market(market, markets) for market in score.markets],
        metrics=_numbers(score.metrics),
        diagnostics=diagnostics,
        isolation=score.isolation or "",
        faults=score.process["faults"],
        infrastructure_faults=score.process["infrastructure_faults"],
        events=_events(score.process["events"]),
        n_decisions=score.process["n_decisions"],
        copy_of=score.copy_of or "",
    )


def _gate(gate: Gate, words: Mapping[str, str]) -> ScoreGate:
    reason = words.get(gate.reason or "", gate.reason or "")
    return ScoreGate(gate.slug, gate.passed, gate.value, gate.bound, reason, gate.undefined.get("value", ""))


def _is_daily(gate: Gate, score: Score) -> bool:
    """Return whether a gate counts returns where each return is a day."""
    return gate.slug == "returns" and score.n_returns == score.n_days


def _sealed(verdict: Mapping[str, Any] | None) -> list[ScoreGate]:
    if verdict is None:
        return []
    words = dict(zip(verdict["reasons"], verdict["because"], strict=True))
    return [_gate(Gate(**gate), words) for gate in verdict["gates"]]


def _events(counts: Mapping[str, int] | None) -> dict[str, dict[str, int]]:
    # Records always know their fills, even 0; returns without a record have no events.
    return {} if counts is None else {slug: {"": count} for slug, count in {"filled": 0, **counts}.items()}


def _numbers(fields: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: value for name, value in fields.items() if name != "undefined"}


def _side(side: Mapping[str, Any]) -> ScoreSide:
    why: Mapping[str, str] = side.get("undefined", {})
    values: dict[str, float | None] = {name: side[name] for name in _PLAIN}
    reasons = {name: why[name] for name in _PLAIN if name in why}
    names = ("dsr", "psr", "z", "sr0", "sigma", "sharpe", "skew", "kurtosis", "n_returns", "n_trials", "n_eff")
    for name in names:
        shown = _DEFLATED.get(name, name)
        values[shown] = side["deflated"][name] if side["deflated"] else None
        if "deflated" in why:
            reasons[shown] = why["deflated"]
        elif values[shown] is None:
            reasons[shown] = "clustering needs the return series of other trials"
    values |= {"min_trl": side["min_track_record"], "hac_se": (side["hac"] or {}).get("standard_error")}
    reasons |= {shown: why[name] for shown, name in (("min_trl", "min_track_record"), ("hac_se", "hac")) if name in why}
    if side["sign_flip"] is None:
        reasons["sign_flip"] = "at least 8 windows are required"
    return ScoreSide(side["name"], values, reasons)


def _window(window: Mapping[str, Any], markets: Markets) -> ScoreWindow:
    why: Mapping[str, str] = window.get("undefined", {})
    keys = {name: f"z_{field_of(name)}" for name in BENCHMARKS if f"z_{field_of(name)}" in window}
    return ScoreWindow(
        market=markets[window["dataset"] or ""],
        first=window["first"] or "",
        last=window["last"] or "",
        n_days=window["n_days"],
        n_seeds=window["n_seeds"],
        n_passed=window["n_passed"],
        z={name: window[key] for name, key in keys.items()},
        values={"return": window["return"], "vol": window["vol"]},
        reasons={**why, **{name: why[key] for name, key in keys.items() if key in why}},
    )


def _market(market: Mapping[str, Any], markets: Markets) -> tuple[str, dict[str, float | None], dict[str, str]]:
    values = {name: market[name] for name in ("alpha", "alpha_error", "beta", "n_days")}
    return markets.get(market["dataset"] or "", market["name"]), values, market.get("undefined", {})


def _diagnostics(found: Mapping[str, Any]) -> tuple[dict[str, float | None], dict[str, str]]:
    why = dict(found.get("undefined", {}))
    decay, calibration = found["decay"], found["calibration"]
    names = ("delayed_sharpe", "dsr_at_common_cost", "break_even_bps", "capacity", "worst_rolling_sharpe")
    values = {name: found[name] for name in names}
    values |= {"decay": decay and decay["decay"], "brier": calibration and calibration["brier"]}
    why |= decay.get("undefined", {}) if decay else {}
    if "calibration" in why:
        why["brier"] = why.pop("calibration")
    return values, why


def _floor(floor: Mapping[str, Any] | None) -> Floor | None:
    if floor is None:
        return None
    named = floor["sharpe"] or {}
    sharpe = {level: named[name] for name, level in _QUANTILES.items() if name in named}
    agents = [(agent["sharpe"], agent["z"]) for agent in floor["each"]]
    return Floor(floor["n_agents"], sharpe, floor["best_z"], [ratio for ratio, _ in agents], [z for _, z in agents])
