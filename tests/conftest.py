"""Fix how random tests draw, so that a run of the suite is the same everywhere."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Derandomized: the same examples on every machine. A drawn market costs milliseconds, far above hypothesis' own limits.
settings.register_profile(
    "openoutcry",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("openoutcry")
