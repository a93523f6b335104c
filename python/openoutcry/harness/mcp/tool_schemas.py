"""JSON Schemas of the inputs and outputs of the tools.

The schemas of observation and decision are those of the contract, with references replaced by their definitions, since
many clients do not resolve references.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.agents.day_orders import DAY_ORDER_FIELDS, day_order_field
from openoutcry.data.bar_ranges import has_bar_ranges
from openoutcry.harness.mcp.market_selection import Market
from openoutcry.harness.mcp.tool_arguments import AGENT, MOST_AGENT, MOST_LOOKBACK, MOST_SEED, NULLABLE
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scenarios.scenario import NAMES

Schema = dict[str, Any]

_COSTS = {
    "fee_bps": "Commission on traded notional, bps.",
    "slippage_bps": "Half-spread paid on every fill, bps of the price.",
    "slippage_jitter": "Random share of the slippage, 0 to 1.",
    "impact_bps": "Square-root impact at 100 % participation, bps.",
    "financing_bps": "Annual rate on borrowed cash, bps.",
    "cash_bps": "Annual rate on idle cash, bps; may be negative.",
    "borrow_bps": "Annual rate on the value of short positions, bps.",
    "capital": "Initial capital in account currency, which relates impact to volume.",
}
_LIMITS = {
    "max_weight": "Largest |weight| of one symbol; null for no limit.",
    "max_gross": "Largest sum of |weight|; null for no limit.",
    "allow_short": "Whether weights below 0 are accepted.",
    "max_participation": "Largest share of a bar's volume, or of NAV if the market has no volume; null for no limit.",
    "maintenance_margin": "Ratio of NAV to gross exposure below which all positions are closed.",
}
_SESSION: Schema = {"description": "The session, as `reset` returned it.", "type": "string"}
_DONE: Schema = {"description": "Whether the episode is over.", "type": "boolean"}
_LEFT: Schema = {
    "description": "Remaining decisions, unless the account is liquidated before.",
    "type": "integer",
    "minimum": 0,
}
_NUMBERS: Schema = {"type": "object", "additionalProperties": {"type": "number"}}
_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}


def decision(*, day_orders: bool = True) -> Schema:
    """Return the contract's schema of a decision.

    Args:
        day_orders: Whether orders have the fields of contract 1.1. Without them it is the schema of contract 1.0.
    """
    schema = _inline_references(native.DECISION_SCHEMA)
    if not day_orders:
        order = schema["properties"]["orders"]["items"]
        for name in DAY_ORDER_FIELDS:
            del order["properties"][name]
        del order["dependentSchemas"]
        schema["examples"] = [each for each in schema["examples"] if day_order_field(each) is None]
    return schema


def offers_day_orders(markets: Sequence[Market]) -> bool:
    """Return whether all named markets have the opens, highs and lows of day orders.

    The list of tools is the same for every session, so one market without them is enough not to offer the fields.
    """
    return all(has_bar_ranges(market.dataset) for market in markets)


def observation() -> Schema:
    """Return the contract's schema of an observation."""
    return _inline_references(native.OBSERVATION_SCHEMA)


def inputs(markets: Sequence[Market]) -> dict[str, Schema]:
    """Return the input schema of each tool."""
    of_session = _object({"session": _SESSION})
    step = _object({"session": _SESSION, "decision": decision(day_orders=offers_day_orders(markets))})
    return {"reset": _reset(markets), "observe": of_session, "step": step, "score": of_session}


