"""Database tables of an arena.

The log, the salts and the snapshots determine all others.

Times are integer microseconds since 1970; probabilities and prices are decimal strings.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()

# SQLite assigns row numbers to INTEGER primary keys only.
WIDE = BigInteger().with_variant(Integer(), "sqlite")

meta = Table("meta", METADATA, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

records = Table(
    "records",
    METADATA,
    Column("seq", WIDE, primary_key=True, autoincrement=False),
    Column("type", Text, nullable=False),
    # RFC 8785 bytes; their hash is the leaf of the Merkle tree.
    Column("record", LargeBinary, nullable=False),
)

# Full tiles of levels 0 and 1, each written once. A starting server reads level 1 only.
tiles = Table(
    "tiles",
    METADATA,
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("hashes", LargeBinary, nullable=False),
)

agents = Table(
    "agents",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("display_name", Text),
    Column("contact_email", Text),
    Column("created_at", WIDE, nullable=False),
    Column("key_sha256", LargeBinary, nullable=False, unique=True),
    Column("suspended", Boolean, nullable=False, default=False),
)

registrations = Table(
    "registrations",
    METADATA,
    Column("bucket", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("n", Integer, nullable=False),
)

snapshots = Table(
    "snapshots",
    METADATA,
    Column("as_of", WIDE, primary_key=True, autoincrement=False),
    Column("sha256", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("gzip", LargeBinary, nullable=False),
    Column("br", LargeBinary, nullable=False),
    Column("zstd", LargeBinary, nullable=False),
)

markets = Table(
    "markets",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("market_id", Text, nullable=False, unique=True),
    Column("exchange", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("theaters", Text, nullable=False),
    Column("decision_cutoff", WIDE, nullable=False, index=True),
    Column("settlement_at", WIDE, nullable=False),
    Column("first_as_of", WIDE, nullable=False),
    Column("last_as_of", WIDE, nullable=False),
    # The newest resolution.
    Column("status", Text),
    Column("outcome", Text),
    Column("actual_close_time", WIDE),
    Column("resolved_at", WIDE),
)

quotes = Table(
    "quotes",
    METADATA,
    Column("market", Integer, primary_key=True, autoincrement=False),
    Column("as_of", WIDE, primary_key=True, autoincrement=False),
    Column("mid", Text),
    Column("bid", Text),
    Column("ask", Text),
)

submissions = Table(
    "submissions",
    METADATA,
    Column("seq", WIDE, primary_key=True, autoincrement=False),
    Column("submission_id", Text, nullable=False, unique=True),
    Column("agent", Integer, nullable=False),
    Column("received_at", WIDE, nullable=False),
    Column("as_of", WIDE, nullable=False),
    Column("sha256", Text, nullable=False),
    # JSON of the decisions and the salts of their commitments. Secret until the market's cutoff.
    Column("opened", Text, nullable=False),
    Index("submissions_by_agent", "agent", "seq"),
    Index("submissions_by_snapshot", "agent", "as_of"),
)

# The decision of each agent and market on its newest snapshot.
decisions = Table(
    "decisions",
    METADATA,
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("market", Integer, primary_key=True, autoincrement=False),
    Column("as_of", WIDE, nullable=False),
    Column("seq", WIDE, nullable=False),
    Column("received_at", WIDE, nullable=False),
    Column("yes_probability", Text, nullable=False),
    Column("confidence", Text),
    sqlite_with_rowid=False,
)

replies = Table(
    "replies",
    METADATA,
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),
    Column("body_sha256", LargeBinary, nullable=False),
    Column("status", Integer, nullable=False),
    Column("answer", LargeBinary, nullable=False),
)

days = Table(
    "days",
    METADATA,
    Column("date", Text, primary_key=True),
    Column("seq", WIDE, nullable=False),
)
