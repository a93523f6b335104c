"""Rules and JSON schema of a proposal, as shown to a model."""

from __future__ import annotations

from typing import Any

from openoutcry.research.proposal_requests import ProposalRequest

_TUNE = '{"kind": "tune", "strategy": "<name>", "params": {"<param>": <value>}, "rationale": "<why>"}'
_CODE = '{"kind": "code", "source": "<Python>", "params": {}, "rationale": "<why>"}'


def rules_of(request: ProposalRequest) -> str:
    """Return the rules section of a prompt."""
    rules = [
        "`strategy` is one of the available strategies. `params` are params of this strategy, with the type, range and "
        "step of the list above.",
        f"At most {request.max_tunable} params may differ from their defaults; omit params that keep their default.",
        "`rationale` explains in at least 20 characters why the strategy should earn a profit after costs, and which "
        "traders lose it.",
        "Do not repeat a proposal of this session.",
    ]
    if request.allow_code:
        rules.append(
            "Alternatively, `source` is one Python module with one subclass of `Strategy`: with a docstring and "
            "`PARAM_RANGES`, and with imports from `math`, `numpy` and `openoutcry.backtest.strategies` only. It runs "
            "bar by bar and never sees a later bar. Its literals may hold little data, and its decisions must not "
            "depend on price levels: use ratios and returns."
        )
    return "## Rules\n\n" + "\n".join(f"- {rule}" for rule in rules)


def request_of(request: ProposalRequest) -> str:
    """Return the final section of a prompt, after the results of earlier sessions."""
    shapes = f"{_TUNE}\n{_CODE}" if request.allow_code else _TUNE
    what = "a trading strategy for this market that serves the goal"
    return f"Design {what}. Answer with one JSON object in this format:\n\n```json\n{shapes}\n```"


def schema_of(request: ProposalRequest) -> dict[str, Any]:
    """Return the JSON schema of a proposal.

    It does not contain the ranges: a violation is rejected with its reason, which the model sees in later rounds.
    """
    texts = {"type": "string"}
    strategy = {**texts, "enum": sorted(request.catalogue), "description": "Name of an available strategy."}
    params = {"type": "object", "description": "Params that differ from their defaults."}
    rationale = {**texts, "description": "Why it should work, in at least 20 characters."}
    if not request.allow_code:
        properties = {"kind": {**texts, "enum": ["tune"]}, "strategy": strategy, "params": params}
        required = ["kind", "strategy", "params", "rationale"]
    else:
        source = {**texts, "description": "Python source of one strategy, if `kind` is `code`."}
        properties = {"kind": {**texts, "enum": ["tune", "code"]}, "strategy": strategy, "params": params}
        properties["source"] = source
        required = ["kind", "rationale"]
    return {
        "type": "object",
        "properties": {**properties, "rationale": rationale},
        "required": required,
        "additionalProperties": False,
    }
