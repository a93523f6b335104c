"""How tools are typed: JSON Schemas of what they take and return.

Those of observation and decision are the contract's, with its definitions written out where they are used, since many
clients do not follow references.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.harness.mcp.market_selection import Market
from openoutcry.harness.mcp.tool_arguments import AGENT, MOST_AGENT, MOST_LOOKBACK, MOST_SEED, NULLABLE
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scenarios.scenario import NAMES

Schema = dict[str, Any]

_COSTS = {
    "fee_bps": "Commission on traded value, bps.",
    "slippage_bps": "Half-spread paid on every fill, bps of price.",
    "slippage_jitter": "Share of the slippage that varies at random, 0 to 1.",
    "impact_bps": "Square-root impact at 100 % participation, bps.",
    "financing_bps": "Rate a year on borrowed cash, bps.",
    "cash_bps": "Rate a year on idle cash, bps; may be negative.",
    "borrow_bps": "Rate a year on the value of shorts, bps.",
    "capital": "Account currency at the start, which makes impact a share of volume.",
}
_LIMITS = {
    "max_weight": "Largest |weight| of one symbol; null cuts nothing.",
    "max_gross": "Largest sum of |weight|; null cuts nothing.",
    "allow_short": "Whether weights below 0 are accepted.",
    "max_participation": "Largest share of a bar's volume, or of NAV without one; null cuts nothing.",
    "maintenance_margin": "NAV over gross below which all is closed.",
}
_SESSION: Schema = {"description": "The session, as `reset` returned it.", "type": "string"}
_DONE: Schema = {"description": "Whether the episode is over: no decision is asked for any more.", "type": "boolean"}
_LEFT: Schema = {
    "description": "Decisions still to be made, unless the account ends before.",
    "type": "integer",
    "minimum": 0,
}
_NUMBERS: Schema = {"type": "object", "additionalProperties": {"type": "number"}}
_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}


def decision() -> Schema:
    """Return the schema of a decision, as the contract has it."""
    return _written_out(native.DECISION_SCHEMA)


def observation() -> Schema:
    """Return the schema of an observation, as the contract has it."""
    return _written_out(native.OBSERVATION_SCHEMA)


def inputs(markets: Sequence[Market]) -> dict[str, Schema]:
    """Return what each tool takes."""
    of_session = _object({"session": _SESSION})
    step = _object({"session": _SESSION, "decision": decision()})
    return {"reset": _reset(markets), "observe": of_session, "step": step, "score": of_session}


def _reset(markets: Sequence[Market]) -> Schema:
    told = "; ".join(f"`{market.name}`: {market.told}" for market in markets)
    forms, example = "ISO dates or indices", "2010-01-01:2010-04-01"
    if any(market.hides_dates for market in markets):
        forms, example = "indices, since dates are made up", "+100:+140"
    window = f"Bars `START:END`, as {forms}, END left out, either side optional: `{example}`."
    seed = "Key of the noise of slippage, 0 by default; with `scenario` which of its markets, secret by default."
    return _object(
        {
            "dataset": {
                "description": f"Market to trade: {told}. The first by default.",
                "type": "string",
                "enum": [market.name for market in markets],
            },
            "scenario": {
                "description": "A synthetic market instead: a tier or family. Without a seed nobody can know it.",
                "type": "string",
                "enum": list(NAMES),
            },
            "window": {"description": f"{window} All by default: one decision a bar.", "type": "string"},
            "seed": {"description": seed, "type": "integer", "minimum": 0, "maximum": MOST_SEED},
            "lookback": {
                "description": f"Closes shown of a symbol at most, {native.DEFAULT_LOOKBACK} by default.",
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_LOOKBACK,
            },
            "costs": _costs("What trading costs; a field that is left out has its default."),
            "limits": _limits("What a decision may ask for; a field that is left out has its default."),
            "agent": {
                "description": f"What the record calls you, `{AGENT}` by default.",
                "type": "string",
                "minLength": 1,
                "maxLength": MOST_AGENT,
            },
            "replaces": {"description": "A session to give up for this one.", "type": "string"},
        },
        required=(),
    )


def outputs() -> dict[str, Schema]:
    """Return what each tool returns."""
    state = {"session": _SESSION, "done": _DONE, "n_left": _LEFT}
    reset: dict[str, Schema] = {
        "session": {**_SESSION, "description": "Name it in every other call. Whoever has it can trade the episode."},
        "market": {"description": "What is traded.", "type": "string"},
        "n_decisions": {"description": "Decisions of the episode, one a bar.", "type": "integer", "minimum": 1},
        "costs": _costs("What trading costs here."),
        "limits": _limits("What a decision may ask for here."),
        "observation": observation(),
    }
    step: dict[str, Schema] = {
        "reward": {"description": "Simple return of NAV from this close to the next.", "type": "number"},
        "terminated": {"description": "Whether the account was ruined or liquidated.", "type": "boolean"},
        "info": _info(),
        "observation": observation(),
    }
    return {
        "reset": _object(reset),
        "observe": _object({**state, "observation": observation()}),
        "step": _object({**state, **step}),
        "score": _object({**state, **_score()}),
    }


def _info() -> Schema:
    event = {"type": "object", "required": ["slug"], "properties": {"slug": {"type": "string"}}}
    return _object(
        {
            "nav": {"description": "NAV at the close; 1 at the start.", "type": "number"},
            "events": {"description": "What happened: fills, refused orders, limits.", "type": "array", "items": event},
            "costs": {**_NUMBERS, "description": "Costs of this step by kind, in units of the starting NAV."},
            "interest": {"type": "number"},
            "dividends": {"type": "number"},
            "settlement": {"type": "number"},
            "turnover": {"description": "Value traded over NAV.", "type": "number"},
        }
    )


def _score() -> dict[str, Schema]:
    count: Schema = {"type": "integer", "minimum": 0}
    metrics: Schema = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}
    measured: dict[str, Schema] = {
        "metrics": {**metrics, "description": "Statistics; null where one is undefined."},
        "undefined": {**_TEXTS, "description": "Why each metric that is null is undefined."},
    }
    name: Schema = {"type": ["string", "null"]}
    fault: Schema = {"description": "Why there is none, though there should be.", **name}
    record: dict[str, Schema] = {"file": name, "digest": name, "market": name, "fault": fault}
    notices: Schema = {"type": "array", "items": {"type": "string"}}
    data: dict[str, Schema] = {"name": {"type": "string"}, "fingerprint": {"type": "string"}, "notices": notices}
    return {
        "n_made": {**count, "description": "Decisions made."},
        **measured,
        "caveats": {**_TEXTS, "description": "Why a metric that has a value says nothing of you."},
        "paid": {**_NUMBERS, "description": "Costs by kind, in units of the starting NAV."},
        "events": {
            "description": "How often each kind of event happened.",
            "type": "object",
            "additionalProperties": count,
        },
        "ending": {"description": "How the account ended before the window did; null if it did not.", **name},
        "benchmarks": {
            "description": "What others made of the same bars under the same costs.",
            "type": "object",
            "additionalProperties": _object(measured),
        },
        "record": {
            "description": "File in the server's folder of records, its digest, and the snapshot to replay it on.",
            **_or_null(_object(record)),
        },
        "data": {"description": "What the market was; null until the episode is over.", **_or_null(_object(data))},
    }


def _object(properties: dict[str, Schema], required: Sequence[str] | None = None) -> Schema:
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _or_null(schema: Schema) -> Schema:
    return schema | {"type": [schema["type"], "null"]}


def _costs(description: str) -> Schema:
    return _fields(description, CostModel().to_dict(), _COSTS)


def _limits(description: str) -> Schema:
    return _fields(description, Limits().to_dict(), _LIMITS)


def _fields(description: str, defaults: dict[str, Any], told: dict[str, str]) -> Schema:
    def of(name: str) -> Schema:
        kind: Any = "boolean" if isinstance(defaults[name], bool) else "number"
        if name in NULLABLE:
            kind = [kind, "null"]
        return {"description": told[name], "type": kind, "default": defaults[name]}

    return _object({name: of(name) for name in defaults}, required=()) | {"description": description}


def _written_out(text: str) -> Schema:
    schema: Schema = json.loads(text)
    definitions = schema.pop("$defs")

    def written(part: Any) -> Any:
        if isinstance(part, list):
            return [written(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return written(definitions[part["$ref"].removeprefix("#/$defs/")])
        return {name: written(value) for name, value in part.items() if name not in ("$schema", "$id")}

    made: Schema = written(schema)
    return made
