"""`openoutcry.gym.puffer`, the adapter for PufferLib, under its short name."""

from openoutcry.gym.puffer import OpenOutcryPufferEnv

__all__ = ["OpenOutcryPufferEnv"]
