"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    _create_agents()
    _create_log()
    _create_submissions()
    _create_markets()


def _create_agents() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column("contact_email", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key_sha256"),
        sa.UniqueConstraint("slug"),
    )
    op.create_table(
        "registrations",
        sa.Column("bucket", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("bucket", "day"),
    )


def _create_log() -> None:
    op.create_table(
        "days",
        sa.Column("date", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("date"),
    )
    op.create_table(
        "tiles",
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hashes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("level", "place"),
    )
    op.create_table(
        "meta",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "records",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )


def _create_submissions() -> None:
    op.create_table(
        "decisions",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("market", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("received_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("yes_probability", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("agent", "market"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "replies",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "key"),
    )
    op.create_table(
        "submissions",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("submission_id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("opened", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("submission_id"),
    )
    op.create_index("submissions_by_agent", "submissions", ["agent", "seq"], unique=False)
    op.create_index("submissions_by_snapshot", "submissions", ["agent", "as_of"], unique=False)


def _create_markets() -> None:
    op.create_table(
        "markets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("market_id", sa.Text(), nullable=False),
        sa.Column("exchange", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("theaters", sa.Text(), nullable=False),
        sa.Column("decision_cutoff", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("settlement_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("first_as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("last_as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("actual_close_time", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("resolved_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("market_id"),
    )
    op.create_index(op.f("ix_markets_decision_cutoff"), "markets", ["decision_cutoff"], unique=False)
    op.create_table(
        "quotes",
        sa.Column("market", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("mid", sa.Text(), nullable=True),
        sa.Column("bid", sa.Text(), nullable=True),
        sa.Column("ask", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("market", "as_of"),
    )
    op.create_table(
        "snapshots",
        sa.Column("as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("gzip", sa.LargeBinary(), nullable=False),
        sa.Column("br", sa.LargeBinary(), nullable=False),
        sa.Column("zstd", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("as_of"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_index("submissions_by_snapshot", table_name="submissions")
    op.drop_index("submissions_by_agent", table_name="submissions")
    op.drop_table("submissions")
    op.drop_table("snapshots")
    op.drop_table("replies")
    op.drop_table("registrations")
    op.drop_table("records")
    op.drop_table("quotes")
    op.drop_table("meta")
    op.drop_index(op.f("ix_markets_decision_cutoff"), table_name="markets")
    op.drop_table("markets")
    op.drop_table("tiles")
    op.drop_table("decisions")
    op.drop_table("days")
    op.drop_table("agents")
