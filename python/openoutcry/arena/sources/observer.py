"""Observer: turns the captures of a snapshot time, and earlier ones, into items.

It uses no clock, plan or network, so that a replay gives the same bytes; the operator's files are captured like
responses. Articles and earthquakes keep the version first seen. Prices and scheduled events come from the current
captures only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from openoutcry.arena.snapshots.item_kinds import News, Seismic, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import format_time, to_utc
from openoutcry.arena.snapshots.theaters import Table, default_table, read_table
from openoutcry.arena.snapshots.time_leaks import LeakError, ObservedItem
from openoutcry.arena.sources import financial_risk, gdelt, icalendar, kalshi, rss, usgs, wikipedia
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.observer_state import ObserverState
from openoutcry.arena.sources.parse_result import Parsed
from openoutcry.arena.sources.theater_assessment import SourceItems, assess

CURATED = "theaters"
FETCHED_SOURCES = (gdelt.SOURCE, kalshi.SOURCE, rss.SOURCE, usgs.SOURCE, wikipedia.SOURCE)
OK_STATUSES = (200, 304)
MAX_MARKETS = 120
NEWS_EXPIRY, EVENT_WINDOW, CALENDAR_HORIZON = timedelta(hours=72), timedelta(hours=24), timedelta(days=30)


@dataclass(frozen=True)
class Observation:
    """The items of a snapshot time, for `snapshot_builder.build`, and the losses.

    `failed` lists the sources without a usable response; `lost` counts skipped data by source and reason.
    """

    as_of: datetime
    seen: tuple[ObservedItem, ...]
    failed: tuple[str, ...]
    lost: Mapping[str, int]

    @property
    def is_down(self) -> bool:
        """Whether no source responded. Publish nothing in that case."""
        return set(self.failed) == set(FETCHED_SOURCES)


@dataclass
class _Responses:
    """Responses of one snapshot time; `responsive` names readable sources and parts."""

    captures: list[Capture]
    responsive: set[str]
    lost: Counter[str]

    def read(self, source: str, part: str, parse: Callable[[Capture], Parsed[Any]]) -> Iterable[tuple[Capture, Any]]:
        """Yield a source's captures and parsed items, for parts with a given prefix."""
        for capture in self.captures:
            if capture.source == source and capture.part.startswith(part):
                parsed = parse(capture)
                self.lost.update({f"{source}.{reason}": count for reason, count in parsed.lost.items() if count})
                if parsed.is_readable:
                    self.responsive |= {source, f"{source}.{part}"}
                for item in parsed.items:
                    yield capture, item


class Observer:
    """Accumulates items over snapshot times. Missed times are skipped."""

    def __init__(self, state: ObserverState | None = None) -> None:
        """Start empty, or from the state of another observer."""
        self.state = state or ObserverState()

    @property
    def known(self) -> Mapping[str, Capture]:
        """Responses of the last snapshot time by URL, for the next `Fetcher`."""
        return dict(self.state.known)

    def observe(self, as_of: datetime, captures: Iterable[Capture]) -> Observation:
        """Return the items of a snapshot time, from its captures and earlier ones.

        Raises:
            LeakError: A capture is later than `as_of`. The state is unchanged.
            SnapshotError: `as_of` is not after the last snapshot time.
        """
        captures, as_of, last = list(captures), to_utc("as_of", as_of), self.state.as_of
        for capture in captures:
            if capture.status in OK_STATUSES and to_utc("fetched_at", capture.fetched_at) > as_of:
                raise LeakError(
                    f"a capture of {capture.source} must not be after {format_time(as_of)}; "
                    f"received {format_time(capture.fetched_at)}"
                )
        if last is not None and as_of <= last:
            raise SnapshotError(
                f"snapshot times must increase; received {format_time(as_of)} after {format_time(last)}"
            )
        self.state.as_of = as_of
        complete = self._complete(captures)
        lost = Counter(f"{each.source}.no_answer" for each in captures if each.status not in OK_STATUSES)
        responses = _Responses(complete, set(), lost)
        table = _table(responses)
        seen: list[ObservedItem] = self._articles(responses, as_of)
        seen += self._earthquakes(responses)
        seen += _markets(responses, table, as_of)
        seen += _scheduled(responses, as_of)
        facts = self._facts(responses, seen, as_of)
        newest = max((capture.fetched_at for capture in complete), default=as_of)
        seen += [ObservedItem(each, newest) for each in assess(facts, table, as_of)]
        failed = tuple(source for source in FETCHED_SOURCES if source not in responses.responsive)
        return Observation(as_of, tuple(seen), failed, dict(sorted(responses.lost.items())))

    def _complete(self, captures: list[Capture]) -> list[Capture]:
        """Return the valid responses in a fixed order, with bodies for status 304."""
        complete = []
        for each in sorted(captures, key=lambda each: (each.source, each.part, each.url, each.fetched_at, each.body)):
            last = self.state.known.get(each.url)
            if each.status == 304 and last is not None:
                complete.append(replace(each, body=last.body, headers={**last.headers, **each.headers}))
            elif each.status == 200:
                complete.append(each)
        self.state.known = {each.url: each for each in complete if each.url}
        return complete

    def _articles(self, responses: _Responses, as_of: datetime) -> list[ObservedItem]:
        listed = [
            *responses.read(rss.SOURCE, "", lambda each: rss.parse(each.body, each.fetched_at, each.part)),
            *responses.read(gdelt.SOURCE, "articles", lambda each: gdelt.parse_articles(each.body, each.fetched_at)),
        ]
        for capture, item in listed:
            first = (
                self.state.news[item.id][0] if item.id in self.state.news else ObservedItem(item, capture.fetched_at)
            )
            self.state.news[item.id] = (first, as_of)
        self.state.news = {name: each for name, each in self.state.news.items() if as_of - each[1] < NEWS_EXPIRY}
        return [seen for seen, _ in self.state.news.values()]

    def _earthquakes(self, responses: _Responses) -> list[ObservedItem]:
        listed: dict[str, ObservedItem] = {}
        for capture, item in responses.read(usgs.SOURCE, "", lambda each: usgs.parse(each.body, each.fetched_at)):
            listed[item.id] = self.state.quakes.get(item.id) or ObservedItem(item, capture.fetched_at)
        # Unlisted earthquakes are a day old or withdrawn. Without a response, the known ones are kept.
        if usgs.SOURCE in responses.responsive:
            self.state.quakes = listed
        return list(listed.values())

    def _facts(self, responses: _Responses, seen: list[ObservedItem], as_of: datetime) -> SourceItems:
        events = responses.read(gdelt.SOURCE, "events", lambda each: gdelt.parse_events(each.body, each.fetched_at))
        self.state.events |= {item.id: item for _, item in events}
        self.state.events = {
            name: each for name, each in self.state.events.items() if as_of - each.added_at < EVENT_WINDOW
        }
        return SourceItems(
            news=_items(seen, News) if responses.responsive & {rss.SOURCE, f"{gdelt.SOURCE}.articles"} else None,
            quakes=_items(seen, Seismic) if usgs.SOURCE in responses.responsive else None,
            events=tuple(self.state.events.values()) if f"{gdelt.SOURCE}.events" in responses.responsive else None,
            ratios=_activity_ratios(responses, as_of),
            risks=dict(
                item
                for _, item in responses.read(financial_risk.SOURCE, "", lambda each: financial_risk.parse(each.body))
            ),
        )


