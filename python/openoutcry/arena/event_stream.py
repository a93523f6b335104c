"""Events of an Arena, for `openoutcry arena watch`."""

from __future__ import annotations

from typing import Any

import httpx

from openoutcry.arena.arena_client import ArenaClient
from openoutcry.arena.protocol import ArenaError, transport_failure

STANDING = ("rank", "n_submissions", "n_scored", "brier", "brier_skill_score", "roi")
"""Members of an agent that a `standing` event contains."""


class Watch:
    """Polls an Arena and returns what changed since the last poll.

    Args:
        client: A client of the Arena.
        slug: Agent whose standing is watched, or None.
    """

    def __init__(self, client: ArenaClient, slug: str | None = None) -> None:
        self._client, self._slug = client, slug
        # Empty before the first poll; None for an arena without a snapshot.
        self._as_of: str | None = ""
        self._results: dict[str, str] = {}
        self._standing: dict[str, Any] | None = None
        self.is_unreachable = False
        """Whether the last poll failed."""
        self.pause = 0
        """Seconds to wait before the next poll, from `Retry-After`."""

    def poll(self) -> list[dict[str, Any]]:
        """Return the changes since the last poll, as objects with `event`.

        The first poll returns the state.

        Events are `snapshot`, `settled`, `standing`, `away` and `back`. Repeated failures give one `away` event.

        Raises:
            ArenaError: the Arena refuses the request, for example for an agent that is not registered.
        """
        self.pause, was_unreachable = 0, self.is_unreachable
        try:
            events = self._events()
        except httpx.TransportError as error:
            why = transport_failure(error)
        except ArenaError as error:
            if error.retry_after is None:
                raise
            self.pause, why = error.retry_after, f"{error}; retry in {error.retry_after} s"
        else:
            self.is_unreachable = False
            return [{"event": "back"}, *events] if was_unreachable else events
        self.is_unreachable = True
        return [] if was_unreachable else [{"event": "away", "detail": why}]

    def _events(self) -> list[dict[str, Any]]:
        # All requests come before any state changes: after a failed poll, the next one reports the same changes.
        listed, settled = self._client.markets(), self._client.markets("settled")["markets"]
        agent = None if self._slug is None else self._client.agent(self._slug)
        events: list[dict[str, Any]] = []
        if listed["as_of"] != self._as_of:
            first = min((each["decision_cutoff"] for each in listed["markets"]), default=None)
            events.append(
                {"event": "snapshot", "as_of": listed["as_of"], "n_open": len(listed["markets"]), "next_cutoff": first}
            )
        results = {each["market_id"]: each["outcome"] for each in settled}
        news = sorted(set(results.items()) - set(self._results.items()))
        events += [{"event": "settled", "market_id": each, "outcome": outcome} for each, outcome in news]
        standing = None if agent is None else {name: agent[name] for name in STANDING}
        if standing is not None and standing != self._standing:
            events.append({"event": "standing", "agent": self._slug, **standing})
        self._as_of, self._results, self._standing = listed["as_of"], results, standing
        return events


def format_event(change: dict[str, Any]) -> str:
    """Format an event as a line of text."""
    kind = change["event"]
    if kind == "snapshot":
        n, cutoff = change["n_open"], change["next_cutoff"]
        until = "" if cutoff is None else f", next cutoff {cutoff}"
        return f"snapshot {change['as_of'] or 'none'}: {n:,} market{'' if n == 1 else 's'} open{until}"
    if kind == "settled":
        return f"settled  {change['market_id']}: {change['outcome']}"
    if kind == "standing":
        numbers = (f"{name} {_number(change[name])}" for name in STANDING)
        return f"standing {change['agent']}: {', '.join(numbers)}"
    return f"away     {change['detail']}" if kind == "away" else "back"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
