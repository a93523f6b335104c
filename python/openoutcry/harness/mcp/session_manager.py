"""`SessionManager`: the sessions of a server and the functions behind its tools."""

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
from openoutcry.harness.mcp.market_exposure import Exposure, ExposureLog
from openoutcry.harness.mcp.market_selection import Market, random_key, synthetic_market
from openoutcry.harness.mcp.mcp_episode import Episode
from openoutcry.harness.mcp.mcp_session import Session, Source
from openoutcry.harness.mcp.record_folder import RecordFolder
from openoutcry.harness.mcp.tool_arguments import RESET, check_arguments
from openoutcry.openoutcry_py import OpenOutcryError

Response = dict[str, Any]

_LOG = logging.getLogger(__name__)

_ID_BYTES = 16
_DECISION = '{"orders": [{"symbol": "AAA", "action": "buy", "target_weight": 0.5}]}'


@dataclass(frozen=True)
class Bounds:
    """Limits of clients.

    Args:
        sessions: Maximum number of open sessions. A finished session is closed when a new one needs its place.
        idle_seconds: Time without a call after which a session is closed.
        answer_bytes: Longest decision.
        run_bytes: Total size of the decisions of a session, which are stored for its score and its record.
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
class SessionManager:
    """Independent sessions of clients; the methods are the tools of the server.

    Each tool takes a mapping of arguments and returns a response. Use it from one thread; `close` ends all sessions.

    Args:
        markets: The named markets; the first is the default.
        bounds: Limits of clients.
        records: Folder of records; None writes no records.
        clock: Monotonic clock in seconds.
    """

    markets: Sequence[Market]
    bounds: Bounds = field(default_factory=Bounds)
    records: RecordFolder | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._named = {market.name: market for market in self.markets}
        self._sessions: dict[str, Session] = {}
        self._exposures = ExposureLog()
        # Masked markets with records, by masking key.
        self._masked_markets: dict[bytes, Market] = {}

    def reset(self, arguments: Mapping[str, Any]) -> Response:
        """Start an episode and return its session and first observation."""
        check_arguments("reset", arguments, (), RESET)
        self._close_idle()
        replaced = self._find(arguments["replaces"]) if arguments.get("replaces") is not None else None
        source, dataset = self._open_market(arguments)
        hides_dates = source.market is not None and source.market.hides_dates
        episode = Episode(dataset, tool_arguments.rules(dataset, arguments, hides_dates), self.bounds.run_bytes)
        self._make_room(replaced)
        exposure = _exposure(source, episode, arguments)
        if exposure is not None:
            self._exposures.add(exposure)
        session = Session(secrets.token_hex(_ID_BYTES), episode, source, exposure, self.clock())
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

    def observe(self, arguments: Mapping[str, Any]) -> Response:
        """Return the current observation of a session."""
        check_arguments("observe", arguments, ("session",))
        session = self._session_of(arguments)
        return {**session.state, "observation": session.episode.observe()}

    def step(self, arguments: Mapping[str, Any]) -> Response:
        """Execute a decision and return its result.

        Raises:
            OpenOutcryError: the decision is invalid or the episode is over; the state is unchanged.
        """
        check_arguments("step", arguments, ("session", "decision"))
        session = self._session_of(arguments)
        try:
            decision = tool_arguments.decision(arguments["decision"], self.bounds.answer_bytes)
            result = session.step(decision, self.records, self._exposures)
        except OpenOutcryError as error:
            if error.slug == "episode_over":
                raise
            message = f"{_message(error)}; the state is unchanged; hint: a valid decision is {_DECISION}"
            raise refusal(error.slug, message) from error
        if session.episode.done:
            self._save(session)
        return {**session.state, **result, "observation": session.episode.observe()}

    def score(self, arguments: Mapping[str, Any]) -> Response:
        """Return the score of a session so far, which does not depend on later bars."""
        return self.scoring(arguments)()

    def scoring(self, arguments: Mapping[str, Any]) -> Callable[[], Response]:
        """Return a function that computes the present score in any thread."""
        check_arguments("score", arguments, ("session",))
        session = self._session_of(arguments)
        episode = session.episode
        if not episode.n_made:
            raise refusal("argument_invalid", "a score needs at least one decision; received none so far")
        answer = {**session.state, "n_made": episode.n_made, "record": None, "data": None}
        if episode.done:
            # Properties and digests of the complete data depend on later bars.
            dataset = episode.dataset
            answer["data"] = {
                "name": dataset.name,
                "fingerprint": dataset.fingerprint,
                "notices": list(dataset.notices),
            }
            self._save(session)
            answer["record"] = None if self.records is None else session.record(self.records)
        backtest = episode.backtest
        return lambda: {**answer, **backtest.score()}

    def close(self) -> None:
        """Close all sessions, and write masked markets next to their records.

        Records of sessions that were not over are unfinished.

        Raises:
            RuntimeError: a record or a market could not be written.
        """
        for session in list(self._sessions.values()):
            session.is_closed = True
            self._drop(session)
        for key, market in list(self._masked_markets.items()):
            self._freeze(market, key)
        if self._sessions or self._masked_markets:
            raise RuntimeError("not every record could be written")

    def _open_market(self, arguments: Mapping[str, Any]) -> tuple[Source, Dataset]:
        name, is_synthetic = tool_arguments.choice(arguments, tuple(self._named))
        if is_synthetic:
            return Source(name), synthetic_market(name, tool_arguments.seed(arguments) if "seed" in arguments else None)
        source = Source(name, self._named[name], random_key())
        return source, self._named[name].masked_with(source.key)

    def _session_of(self, arguments: Mapping[str, Any]) -> Session:
        self._close_idle()
        session = self._find(arguments["session"])
        session.used = self.clock()
        return session

    def _find(self, name: Any) -> Session:
        session = self._sessions.get(name) if isinstance(name, str) else None
        if session is None or session.is_closed:
            wanted = "`session` must be one that `reset` returned and that is still open"
            hint = f"hint: call `reset`; a session is closed after {self.bounds.idle_seconds:g} seconds without a call"
            raise refusal("unknown_session", f"{wanted}; received {name!r}; {hint}")
        return session

    def _make_room(self, replaced: Session | None) -> None:
        if replaced is None and len(self._sessions) < self.bounds.sessions:
            return
        over = [each for each in self._sessions.values() if each.is_closed or each.episode.done]
        if any(self._drop(each) for each in ([replaced] if replaced is not None else over)):
            return
        if len(self._sessions) >= self.bounds.sessions:
            wanted = f"at most {self.bounds.sessions} sessions may be open at a time"
            hint = "hint: finish an episode, or close a session with the argument `replaces` of `reset`"
            raise refusal("too_many_sessions", f"{wanted}; received one more; {hint}")
        if replaced is not None:
            replaced.is_closed = True

    def _close_idle(self) -> None:
        now = self.clock()
        for session in list(self._sessions.values()):
            if not session.is_closed and now - session.used > self.bounds.idle_seconds:
                session.is_closed = True
                self._drop(session)

    def _drop(self, session: Session) -> bool:
        """Remove a session and return True, unless its record could not be written."""
        if not self._save(session):
            return False
        del self._sessions[session.name]
        return True

    def _save(self, session: Session) -> bool:
        if not session.save(self.records, self._exposures):
            return False
        source = session.source
        if self.records is not None and session.episode.n_made and source.market is not None and source.is_masked:
            self._masked_markets[source.key] = source.market
        return True

    def _freeze(self, market: Market, key: bytes) -> None:
        assert self.records is not None, "a masked market is added when a record is written"
        try:
            self.records.freeze(market.masked_with(key))
        except (OSError, OpenOutcryError):
            _LOG.exception("a masked market could not be written")
        else:
            del self._masked_markets[key]


def _exposure(source: Source, episode: Episode, arguments: Mapping[str, Any]) -> Exposure | None:
    """Return the bars that an episode shows; None for a secret synthetic market."""
    if source.market is None and "seed" not in arguments:
        return None
    start, end = episode.rules.window
    first = max(0, start + 1 - episode.rules.settings["lookback"])
    return Exposure(source.market or (source.name, tool_arguments.seed(arguments)), first, end)


def _finite(limits: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity: null stands for no limit.
    return {name: None if value == float("inf") else value for name, value in limits.items()}


def _message(error: OpenOutcryError) -> str:
    return str(error).removeprefix(f"{error.slug}: ")