def _items(seen: Iterable[ObservedItem], kind: type[Any]) -> tuple[Any, ...]:
    return tuple(each.item for each in seen if isinstance(each.item, kind))


def _table(responses: _Responses) -> Table:
    """Return the captured table of theaters, or the default table if it is invalid."""
    for capture in responses.captures:
        if capture.source == CURATED:
            try:
                return read_table(capture.body)
            except SnapshotError:
                responses.lost[f"{CURATED}.unreadable"] += 1
    return default_table()


def _first_of_each(read: Iterable[tuple[Capture, Any]]) -> list[tuple[Capture, Any]]:
    found: dict[str, tuple[Capture, Any]] = {}
    for capture, item in read:
        found.setdefault(item.id, (capture, item))
    return list(found.values())


def _markets(responses: _Responses, table: Table, as_of: datetime) -> list[ObservedItem]:
    """Return the open markets that close first, so that the list changes slowly."""
    read = responses.read(kalshi.SOURCE, "", lambda each: kalshi.parse(each.body, each.fetched_at, table))
    open_markets = [(capture, item) for capture, item in _first_of_each(read) if item.close_time > as_of]
    open_markets.sort(key=lambda each: (each[1].close_time, each[1].id))
    if len(open_markets) > MAX_MARKETS:
        responses.lost["kalshi.over_limit"] = len(open_markets) - MAX_MARKETS
    return [ObservedItem(item, capture.fetched_at) for capture, item in open_markets[:MAX_MARKETS]]


def _scheduled(responses: _Responses, as_of: datetime) -> list[ObservedItem]:
    read = responses.read(icalendar.SOURCE, "", lambda each: icalendar.parse(each.body, each.fetched_at))
    events = [
        (capture, item)
        for capture, item in _first_of_each(read)
        if as_of <= item.scheduled_at <= as_of + CALENDAR_HORIZON
    ]
    return [ObservedItem(item, capture.fetched_at) for capture, item in events]


def _activity_ratios(responses: _Responses, as_of: datetime) -> dict[str, list[wikipedia.ActivityRatio]]:
    edits: dict[str, list[wikipedia.Edit]] = {}
    views: dict[str, list[wikipedia.Views]] = {}
    for capture, edit in responses.read(
        wikipedia.SOURCE, "edits:", lambda each: wikipedia.parse_edits(each.body, each.fetched_at)
    ):
        edits.setdefault(capture.part.partition(":")[2], []).append(edit)
    for capture, day in responses.read(
        wikipedia.SOURCE, "views:", lambda each: wikipedia.parse_views(each.body, each.fetched_at)
    ):
        views.setdefault(capture.part.partition(":")[2], []).append(day)
    found: dict[str, list[wikipedia.ActivityRatio]] = {}
    for page in sorted({*edits, *views}):
        both = (wikipedia.edit_ratio(edits.get(page, []), as_of), wikipedia.view_ratio(views.get(page, [])))
        found[page] = [ratio for ratio in both if ratio is not None]
    return found
