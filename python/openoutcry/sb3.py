"""The adapter and the callback for Stable-Baselines3, under their short names."""

from openoutcry.gym.sb3 import OpenOutcryVecEnv
from openoutcry.gym.sb3_callback import EvaluationCallback

__all__ = ["EvaluationCallback", "OpenOutcryVecEnv"]
