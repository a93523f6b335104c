"""Aggregates of the sources by theater; None if a source did not respond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from openoutcry.arena.protocol import THEATERS, Theater
from openoutcry.arena.snapshots.item_kinds import News, Seismic, TheaterIntel
from openoutcry.arena.snapshots.theaters import Table, TheaterProfile
from openoutcry.arena.sources import gdelt
from openoutcry.arena.sources.financial_risk import UNKNOWN
from openoutcry.arena.sources.wikipedia import ActivityRatio

DAY = timedelta(hours=24)
MIN_ALERT_MAGNITUDE = Decimal(4)


@dataclass(frozen=True)
class SourceItems:
    """Items of one snapshot time by source; None if the source did not respond.

    `ratios` holds the activity ratios of edits and views, by Wikipedia page.
    """

    news: tuple[News, ...] | None
    quakes: tuple[Seismic, ...] | None
    events: tuple[gdelt.Event, ...] | None
    ratios: Mapping[str, list[ActivityRatio]] = field(default_factory=dict)
    risks: Mapping[Theater, str] = field(default_factory=dict)


def assess(facts: SourceItems, table: Table, as_of: datetime) -> list[TheaterIntel]:
    """Return one `theater_intel` item per theater."""
    return [_assess(name, table.profiles[name], facts, as_of) for name in THEATERS]


def _assess(name: Theater, known: TheaterProfile, facts: SourceItems, as_of: datetime) -> TheaterIntel:
    hostile, cooperative = _counts(facts.events, known)
    ratios = [each for page in known.pages for each in facts.ratios.get(page, [])]
    return TheaterIntel(
        id=f"theater_intel:{name}",
        theater=name,
        gdelt_lean=None if hostile is None or cooperative is None else gdelt.lean(hostile, cooperative),
        gdelt_hostile_count=hostile,
        gdelt_cooperative_count=cooperative,
        wiki_spike=any(each.is_spike for each in ratios) if ratios else None,
        wiki_max_ratio=max((each.ratio for each in ratios), default=None),
        financial_risk=facts.risks.get(name, UNKNOWN),
        news_count=None if facts.news is None else sum(_is_about(each, known, as_of) for each in facts.news),
        seismic_alert=None
        if facts.quakes is None
        else any(_triggers_alert(each, known, as_of) for each in facts.quakes),
        as_of=as_of,
    )


def _counts(events: Iterable[gdelt.Event] | None, known: TheaterProfile) -> tuple[int | None, int | None]:
    if events is None:
        return None, None
    hostile = [each.is_hostile for each in events if each.country in known.fips]
    return sum(hostile), len(hostile) - sum(hostile)


def _is_about(article: News, known: TheaterProfile, as_of: datetime) -> bool:
    text = f"{article.title} {article.summary}"
    return as_of - DAY < article.published_at and known.terms.search(text) is not None


def _triggers_alert(quake: Seismic, known: TheaterProfile, as_of: datetime) -> bool:
    south, west, north, east = known.box
    is_inside = south <= quake.lat <= north and west <= quake.lon <= east
    return is_inside and quake.magnitude >= MIN_ALERT_MAGNITUDE and as_of - DAY < quake.occurred_at
