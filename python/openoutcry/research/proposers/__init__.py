"""What proposes: a list, chance, a search, or a language model."""

from openoutcry.research.proposers.fixed import FixedProposer
from openoutcry.research.proposers.random import RandomProposer

__all__ = ["FixedProposer", "RandomProposer"]
