"""An arena: its database, its log and its writer, opened together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Engine

from openoutcry.arena.store.database import Database
from openoutcry.arena.store.state import State
from openoutcry.arena.store.writer import Writer
from openoutcry.arena.times import now
