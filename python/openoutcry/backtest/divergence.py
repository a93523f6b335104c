"""Setting differences and first divergences of two records."""

from __future__ import annotations

from dataclasses import dataclass

from openoutcry.records.run_record import RunRecord


@dataclass(frozen=True)
class SettingDifference:
    """A setting in which two runs differ.

    Args:
        field: Path of the setting, such as `costs.fee_bps`.
        left: Its value in the first record; `absent` if the record does not have the setting.
        right: Its value in the second record.
    """

    field: str
    left: str
    right: str


@dataclass(frozen=True)
class Divergence:
    """The first step at which two runs differ.

    Args:
        place: `step K` or `end`.
        step: Index of the decision; None if the place is not a step.
        bar: Index of the bar in the dataset.
        field: Name of the field that differs.
        left: Its value in the first record.
        right: Its value in the second record.
        ulps: Distance of two numbers in units in the last place; None for other values.
    """

    place: str
    step: int | None
    bar: int
    field: str
    left: str
    right: str
    ulps: int | None


@dataclass(frozen=True)
class Comparison:
    """The differences between two records.

    Args:
        same: Whether the records are equal, byte for byte.
        record: Differing fields of the records themselves, such as `agent_id`.
        runs: Per pair of runs, the setting differences and the first divergence, or None.
    """

    same: bool
    record: tuple[SettingDifference, ...]
    runs: tuple[tuple[tuple[SettingDifference, ...], Divergence | None], ...]


def compare(left: RunRecord, right: RunRecord) -> Comparison:
    """Return the setting differences and the first divergence of two records."""
    fields = (
        ("agent_id", left.agent_id, right.agent_id),
        ("in_sample_trials", str(left.in_sample_trials), str(right.in_sample_trials)),
        ("runs", str(len(left)), str(len(right))),
        ("public_key", left.public_key or "absent", right.public_key or "absent"),
    )
    record = tuple(SettingDifference(*field) for field in fields if field[1] != field[2])
    runs = []
    for run in range(min(len(left), len(right))):
        settings, divergence = left._core.compare(run, right._core)
        differences = tuple(SettingDifference(*setting) for setting in settings)
        runs.append((differences, None if divergence is None else Divergence(**divergence)))
    return Comparison(left == right, record, tuple(runs))
