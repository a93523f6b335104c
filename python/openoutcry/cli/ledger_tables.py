"""Tables of the ledger for any terminal width.

A strategy is below its numbers where one line has no room for both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from openoutcry.cli.run_table import plain
from openoutcry.ledger import LedgerRun, Ranking, RunListItem, RunMetricsSummary, StrategySummary
from openoutcry.ledger.run_captions import RunFacts, distinct_captions
from openoutcry.ledger.run_summary import AMOUNTS, FIELDS
from openoutcry.ledger.strategy_text import call_text
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console

_TEXT = 300
"""Maximum length of a strategy, which takes several lines of a narrow terminal."""
_GAP = "  "
_UNDEFINED = "—"
_SHARES = ("win_rate", "max_drawdown")


def list_rows(found: Iterable[RunListItem]) -> list[tuple[dict[str, str], str]]:
    """Return the cells and the strategy of each run of a list."""
    return [_list_row(each) for each in found]


def _list_row(each: RunListItem) -> tuple[dict[str, str], str]:
    summary = each.summary
    numbers = {"status": plain(each.summary.status, 10), "return": _percent(summary.pnl_return, "+.1%")}
    numbers |= {"Sharpe": _ratio(summary.sharpe_ratio), "max DD": _percent(summary.max_drawdown, ".1%")}
    prefix = "holdout: " if each.holdout_touched or each.kind == "holdout" else ""
    text = f"{prefix}{strategy_text(each.description, each.strategy)} ({plain(each.market, 40)})"
    return {"id": summary.id[:8], "date": each.ts[:10], **numbers}, text


def print_ranking(console: Console, ranking: Ranking) -> None:
    """Print a ranking, its setting, and what its means leave out.

    Args:
        console: The console.
        ranking: The ranking.
    """
    if not ranking.strategies:
        _print(console, "no strategy has a Sharpe ratio")
        return
    setting = ranking.setting
    _print(console, f"setting {setting.digest[:8]}, {setting.text}" if setting.digest else setting.text)
    _print(console, "")
    print_rows(console, _top_rows(ranking.strategies), TOP_HEADS)
    notes = list(_ranking_notes(ranking))
    if notes:
        _print(console, "")
    for note in notes:
        _print(console, note)


def _ranking_notes(ranking: Ranking) -> Iterator[str]:
    shown, n_elsewhere = ranking.strategies, ranking.counts.n_elsewhere
    reasons = (
        (sum(each.n_covered for each in shown), "within the window of a longer run"),
        (sum(each.n_copied for each in shown), "on another version of a market"),
        (sum(each.n_elsewhere for each in shown), "at other costs or limits"),
        (sum(each.n_undefined for each in shown), "without a Sharpe ratio"),
        (sum(each.n_failed for each in shown), "failed"),
    )
    if parts := [f"{counted(n, 'trial')} {why}" for n, why in reasons if n]:
        yield f"left out of these means: {', '.join(parts)}"
    if n_elsewhere:
        yield f"not ranked: {counted(n_elsewhere, 'strategy', 'strategies')} with runs at other settings only"
    for setting, n in ranking.others:
        name = f"`--setting {setting.digest[:8]}`, {setting.text}" if setting.digest else setting.text
        yield f"other setting: {name} ({counted(n, 'trial')})"


def _top_rows(found: Iterable[StrategySummary]) -> list[tuple[dict[str, str], str]]:
    rows = []
    for each in found:
        n_at_setting = each.n + each.n_covered + each.n_copied + each.n_undefined
        n_left_out = n_at_setting - each.n + each.n_failed + each.n_elsewhere
        cells = {"id": each.strategy_id[:8], "trials": f"{each.n:,}", "left out": f"{n_left_out:,}"}
        cells |= {"reruns": f"{max(0, each.n_runs - n_at_setting - each.n_failed):,}", "Sharpe": _ratio(each.mean)}
        cells |= {"DSR": _ratio(each.dsr), "market trials": f"{each.n_market_trials:,}"}
        cells["max DD"] = _percent(each.averages.get("max_drawdown"), ".1%")
        text = strategy_text(each.description, each.strategy)
        rows.append((cells, f"{text} ({plain(', '.join(each.markets), 60)})" if each.markets else text))
    return rows


def print_rows(console: Console, rows: Sequence[tuple[dict[str, str], str]], heads: Sequence[str]) -> None:
    """Print rows of cells, each with a text at the end of its line or below it.

    On a terminal that is narrower than the cells, each cell is printed with its name.

    Args:
        console: The console.
        rows: Cells by head, which are short, and the text of each row.
        heads: All heads, the first one left-aligned.
    """
    widths = [max(len(head), *(len(cells[head]) for cells, _ in rows)) if rows else len(head) for head in heads]
    line = sum(widths) + len(_GAP) * (len(heads) - 1)
    longest = max((Text(text).cell_len for _, text in rows), default=0)
    is_beside = line + len(_GAP) + max(longest, len("strategy")) <= console.width
    if line > console.width:
        for cells, text in rows:
            for named in _packed([f"{head} {cells[head]}" for head in heads], console.width):
                _print(console, named)
            _print(console, text, 2)
        return
    _print(
        console, _line(dict(zip(heads, heads, strict=True)), heads, widths) + (f"{_GAP}strategy" if is_beside else "")
    )
    _print(console, "─" * min(console.width, line + (len(_GAP) + max(longest, 8) if is_beside else 0)))
    for cells, text in rows:
        numbers = _line(cells, heads, widths)
        _print(console, f"{numbers}{_GAP}{text}" if is_beside else numbers)
        if not is_beside:
            _print(console, text, 2)


LIST_HEADS = ("id", "date", "status", "return", "Sharpe", "max DD")
TOP_HEADS = ("id", "trials", "left out", "reruns", "Sharpe", "DSR", "market trials", "max DD")


def captions_of(ids: Sequence[str], facts: Mapping[str, RunFacts]) -> dict[str, str]:
    """Return a caption of each run: its strategy, and what distinguishes it."""
    texts = {each: strategy_text(facts[each].description, facts[each].strategy) for each in ids}
    return distinct_captions(texts, {each: [plain(fact, 80) for fact in facts[each].facts] for each in ids})


def print_comparison(console: Console, found: Sequence[RunMetricsSummary], captions: Mapping[str, str]) -> None:
    """Print all fields of runs side by side, and why values are undefined.

    As many runs are in a row as the terminal has room for.

    Args:
        console: The console.
        found: Summaries of the runs.
        captions: Caption of each run, by run ID.
    """
    for place, each in enumerate(found, 1):
        head = f"{place}  {each.id}"
        text = captions.get(each.id, "")
        is_beside = len(head) + len(_GAP) + Text(text).cell_len <= console.width
        _print(console, f"{head}{_GAP}{text}" if text and is_beside else head)
        if text and not is_beside:
            _print(console, text, 3)
    fields = FIELDS[1:]
    label = max(map(len, fields))
    columns = [[field_text(each, name) for name in fields] for each in found]
    width = max((len(text) for column in columns for text in column), default=8)
    n = max(1, (console.width - label) // (width + len(_GAP)))
    for at in range(0, len(found), n):
        some = range(at, min(at + n, len(found)))
        _print(console, "")
        _print(console, "".ljust(label) + "".join(f"{_GAP}{place + 1:>{width}}" for place in some))
        for row, name in enumerate(fields):
            _print(console, name.ljust(label) + "".join(f"{_GAP}{columns[place][row]:>{width}}" for place in some))
    reasons = _reasons(found)
    if reasons:
        _print(console, "")
        _print(console, "undefined:")
    for why, where in reasons.items():
        places = "; ".join(f"{place}: {', '.join(names)}" for place, names in where.items())
        _print(console, f"{plain(why, _TEXT)} ({places})", 2)


def print_run(console: Console, run: LedgerRun, n_trials: int) -> None:
    """Print a run with all of its fields, side by side or below their names.

    Args:
        console: The console.
        run: The run.
        n_trials: Trials on the family of its market.
    """
    _print(console, run.run_id, style="bold")
    _print(console, plain(run.metrics.summary_line(), 200))
    rows: dict[str, Any] = {"market": run.market.name, "window": " .. ".join(run.window), "kind": run.kind}
    rows |= {"description": run.description, "strategy": json.dumps(run.strategy), "strategy id": run.strategy_id}
    rows |= {"rules": json.dumps(run.rules), "engine": run.engine_version, "trial": run.trial, "error": run.error}
    rows |= {"configurations": f"{run.n_configs:,}", "isolation": run.isolation}
    rows |= {"family": f"{counted(n_trials, 'trial')} on this market and its copies"}
    reasons = run.notes.get("reasons")
    rows |= {"failed gates": "\n".join(map(str, reasons))} if isinstance(reasons, list) else {}
    for name in FIELDS[1:]:
        value = field_text(run.metrics, name)
        rows[name] = value if value != _UNDEFINED else f"{_UNDEFINED} {run.metrics.undefined[name]}"
    label = max(map(len, rows)) + len(_GAP)
    is_stacked = console.width < 2 * label
    for name, value in rows.items():
        for place, part in enumerate(str(value).split("\n") if value else ()):
            head = name if place == 0 else ""
            text = plain(part, 2_000)
            if is_stacked and head:
                _print(console, head)
            if is_stacked:
                _print(console, text, 2)
            else:
                _print(console, text, label, head)


def field_text(summary: RunMetricsSummary, name: str) -> str:
    """Format a field of a summary; a dash if it is undefined."""
    value = getattr(summary, name)
    if value is None:
        return _UNDEFINED
    if isinstance(value, str):
        return plain(value, 12)
    if name in _SHARES or name == "pnl_return":
        return f"{value:+.2%}" if name == "pnl_return" else f"{value:.2%}"
    if name in AMOUNTS:
        return f"{value:,.2f}"
    return f"{value:,.0f}" if name in ("total_positions", "avg_hold_duration_secs") else f"{value:.2f}"


def strategy_text(description: str | None, strategy: str) -> str:
    """Format a strategy on one line: name, params and description."""
    call = call_text(strategy)
    if call is None:
        return plain(description or strategy, _TEXT)
    return plain(f"{call}: {description}" if description else call, _TEXT)


def _reasons(found: Sequence[RunMetricsSummary]) -> dict[str, dict[int, list[str]]]:
    """Return the fields of each run that are undefined for the same reason."""
    reasons: dict[str, dict[int, list[str]]] = {}
    for place, each in enumerate(found, 1):
        for name in FIELDS:
            if getattr(each, name) is None:
                reasons.setdefault(each.undefined[name], {}).setdefault(place, []).append(name)
    return reasons


def _packed(parts: Sequence[str], width: int) -> list[str]:
    """Join parts to lines of at most `width` characters."""
    lines = [parts[0]]
    for part in parts[1:]:
        joined = f"{lines[-1]}{_GAP}{part}"
        lines = [*lines[:-1], joined] if len(joined) <= width else [*lines, part]
    return lines


def _line(cells: Mapping[str, str], heads: Sequence[str], widths: Sequence[int]) -> str:
    align: list[Callable[[str, int], str]] = [str.ljust if head in ("id", "date") else str.rjust for head in heads]
    return _GAP.join(place(cells[head], width) for place, head, width in zip(align, heads, widths, strict=True))


def _print(console: Console, text: str, indent: int = 0, head: str = "", style: str = "") -> None:
    """Print a text, wrapped at words; `head` is printed in its indent."""
    lines = list(Text(text, style=style).wrap(console, max(8, console.width - indent))) or [Text("")]
    for place, line in enumerate(lines):
        line.rstrip()
        start = Text((head if place == 0 else "").ljust(indent)) if indent else Text("")
        console.print(start + line, highlight=False)


def _ratio(value: float | None) -> str:
    return _UNDEFINED if value is None else f"{value:.2f}"


def _percent(value: float | None, form: str) -> str:
    return _UNDEFINED if value is None else format(value, form)
