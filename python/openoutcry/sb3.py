"""`openoutcry.gym.sb3`, the adapter for Stable-Baselines3, under its short name."""

from openoutcry.gym.sb3 import OpenOutcryVecEnv

__all__ = ["OpenOutcryVecEnv"]
