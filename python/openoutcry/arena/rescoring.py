"""Recompute an Arena's scores, using only the Python standard library.

    openoutcry-verify export DIR --recompute-scores      signatures, log and scores
    python rescoring.py DIR                              only the scores, of an export that you have verified

Read this file from top to bottom; `verifier.py` runs it from the same folder. Scores are exact ratios rounded once, so
they must match to the last bit. Fields computed by resampling, regression, logarithms or bins do not affect ranks and
are not recomputed; `NOT_RECOMPUTED` lists them.
"""

from __future__ import annotations

import json
import math
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import cache
from operator import attrgetter, index
from pathlib import Path
from typing import Any, NamedTuple

NOT_RECOMPUTED = {
    *("brier_low", "brier_high", "brier_skill_score_low", "brier_skill_score_high", "rank_low", "rank_high"),
    *("p_best", "p_top", "p_rank", "brier_adjusted", "log_score", "calibration", "reasons"),
}
NONE, ZERO, SECOND_US, EPOCH = Fraction(-1), Fraction(0), 10**6, datetime(1970, 1, 1, tzinfo=timezone.utc)


@cache
def parse_time(text: str) -> int:
    """Return a UTC timestamp as microseconds since 1970."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:Z|\+00:00)", text)
    if match is None:
        raise ValueError(f"a time in UTC is required; received {text[:40]!r}")
    whole = datetime.fromisoformat(match[1]).replace(tzinfo=timezone.utc) - EPOCH
    return whole // timedelta(microseconds=1) + int((match[2] or "").ljust(6, "0"))


@cache
def parse_share(text: str) -> Fraction:
    """Parse a decimal from 0 to 1."""
    value = Fraction(text) if re.fullmatch(r"[0-9](\.[0-9]{1,20})?([eE]-[0-9]{1,2})?", text) else NONE
    if not 0 <= value <= 1:
        raise ValueError(f"a decimal from 0 to 1 is required; received {text[:40]!r}")
    return value


def _optional_share(value: Any) -> Fraction | None:
    return None if value is None else parse_share(str(value))


def to_float(value: Fraction | None) -> float | None:
    """Return the float nearest to an exact ratio."""
    return None if value is None else value.numerator / value.denominator


def mean(values: Iterable[Fraction]) -> Fraction | None:
    """Return the mean, or None without values."""
    terms = list(values)
    return sum(terms, ZERO) / len(terms) if terms else None


def skill_score(loss: Fraction, reference: Fraction) -> Fraction | None:
    """Return the skill against a reference's loss, or None if that is 0."""
    return 1 - loss / reference if reference else None


class Quote(NamedTuple):
    """A market's entry in a snapshot; the first theater is the primary one."""

    at_us: int
    cutoff_us: int
    theaters: tuple[str, ...]
    mid: Fraction | None
    bid: Fraction | None
    ask: Fraction | None


class Resolution(NamedTuple):
    """The result of a market: `state` is settled, provisional or another."""

    state: str
    yes: bool
    settled_us: int | None
    close_us: int | None


class Forecast(NamedTuple):
    """A decision that counts, with the quote of the latest snapshot at its receipt."""

    slug: str
    market_id: str
    p: Fraction
    y: int
    confidence: Fraction | None
    is_settled: bool
    theaters: tuple[str, ...]
    quote: Quote | None
    loss: Fraction


class Reference(NamedTuple):
    """A theater's reference rate: a share of YES, its source and sample size."""

    theater: str | None
    rate: Fraction
    source: str
    n: int
    n_markets: int | None = None
    citation: str | None = None


