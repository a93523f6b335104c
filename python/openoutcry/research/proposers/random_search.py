"""Proposer that draws at random, a baseline for language models."""

from __future__ import annotations

from openoutcry.errors import refusal
from openoutcry.research.proposal_requests import ProposalReply, ProposalRequest, TokenMeter
from openoutcry.research.proposers.parameter_ranges import Range, ranges_of
from openoutcry.research.proposers.round_random import Draws

_MOST_DRAWS = 64


class RandomProposer:
    """Propose a random strategy of the catalogue with random params.

    A proposal depends on the session's seed, the round and the history, so a resumed session makes the same proposals.
    Duplicates of earlier proposals are drawn again.
    """

    name = "random"

    def reserve(self, request: ProposalRequest) -> int:
        """Return 0: it calls no model."""
        return 0

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        """Return a proposal that is not in the history; exhausted if the draws find none.

        Raises:
            OpenOutcryError: `argument_invalid`: the catalogue is empty.
        """
        if not request.catalogue:
            raise refusal("argument_invalid", "a catalogue must have a strategy; received none")
        draws = Draws("random", request.seed, request.round)
        before = [card.proposal for card in request.history if card.proposal is not None]
        proposed = [(each.get("strategy"), each.get("params")) for each in before]
        for _ in range(_MOST_DRAWS):
            strategy, params = _drawn(request, draws)
            if (strategy, params) not in proposed:
                rationale = f"A random draw of round {request.round}: a baseline that a reasoned proposal must beat."
                return ProposalReply(
                    proposal={"kind": "tune", "strategy": strategy, "params": params, "rationale": rationale}
                )
        return ProposalReply(is_exhausted=True, detail=f"{_MOST_DRAWS} draws were all proposed before")


def _drawn(request: ProposalRequest, draws: Draws) -> tuple[str, dict[str, object]]:
    strategy = draws.one_of(sorted(request.catalogue))
    ranges = ranges_of(request.catalogue[strategy])
    chosen: list[Range] = draws.some_of(ranges, min(len(ranges), request.max_tunable))
    drawn = {each.name: each.draw(draws) for each in chosen}
    defaults = {each.name: each.default for each in chosen}
    # A param at its default does not count as tuned.
    return strategy, {name: value for name, value in drawn.items() if value != defaults[name]}
