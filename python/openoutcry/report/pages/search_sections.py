"""Sections of a research page: parameter maps, trials over time, folds."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.report.charts.heatmap import shade
from openoutcry.report.charts.search_charts import fold_chart, history_chart, map_chart
from openoutcry.report.pages.page_parts import figure, heading, labelled_cell, scroll
from openoutcry.report.text_format import DASH, escape, number
from openoutcry.report.views.search_view import MapPoint, ParameterMap, SearchView
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["fold_section", "history_section", "map_section"]

_OUTCOMES = (
    ("advanced", "took the lead"),
    ("kept", "passed the gates"),
    ("discarded", "discarded"),
    ("rejected", "not evaluated"),
    ("crashed", "crashed"),
)


def map_section(search: SearchView) -> str:
    """Return the parameter maps, with the values of chosen point and neighbours."""
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in search.not_drawn)
    others = f'<p class="fine">Without a map:</p><ul class="fine">{reasons}</ul>' if reasons else ""
    if not search.maps:
        return f"<p>No map is drawn: it needs two evaluated configurations of one strategy.</p>{others}"
    known = [abs(point.sharpe) for each in search.maps for point in each.points if point.sharpe is not None]
    extreme = max([*known, 0.1])
    intro = (
        "Discs are evaluated configurations, with the number of their round. Blue is a Sharpe ratio above zero, orange "
        f"below; the strongest colour is {number(extreme)}. A chosen point that is far above its neighbours is likely "
        "luck."
    )
    marks = (
        '<ul class="legend always marks"><li><i class="ring chosen"></i>chosen</li>'
        '<li><i class="ring neighbour"></i>its neighbours</li></ul>'
    )
    by_strategy: dict[str, list[ParameterMap]] = {}
    for each in search.maps:
        by_strategy.setdefault(each.strategy, []).append(each)
    drawn = "".join(_strategy(maps, extreme) for maps in by_strategy.values())
    return f"<p>{escape(intro)}</p>{marks}{drawn}{others}"


def _strategy(maps: Sequence[ParameterMap], extreme: float) -> str:
    """Return the map with the most values and its neighbours; other pairs are folded."""
    first, *others = (figure(map_chart(each, extreme), _caption(each)) for each in maps)
    pairs = ", ".join(f"{each.x} and {each.y}" for each in maps[1:])
    summary = f'<summary class="fine">Other pairs of parameters: {escape(pairs)}</summary>'
    folded = f"<details>{summary}<article>{''.join(others)}</article></details>" if others else ""
    return f"{heading(3, maps[0].strategy)}{first}{_neighbours(maps[0])}{folded}"


def _caption(each: ParameterMap) -> str:
    names = f"{each.x} and {each.y}" if each.y else each.x
    text = f"Sharpe ratio out of sample by {names}."
    return f"{text} Not shown, but varying too: {', '.join(each.others)}." if each.others else text


def _neighbours(each: ParameterMap) -> str:
    chosen = next(point for point in each.points if point.role == "chosen")
    near = [point for point in each.points if point.role == "neighbour"]
    rows = "".join(_row(point, chosen) for point in (chosen, *near))
    caption = f"The chosen point, {each.status}, and the evaluated configurations nearest to it."
    table = (
        f'<table class="data stack near"><caption><span>{escape(caption)}</span></caption><thead><tr>'
        '<th scope="col">Configuration</th><th scope="col">Round</th><th scope="col">Sharpe</th>'
        '<th scope="col">Difference</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    return scroll(table, f"{each.strategy}: chosen point and neighbours")


def _row(point: MapPoint, chosen: MapPoint) -> str:
    sharpe = DASH if point.sharpe is None else number(point.sharpe)
    gap = DASH
    if point is not chosen and point.sharpe is not None and chosen.sharpe is not None:
        gap = number(point.sharpe - chosen.sharpe, signed=True)
    mark = "<b>chosen</b> " if point is chosen else ""
    cells = (("Round", str(point.number)), ("Sharpe", sharpe), ("Difference", gap))
    inner = "".join(labelled_cell(*cell) for cell in cells)
    return f'<tr><th scope="row"><span>{mark}{escape(point.params)}</span></th>{inner}</tr>'


def history_section(search: SearchView) -> str:
    """Return the chart of all rounds, with the incumbent."""
    if not search.history:
        return "<p>Nothing was proposed.</p>"
    counts = {outcome: sum(point.outcome == outcome for point in search.history) for outcome, _ in _OUTCOMES}
    items = "".join(
        f'<li><i class="round {outcome}"></i>{text} ({counts[outcome]})</li>'
        for outcome, text in _OUTCOMES
        if counts[outcome]
    )
    caption = f"Sharpe ratio out of sample of each round; the line is the leader at that time. {search.budget}"
    return figure(history_chart(search.history), caption, f'<ul class="legend always marks">{items}</ul>')


def fold_section(search: SearchView) -> str:
    """Return the folds on a time axis, and their dates and scores."""
    if not search.folds:
        return "<p>The session has no record of its folds, so that they are not drawn.</p>"
    parts = [("train", "training"), ("gap", "gap"), ("test", "test")]
    parts += [("holdout", "holdout")] if search.holdout is not None else []
    items = "".join(f'<li><i class="part {kind}"></i>{text}</li>' for kind, text in parts)
    of = f" Numbers are Sharpe ratios of {search.fold_names[0]} in the test." if search.fold_names else ""
    gaps = sorted({fold.n_gap for fold in search.folds})
    gap = f"{counted(gaps[0], 'bar')}" if len(gaps) == 1 else f"{gaps[0]:,} to {gaps[-1]:,} bars"
    caption = f"Each fold is tested on bars after its training, {gap} apart.{of}"
    chart = fold_chart(search.folds, search.holdout, search.fold_names)
    return figure(chart, caption, f'<ul class="legend always marks">{items}</ul>') + _fold_table(search)


def _fold_table(search: SearchView) -> str:
    known = [abs(value) for fold in search.folds for value in fold.sharpes if value is not None]
    extreme = max([*known, 0.1])
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in search.fold_names)
    rows = []
    for number_, fold in enumerate(search.folds, 1):
        cells = "".join(
            labelled_cell(name, DASH, "")
            if value is None
            else labelled_cell(name, number(value), shade(value, extreme))
            for name, value in zip(search.fold_names, fold.sharpes, strict=True)
        )
        dates = "".join(
            labelled_cell(label, escape(text), "text")
            for label, text in (
                ("Training", " .. ".join(fold.train)),
                ("Gap", counted(fold.n_gap, "bar")),
                ("Test", f"{' .. '.join(fold.test)}, {counted(fold.n_test, 'bar')}"),
            )
        )
        rows.append(f'<tr><th scope="row"><span>Fold {number_}</span></th>{dates}{cells}</tr>')
    if search.holdout is not None:
        held = search.holdout
        text = f"{held.first} .. {held.last}: {held.result}"
        rows.append(
            f'<tr><th scope="row"><span>Holdout</span></th><td class="text" data-label="Bars that no trial used"'
            f' colspan="{3 + len(search.fold_names)}"><span>{escape(text)}</span></td></tr>'
        )
    texts = "".join(f'<th scope="col" class="text">{name}</th>' for name in ("Training", "Gap", "Test"))
    table = (
        '<table class="data stack folds"><caption><span>Sharpe ratio of each test; the shade is its size.</span>'
        f'</caption><thead><tr><th scope="col">Fold</th>{texts}{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    return scroll(table, "Folds")