def resolve(records: Sequence[Mapping[str, Any]], at_us: int, grace_us: int) -> Resolution:
    """Return the result of a market from its ordered records, at a time."""
    settled_us = close_us = None
    for place, record in enumerate(records):
        time_us = parse_time(record["at"])
        if record["actual_close_time"] is not None:
            close_us = parse_time(record["actual_close_time"])
        if record["outcome"] is None or settled_us is not None:
            continue
        if record["status"] in ("finalized", "amended"):
            settled_us = time_us
        elif record["status"] == "determined":
            # Final after the grace period, unless another record arrives before.
            is_undisputed = place + 1 == len(records) or parse_time(records[place + 1]["at"]) >= time_us + grace_us
            settled_us = time_us + grace_us if is_undisputed else None
    last = records[-1]
    state, yes = str(last["status"]), last["outcome"] == "yes"
    if last["outcome"] is not None and state in ("determined", "finalized", "amended"):
        state = "provisional" if state == "determined" and at_us < parse_time(last["at"]) + grace_us else "settled"
    return Resolution(state, yes, settled_us, close_us)


class Season:
    """An export's records and snapshots, and the forecasts that count."""

    def __init__(self, folder: Path, at_us: int, window: Sequence[int] | None) -> None:
        self.folder, self.at_us, self.window = folder, at_us, window
        self.records: dict[str, list[Any]] = defaultdict(list)
        for line in (folder / "log.jsonl").read_bytes().splitlines():
            record = json.loads(line)
            self.records[record["type"]].append(record)
            if at_us < parse_time(record.get("at") or record.get("received_at") or record["created_at"]):
                raise ValueError(f"scores after record {record['seq']} are required; received earlier ones")
        self.rules: dict[str, Any] = self.records["scoring"][-1]["parameters"]
        self.table = sorted(json.loads((folder / "base_rates.json").read_bytes()), key=lambda row: str(row["theater"]))
        self.snapshots = sorted(parse_time(each["as_of"]) for each in self.records["snapshot"])
        self.quotes: dict[str, list[Quote]] = defaultdict(list)
        self.cutoffs: dict[str, int] = {}
        for each in self.records["snapshot"]:
            self._read_quotes(each["as_of"], parse_time(each["at"]))
        self.results: dict[str, list[Any]] = defaultdict(list)
        for each in self.records["resolution"]:
            self.results[each["market_id"]] += [each] if parse_time(each["at"]) <= at_us else []
        suspended = {each["agent_slug"]: each["suspended"] for each in self.records["suspension"]}
        self.suspended = {slug for slug, is_suspended in suspended.items() if is_suspended}
        self.decided: dict[str, set[str]] = defaultdict(set)
        self.forecasts = list(self._select_forecasts().values())
        self.settled = [each for each in self.forecasts if each.is_settled]
        # The last snapshot in which each market was open, for markets whose decisions are public.
        self.last_open = dict(self._find_last_open())
        named = {quote.theaters for own in self.quotes.values() for quote in own}
        self.theaters = sorted({theater for each in named for theater in each})
        firsts = {each[0] for each in named if each}
        order = [None, *sorted(self.theaters, key=lambda theater: theater not in firsts)]
        self.references = {theater: self._reference(theater) for theater in order}

    def _read_quotes(self, as_of: str, published_us: int) -> None:
        at_us = parse_time(as_of)
        # Numbers stay text, because prices are exact decimals.
        text = (self.folder / "snapshots" / f"{as_of.replace(':', '-')}.json").read_bytes()
        for item in json.loads(text, parse_float=str)["items"]:
            if item["kind"] == "market_state":
                close = item.get("close_time")
                # Two hours before the close; if the close is unknown, 14 days after the snapshot.
                cutoff = at_us + 14 * 86_400 * SECOND_US if close is None else parse_time(close) - 7200 * SECOND_US
                prices = [_optional_share(item.get(name)) for name in ("yes_mid_price", "yes_bid", "yes_ask")]
                # Decisions are public after the cutoff, so no later snapshot can reopen a market.
                before = self.cutoffs.get(item["market_id"], published_us)
                self.cutoffs[item["market_id"]] = cutoff if published_us <= before else before
                self.quotes[item["market_id"]].append(Quote(at_us, cutoff, tuple(item.get("theaters") or ()), *prices))

    def _decisions(self) -> Iterator[tuple[int, int, Mapping[str, Any], Mapping[str, Any]]]:
        reveals = (self.folder / "reveals.jsonl").read_bytes().splitlines()
        n_open = sum(self.at_us <= cutoff_us for cutoff_us in self.cutoffs.values())
        for record, line in zip(self.records["submission"], reveals, strict=True):
            opened = json.loads(line)["opened"]
            n_withheld = len(record["commitments"]) - len(opened)
            if n_withheld > n_open:
                message = f"at most one secret decision per open market, {n_open} in all, is required"
                raise ValueError(f"{message}; received {n_withheld} of {record['submission_id']}")
            for body in opened:
                yield parse_time(record["received_at"]), record["seq"], record, body

    def last_quote(self, market_id: str, at_us: int) -> Quote | None:
        """Return a market's quote in the last snapshot at or before a time."""
        place = bisect_right(self.quotes[market_id], at_us, key=attrgetter("at_us"))
        return self.quotes[market_id][place - 1] if place else None

    def _select_forecasts(self) -> dict[tuple[str, str], Forecast]:
        found, window, rules = dict[tuple[str, str], Forecast](), self.window, self.rules
        grace_us = rules["grace_s"] * SECOND_US
        ends = {name: resolve(each, self.at_us, grace_us) for name, each in self.results.items() if each}
        for at_us, _, record, body in sorted(self._decisions(), key=lambda each: each[:2]):
            slug, market_id = record["agent_slug"], body["market_id"]
            self.decided[slug].add(market_id)
            quote, end = self.last_quote(market_id, at_us), ends.get(market_id, Resolution("open", False, None, None))
            if quote is None:
                raise ValueError(f"a decision on a market of a snapshot is required; received {json.dumps(market_id)}")
            is_within = window is None or (end.settled_us is not None and window[0] <= end.settled_us < window[1])
            close_us = quote.cutoff_us if end.close_us is None else end.close_us - rules["close_margin_s"] * SECOND_US
            limit = min(quote.cutoff_us, close_us)
            if end.state in ("settled", "provisional") and is_within and at_us <= limit and slug not in self.suspended:
                # Theaters are those of the cited snapshot, prices those of the latest one.
                cited = self.last_quote(market_id, parse_time(record["snapshot_as_of"])) or quote
                newest = self.snapshots[bisect_right(self.snapshots, at_us) - 1]
                p, y = parse_share(body["yes_probability"]), int(end.yes)
                confidence = _optional_share(body["confidence"])
                rest = end.state == "settled", cited.theaters, quote if quote.at_us == newest else None
                found[slug, market_id] = Forecast(slug, market_id, p, y, confidence, *rest, (p - y) ** 2)
        return found

    def _find_last_open(self) -> Iterator[tuple[str, int]]:
        for market_id, own in self.quotes.items():
            end_us = min((parse_time(each["at"]) - 1 for each in self.results[market_id]), default=self.at_us)
            seen = [each.at_us for each in own if each.at_us <= min(each.cutoff_us, end_us, self.at_us)]
            seen = [each for each in seen if self.window is None or self.window[0] <= each < self.window[1]]
            if seen and own[-1].cutoff_us < self.at_us:
                yield market_id, seen[-1]

    def _platform(self, theater: str | None, source: str, own: Sequence[Forecast]) -> Iterator[Reference]:
        if own:
            rate, n_markets = Fraction(sum(each.y for each in own), len(own)), len({each.market_id for each in own})
            yield Reference(theater, rate, source, len(own), n_markets)

    def _candidates(self, theater: str | None) -> Iterator[Reference]:
        cited = [f"{row['source']}, {row['period']}" for row in self.table]
        if theater is not None:
            own = [each for each in self.settled if each.theaters[:1] == (theater,)]
            yield from self._platform(theater, "platform_theater", own)
            for row, citation in zip(self.table, cited, strict=True):
                if row["theater"] == theater:
                    yield Reference(theater, parse_share(row["rate"]), "historical_theater", row["n"], None, citation)
        if n := sum(row["n"] for row in self.table):
            blend = sum((row["n"] * parse_share(row["rate"]) for row in self.table), ZERO) / n
            yield Reference(theater, blend, "historical_blend", n, None, "; ".join(cited))
        yield from self._platform(theater, "platform_global", self.settled)

    def _reference(self, theater: str | None) -> Reference:
        least, most = parse_share(self.rules["min_rate"]), parse_share(self.rules["max_rate"])
        found = (e for e in self._candidates(theater) if e.n >= self.rules["min_rate_n"] and least <= e.rate <= most)
        return next(found, Reference(theater, Fraction(1, 2), "always_50", 0))


