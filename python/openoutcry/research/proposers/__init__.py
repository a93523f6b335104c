"""What proposes: a list, chance, a search, or a language model."""

from openoutcry.research.proposers.building import build_proposer
from openoutcry.research.proposers.fixed import FixedProposer
from openoutcry.research.proposers.llm import LLMProposer
from openoutcry.research.proposers.prompt import fold_labels, prompt_of
from openoutcry.research.proposers.random import RandomProposer
from openoutcry.research.proposers.search import OptunaProposer

__all__ = [
    "FixedProposer",
    "LLMProposer",
    "OptunaProposer",
    "RandomProposer",
    "build_proposer",
    "fold_labels",
    "prompt_of",
]
