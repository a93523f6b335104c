"""What a proposal must be, in words and as a schema."""

from __future__ import annotations

from typing import Any

from openoutcry.research.proposal_requests import Ask

_TUNE = '{"kind": "tune", "strategy": "<name>", "params": {"<param>": <value>}, "rationale": "<why>"}'
_CODE = '{"kind": "code", "source": "<Python>", "params": {}, "rationale": "<why>"}'


def rules_of(ask: Ask) -> str:
    """Return the rules of a proposal."""
    rules = [
        "`strategy` is one of those above, and `params` are params of it, of their type and within their range, on "
        "their step where there is one.",
        f"At most {ask.max_tunable} params may differ from their defaults; leave out those that do not.",
        "`rationale` says in at least 20 characters why this should earn money after costs, and for whom it is a loss.",
        "What was tried in this session is not tried again.",
    ]
    if ask.allow_code:
        rules.append(
            "Or `source` is one Python module with one class of `Strategy`: with a docstring, `PARAM_RANGES`, and no "
            "imports but `math`, `numpy` and `openoutcry.backtest.strategies`. It is run bar by bar and never sees a "
            "later one."
        )
    return "## Rules\n\n" + "\n".join(f"- {rule}" for rule in rules)


def request_of(ask: Ask) -> str:
    """Return the request itself, which what earlier sessions learned stands before."""
    shapes = f"{_TUNE}\n{_CODE}" if ask.allow_code else _TUNE
    what = "a trading strategy for this market that serves the goal"
    return f"Design {what}. Answer with one JSON object of this form:\n\n```json\n{shapes}\n```"


def schema_of(ask: Ask) -> dict[str, Any]:
    """Return the JSON schema of a proposal.

    Ranges are not in it: what breaks one is rejected with its reason, which a model can learn from.
    """
    texts = {"type": "string"}
    strategy = {**texts, "enum": sorted(ask.catalogue), "description": "Name of a strategy that there is."}
    params = {"type": "object", "description": "Params that differ from their defaults."}
    rationale = {**texts, "description": "Why it should work, in at least 20 characters."}
    if not ask.allow_code:
        properties = {"kind": {**texts, "enum": ["tune"]}, "strategy": strategy, "params": params}
        required = ["kind", "strategy", "params", "rationale"]
    else:
        source = {**texts, "description": "Python source of one strategy, where `kind` is `code`."}
        properties = {"kind": {**texts, "enum": ["tune", "code"]}, "strategy": strategy, "params": params}
        properties["source"] = source
        required = ["kind", "rationale"]
    return {
        "type": "object",
        "properties": {**properties, "rationale": rationale},
        "required": required,
        "additionalProperties": False,
    }