class Board:
    """The board of a season, for one theater or all markets."""

    def __init__(self, season: Season, theater: str | None) -> None:
        self.season, self.theater, self.rules = season, theater, season.rules
        self.own: dict[str, list[Forecast]] = defaultdict(list)
        self.losses: dict[str, list[Fraction]] = defaultdict(list)
        for each in season.forecasts:
            if theater is None or theater in each.theaters:
                self.own[each.slug].append(each)
                self.losses[each.market_id] += [each.loss] * each.is_settled
        self.totals = {market_id: sum(losses, ZERO) for market_id, losses in self.losses.items()}
        found = [(each["agent_slug"], self._scores(each)) for each in season.records["agent"]]
        self.scores = dict(sorted(found, key=lambda each: (*self._ranking_key(each[1]), each[0])))

    @staticmethod
    def _ranking_key(scores: Mapping[str, Any]) -> tuple[Any, ...]:
        # By skill, ROI, number of decisions; None sorts last.
        ends = [(scores[name] is None, -(scores[name] or 0)) for name in ("brier_skill_score", "roi")]
        return scores["n_scored"] == 0, *ends, -scores["n_scored"]

    def _scores(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        slug, season = agent["agent_slug"], self.season
        own = [each for each in self.own[slug] if each.is_settled]
        used = [season.references[next(iter(e.theaters), None) if self.theater is None else self.theater] for e in own]
        n, loss, sources = len(own), sum((each.loss for each in own), ZERO), {each.source for each in used}
        expected = sum((each.rate * (1 - each.rate) for each in used), ZERO)
        realized = sum(((b.rate - each.y) ** 2 for b, each in zip(used, own, strict=True)), ZERO)
        peers = {each: len(self.losses[each.market_id]) - 1 for each in own}
        gaps = [(self.totals[e.market_id] - e.loss) / others - e.loss for e, others in peers.items() if others]
        open_ids = {name for name, at_us in season.last_open.items() if at_us >= parse_time(agent["at"])}
        positions = self._positions(own, at_touch=False)
        return {
            "n_scored": n,
            "n_provisional": len(self.own[slug]) - n,
            "brier": loss / n if n else None,
            "brier_provisional": mean(each.loss for each in self.own[slug]),
            "brier_skill_score": skill_score(loss, expected),
            "brier_skill_score_paired": skill_score(loss, realized),
            "brier_skill_score_vs_50": skill_score(loss, Fraction(n, 4)),
            "skill_reference": "mixed" if len(sources) > 1 else next(iter(sources), None),
            "roi": mean(positions),
            "n_positions": len(positions),
            "roi_at_touch": mean(self._positions(own, at_touch=True)),
            "peer_score": mean(gaps),
            "n_peer": len(gaps),
            "coverage": Fraction(len(season.decided[slug] & open_ids), len(open_ids)) if open_ids else None,
        }

    def _positions(self, own: Sequence[Forecast], *, at_touch: bool) -> list[Fraction]:
        found, stake, step = [], Fraction(self.rules["stake"]), Fraction(self.rules["fee_step"])
        for each in own:
            quote, confidence = each.quote, NONE if each.confidence is None else each.confidence
            if quote is None or quote.mid is None or not 0 < quote.mid < 1:
                continue
            if confidence < parse_share(self.rules["min_confidence"]):
                continue
            away, is_yes = each.p - quote.mid, each.p > quote.mid
            cost = (quote.ask if is_yes else quote.bid) if at_touch else quote.mid
            price = NONE if cost is None else cost if is_yes else 1 - cost
            if abs(away) <= parse_share(self.rules["edge"]) or not 0 < price < 1:
                continue
            # `fee_rate * contracts * price * (1 - price)`, rounded up to a multiple of `fee_step`.
            fee = Fraction(self.rules["fee_rate"]) * stake * (1 - price)
            fee = ZERO if self.rules["fee_model"] == "none" else math.ceil(fee / step) * step
            found.append((1 / price if is_yes == bool(each.y) else ZERO) - 1 - fee / stake)
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `scores.json`, by rank."""
        keys = [self._ranking_key(scores) for scores in self.scores.values()]
        for place, (slug, scores) in enumerate(self.scores.items()):
            own = [each for each in self.own[slug] if each.is_settled]
            is_tied = keys[place] in keys[max(0, place - 1) : place] + keys[place + 1 : place + 2]
            yield {name: to_float(each) if isinstance(each, Fraction) else each for name, each in scores.items()} | {
                "slug": slug,
                "rank": place + 1 if own else None,
                "tied": is_tied and bool(own),
                "suspended": slug in self.season.suspended,
                "provisional": scores["n_provisional"] > 0,
                "per_theater": list(self._per_theater(own)),
            }

    def _per_theater(self, own: Sequence[Forecast]) -> Iterator[dict[str, Any]]:
        for theater in self.season.theaters:
            losses, base = [each.loss for each in own if theater in each.theaters], self.season.references[theater]
            if losses:
                loss, n = sum(losses, ZERO), len(losses)
                row = {"theater": theater, "n": n, "brier": to_float(loss / n), "base_rate": to_float(base.rate)}
                row |= {"reference_source": base.source, "reference_citation": base.citation}
                yield row | {"brier_skill_score": to_float(skill_score(loss, n * base.rate * (1 - base.rate)))}

    def to_json(self) -> dict[str, Any]:
        """Return the contents of `scores.json`."""
        season = self.season
        return {
            "scoring_version": season.records["scoring"][-1]["scoring_version"],
            "at_us": season.at_us,
            "window": None if season.window is None else list(season.window),
            "theater": self.theater,
            "parameters": self.rules,
            "fee_model": self.rules["fee_model"],
            "references": [each._asdict() | {"rate": to_float(each.rate)} for each in season.references.values()],
            "rows": list(self.rows()),
        }


def differences(name: str, expected: Any, received: Any) -> Iterator[str]:
    """Yield the differences of two JSON values, except `NOT_RECOMPUTED` fields."""
    if isinstance(expected, dict) and isinstance(received, dict):
        for key in expected:
            yield from differences(f"{name}.{key}", expected[key], received.get(key, "nothing"))
        extra = sorted(received.keys() - expected.keys() - NOT_RECOMPUTED)
        yield from (f"{name}.{key} must be absent" for key in extra)
    elif isinstance(expected, list) and isinstance(received, list) and len(expected) == len(received):
        for place, pair in enumerate(zip(expected, received, strict=True)):
            yield from differences(f"{name}[{place}]", *pair)
    elif type(expected) is not type(received) or expected != received:
        yield f"{name} must be {json.dumps(expected)[:80]}; received {json.dumps(received)[:80]}"


def faults(folder: Path) -> list[str]:
    """Return the faults in an export's scores, recomputed from its log."""
    try:
        exported = json.loads((folder / "scores.json").read_bytes())
        expected = Board(Season(folder, index(exported["at_us"]), exported["window"]), exported["theater"]).to_json()
    except OSError as error:
        return [f"a file '{Path(error.filename).name}' is required; received none"]
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        received = f"one without {error}" if isinstance(error, KeyError) else "another"
        is_own = "required; received" in str(error)
        return [str(error) if is_own else f"a complete export is required; received {received}"]
    return list(differences("scores", expected, exported))


if __name__ == "__main__":
    text = "\n".join(found := faults(Path(sys.argv[1]))) or "ok"
    print("".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text))
    sys.exit(bool(found))
