"""The sessions of a server: begun, stepped, scored and given up."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness.agent_session import Bounds as AgentBounds
from openoutcry.harness.mcp import tool_arguments
from openoutcry.harness.mcp.market_exposure import Sight, Sights
from openoutcry.harness.mcp.market_selection import Market, drawn_key, synthetic
from openoutcry.harness.mcp.mcp_episode import Episode
from openoutcry.harness.mcp.mcp_session import Session, Source
from openoutcry.harness.mcp.record_folder import Records
from openoutcry.harness.mcp.tool_arguments import RESET, taken
from openoutcry.openoutcry_py import OpenOutcryError

Answer = dict[str, Any]

_LOG = logging.getLogger(__name__)

_ID_BYTES = 16
_DECISION = '{"orders": [{"symbol": "AAA", "action": "buy", "target_weight": 0.5}]}'


@dataclass(frozen=True)
class Bounds:
    """What clients may take.

    Args:
        sessions: Sessions at a time. One that is over makes way for a new one.
        idle_seconds: Time without a call, after which a session is given up.
        answer_bytes: Longest decision.
        run_bytes: All decisions of a session together, which are kept for its score and its record.
    """

    sessions: int = 16
    idle_seconds: float = 3600.0
    answer_bytes: int = AgentBounds.answer_bytes
    run_bytes: int = AgentBounds.run_bytes

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
                raise refusal("argument_invalid", f"`{each.name}` must be a number above 0; received {value!r}")


@dataclass
class Floor:
    """What clients trade on; its methods are the tools.

    Each takes arguments by name and returns an answer. Sessions do not touch. It is for one thread; `close` ends it.

    Args:
        markets: What can be named; the first is the default.
        bounds: What clients may take.
        records: Where records go; None keeps none.
        clock: Seconds that never go back.
    """

    markets: Sequence[Market]
    bounds: Bounds = field(default_factory=Bounds)
    records: Records | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._named = {market.name: market for market in self.markets}
        self._sessions: dict[str, Session] = {}
        self._sights = Sights()
        # Markets in disguise that records were kept of, by the keys of their disguises.
        self._disguises: dict[bytes, Market] = {}

    def reset(self, given: Mapping[str, Any]) -> Answer:
        """Begin an episode and return its session and first observation."""
        taken("reset", given, (), RESET)
        self._give_up_idle()
        replaced = self._of(given["replaces"]) if given.get("replaces") is not None else None
        source, dataset = self._drawn(given)
        hides_dates = source.market is not None and source.market.hides_dates
        episode = Episode(dataset, tool_arguments.rules(dataset, given, hides_dates), self.bounds.run_bytes)
        self._make_room(replaced)
        sight = _sight(source, episode, given)
        if sight is not None:
            self._sights.note(sight)
        session = Session(secrets.token_hex(_ID_BYTES), episode, source, sight, self.clock())
        self._sessions[session.name] = session
        settings = episode.rules.settings
        return {
            "session": session.name,
            "market": source.name,
            "n_decisions": episode.n_left,
            "costs": settings["costs"].to_dict(),
            "limits": _finite(settings["limits"].to_dict()),
            "observation": episode.observe(),
        }

    def observe(self, given: Mapping[str, Any]) -> Answer:
        """Return the present observation of a session again."""
        taken("observe", given, ("session",))
        session = self._called(given)
        return {**session.state, "observation": session.episode.observe()}

    def step(self, given: Mapping[str, Any]) -> Answer:
        """Carry out a decision and return what came of it.

        Raises:
            OpenOutcryError: it is no decision, or the episode is over; nothing has moved.
        """
        taken("step", given, ("session", "decision"))
        session = self._called(given)
        try:
            decision = tool_arguments.decision(given["decision"], self.bounds.answer_bytes)
            came = session.step(decision, self.records, self._sights)
        except OpenOutcryError as error:
            if error.slug == "episode_over":
                raise
            told = f"{_message(error)}; nothing has moved; hint: {_DECISION} is a decision"
            raise refusal(error.slug, told) from error
        if session.episode.done:
            self._keep(session)
        return {**session.state, **came, "observation": session.episode.observe()}

    def score(self, given: Mapping[str, Any]) -> Answer:
        """Return what a session has come to so far, or in the end.

        Before its end, nothing of it depends on a later bar.
        """
        return self.scoring(given)()

    def scoring(self, given: Mapping[str, Any]) -> Callable[[], Answer]:
        """Return what computes the score of a session as it is now.

        It touches nothing of the floor, so that another thread can call it.
        """
        taken("score", given, ("session",))
        session = self._called(given)
        episode = session.episode
        if not episode.n_made:
            raise refusal("argument_invalid", "a score must be of at least one decision; received none so far")
        answer = {**session.state, "n_made": episode.n_made, "record": None, "data": None}
        if episode.done:
            # Both tell of later bars: what data is like as a whole, and a digest of all of it.
            dataset = episode.dataset
            answer["data"] = {
                "name": dataset.name,
                "fingerprint": dataset.fingerprint,
                "notices": list(dataset.notices),
            }
            self._keep(session)
            answer["record"] = None if self.records is None else session.record(self.records)
        decided = episode.decided
        return lambda: {**answer, **decided.score()}

    def close(self) -> None:
        """Give up all sessions, and write markets in disguise beside their records.

        Records of sessions that were not over are unfinished.

        Raises:
            RuntimeError: not everything could be written.
        """
        for session in list(self._sessions.values()):
            session.is_left = True
            self._drop(session)
        for key, market in list(self._disguises.items()):
            self._freeze(market, key)
        if self._sessions or self._disguises:
            raise RuntimeError("not every record could be written")

    def _drawn(self, given: Mapping[str, Any]) -> tuple[Source, Dataset]:
        name, is_synthetic = tool_arguments.choice(given, tuple(self._named))
        if is_synthetic:
            return Source(name), synthetic(name, tool_arguments.seed(given) if "seed" in given else None)
        source = Source(name, self._named[name], drawn_key())
        return source, self._named[name].under(source.key)

    def _called(self, given: Mapping[str, Any]) -> Session:
        self._give_up_idle()
        session = self._of(given["session"])
        session.used = self.clock()
        return session

    def _of(self, name: Any) -> Session:
        session = self._sessions.get(name) if isinstance(name, str) else None
        if session is None or session.is_left:
            wanted = "`session` must be one that `reset` returned and that is still open"
            hint = f"hint: a session is given up after {self.bounds.idle_seconds:g} seconds without a call"
            raise refusal("unknown_session", f"{wanted}; received {name!r}; {hint}")
        return session

    def _make_room(self, replaced: Session | None) -> None:
        if replaced is None and len(self._sessions) < self.bounds.sessions:
            return
        over = [each for each in self._sessions.values() if each.is_left or each.episode.done]
        if any(self._drop(each) for each in ([replaced] if replaced is not None else over)):
            return
        if len(self._sessions) >= self.bounds.sessions:
            wanted = f"at most {self.bounds.sessions} sessions may be open at a time"
            hint = "hint: `replaces` of `reset` gives one up, and an episode that is over makes way"
            raise refusal("too_many_sessions", f"{wanted}; received one more; {hint}")
        if replaced is not None:
            replaced.is_left = True

    def _give_up_idle(self) -> None:
        now = self.clock()
        for session in list(self._sessions.values()):
            if not session.is_left and now - session.used > self.bounds.idle_seconds:
                session.is_left = True
                self._drop(session)

    def _drop(self, session: Session) -> bool:
        """Drop a session and return True, unless its record is still to be kept."""
        if not self._keep(session):
            return False
        del self._sessions[session.name]
        return True

    def _keep(self, session: Session) -> bool:
        if not session.keep(self.records, self._sights):
            return False
        source = session.source
        if self.records is not None and session.episode.n_made and source.market is not None and source.is_disguised:
            self._disguises[source.key] = source.market
        return True

    def _freeze(self, market: Market, key: bytes) -> None:
        assert self.records is not None, "a disguise is noted when a record is kept"
        try:
            self.records.freeze(market.under(key))
        except (OSError, OpenOutcryError):
            _LOG.exception("a market in disguise could not be written")
        else:
            del self._disguises[key]


def _sight(source: Source, episode: Episode, given: Mapping[str, Any]) -> Sight | None:
    """Return what an episode can show.

    None of a sealed market, of which nobody else can see a bar.
    """
    if source.market is None and "seed" not in given:
        return None
    start, end = episode.rules.window
    first = max(0, start + 1 - episode.rules.settings["lookback"])
    return Sight(source.market or (source.name, tool_arguments.seed(given)), first, end)


def _finite(limits: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity; a limit that is null is none.
    return {name: None if value == float("inf") else value for name, value in limits.items()}


def _message(error: OpenOutcryError) -> str:
    return str(error).removeprefix(f"{error.slug}: ")
