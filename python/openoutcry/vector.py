"""`openoutcry.gym.vector` under the name that saved environment specs hold."""

from openoutcry.gym.vector import Observation, OpenOutcryVectorEnv

__all__ = ["Observation", "OpenOutcryVectorEnv"]