def _reset(markets: Sequence[Market]) -> Schema:
    markets_text = "; ".join(f"`{market.name}`: {market.description}" for market in markets)
    forms, example = "ISO dates or indices", "2010-01-01:2010-04-01"
    if any(market.hides_dates for market in markets):
        forms, example = "indices, since dates are masked", "+100:+140"
    window = f"Bars `START:END` as {forms}, END exclusive, either side optional: `{example}`."
    seed = "Seed of random slippage, 0 by default; with `scenario` also the seed of the market, secret by default."
    return _object(
        {
            "dataset": {
                "description": f"Market to trade: {markets_text}. The first by default.",
                "type": "string",
                "enum": [market.name for market in markets],
            },
            "scenario": {
                "description": "A synthetic market instead: a scenario tier or family. Without a seed it is secret.",
                "type": "string",
                "enum": list(NAMES),
            },
            "window": {"description": f"{window} All bars by default; one decision per bar.", "type": "string"},
            "seed": {"description": seed, "type": "integer", "minimum": 0, "maximum": MOST_SEED},
            "lookback": {
                "description": f"Number of past closes shown per symbol, {native.DEFAULT_LOOKBACK} by default.",
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_LOOKBACK,
            },
            "costs": _costs("Trading costs; omitted fields have their default."),
            "limits": _limits("Limits of decisions; omitted fields have their default."),
            "agent": {
                "description": f"Your name in the record, `{AGENT}` by default.",
                "type": "string",
                "minLength": 1,
                "maxLength": MOST_AGENT,
            },
            "replaces": {"description": "A session to close for this one.", "type": "string"},
        },
        required=(),
    )


def outputs() -> dict[str, Schema]:
    """Return the output schema of each tool."""
    state = {"session": _SESSION, "done": _DONE, "n_left": _LEFT}
    reset: dict[str, Schema] = {
        "session": {
            **_SESSION,
            "description": "The session id, an argument of every other call. It is the only credential of the episode.",
        },
        "market": {"description": "Name of the market.", "type": "string"},
        "n_decisions": {"description": "Decisions of the episode, one per bar.", "type": "integer", "minimum": 1},
        "costs": _costs("Trading costs of the episode."),
        "limits": _limits("Limits of the episode."),
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
            "events": {"description": "Events: fills, refused orders, limits.", "type": "array", "items": event},
            "costs": {**_NUMBERS, "description": "Costs of this step by kind, in units of the starting NAV."},
            "interest": {"type": "number"},
            "dividends": {"type": "number"},
            "settlement": {"type": "number"},
            "turnover": {"description": "Traded notional over NAV.", "type": "number"},
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
    fault: Schema = {"description": "Why no record could be written.", **name}
    record: dict[str, Schema] = {"file": name, "digest": name, "market": name, "fault": fault}
    notices: Schema = {"type": "array", "items": {"type": "string"}}
    data: dict[str, Schema] = {"name": {"type": "string"}, "fingerprint": {"type": "string"}, "notices": notices}
    return {
        "n_made": {**count, "description": "Number of decisions."},
        **measured,
        "caveats": {**_TEXTS, "description": "Why a metric with a value is not meaningful."},
        "paid": {**_NUMBERS, "description": "Costs by kind, in units of the starting NAV."},
        "events": {
            "description": "Number of events of each kind.",
            "type": "object",
            "additionalProperties": count,
        },
        "ending": {"description": "How the account ended before the window; null if it did not.", **name},
        "benchmarks": {
            "description": "Results of benchmarks over the same bars under the same costs.",
            "type": "object",
            "additionalProperties": _object(measured),
        },
        "record": {
            "description": "File in the server's folder of records, its digest, and the market snapshot for a replay.",
            **_or_null(_object(record)),
        },
        "data": {"description": "Identity of the market; null until the episode is over.", **_or_null(_object(data))},
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


def _fields(description: str, defaults: dict[str, Any], descriptions: dict[str, str]) -> Schema:
    def of(name: str) -> Schema:
        kind: Any = "boolean" if isinstance(defaults[name], bool) else "number"
        if name in NULLABLE:
            kind = [kind, "null"]
        return {"description": descriptions[name], "type": kind, "default": defaults[name]}

    return _object({name: of(name) for name in defaults}, required=()) | {"description": description}


def _inline_references(text: str) -> Schema:
    schema: Schema = json.loads(text)
    definitions = schema.pop("$defs")

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return inline(definitions[part["$ref"].removeprefix("#/$defs/")])
        return {name: inline(value) for name, value in part.items() if name not in ("$schema", "$id")}

    made: Schema = inline(schema)
    return made
