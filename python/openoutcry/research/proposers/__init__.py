"""Sources of proposals: a fixed list, random search, Optuna or a language model.

`proposer_factory` creates one by the name of its provider, and `prompts` writes the prompt of a language model. Imports
the core, `llm_clients`, `proposal_requests` and `strict_json`.
"""

from openoutcry.research.proposers.fixed_list import FixedProposer
from openoutcry.research.proposers.llm_proposer import LLMProposer
from openoutcry.research.proposers.optuna_search import OptunaProposer
from openoutcry.research.proposers.prompts import fold_labels, prompt_of
from openoutcry.research.proposers.proposer_factory import build_proposer
from openoutcry.research.proposers.random_search import RandomProposer

__all__ = [
    "FixedProposer",
    "LLMProposer",
    "OptunaProposer",
    "RandomProposer",
    "build_proposer",
    "fold_labels",
    "prompt_of",
]
