"""The option `dataset` of a reset: other markets with the same observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openoutcry.errors import refusal
from openoutcry.gym.episode_markets import EpisodeMarkets, episode_markets
from openoutcry.gym.market_arguments import N_DAYS, N_SYMBOLS
from openoutcry.gym.observed_columns import LISTED, ObservedColumns, observed_columns


def replaced_markets(
    markets: EpisodeMarkets,
    options: Mapping[str, Any],
    seed: int,
    columns: ObservedColumns,
    arguments: Mapping[str, Any],
    num_envs: int | None,
) -> EpisodeMarkets:
    """Return the markets after a reset, with the observation of `markets`.

    Args:
        markets: The markets so far, which are returned without an option `dataset`.
        options: Checked options of the reset.
        seed: Seed of scenarios.
        columns: The observed columns.
        arguments: Arguments of the constructor.
        num_envs: Number of lanes; None for a single environment.

    Raises:
        OpenOutcryError: `argument_invalid`: the markets would change the observation, or have other columns.
    """
    if "dataset" not in options:
        return markets
    dataset = options["dataset"]
    kind, lookback = arguments.get("observation", "dict"), arguments.get("lookback")
    if dataset is None:
        raise refusal("argument_invalid", "the option `dataset` must be a market, or a list of them; received None")
    draw = markets.function or (markets.kind if markets.changes else None)
    new = episode_markets(
        (N_SYMBOLS, N_DAYS), seed, dataset, markets.split, draw, num_envs, least_symbols=markets.n_symbols
    )
    if new.n_symbols != markets.n_symbols:
        message = f"the option `dataset` needs markets with at most as many symbols as before, {markets.n_symbols}"
        raise refusal("argument_invalid", f"{message}; received {new.n_symbols}")
    if kind == "cursor" and new.n_bars > markets.n_bars:
        message = f"with cursor observations, the option `dataset` needs a market of at most {markets.n_bars} bars"
        raise refusal("argument_invalid", f"{message}, as so far; received {new.n_bars}")
    needs_mask = new.is_padded or (new.has_listing_changes and kind == "dict")
    if needs_mask and not columns.mask and arguments.get("mask") is None:
        message = "the option `dataset` needs markets without listings, delistings and padding"
        hint = "hint: create the environment with mask=True, which shows the listed symbols"
        raise refusal("argument_invalid", f"{message}, as the observation has no mask; received one; {hint}")
    names = [name for name in (*columns.symbol_names, *columns.market_names) if name != LISTED]
    found = observed_columns(new, names, columns.scale, (kind, lookback, columns.history or None, columns.mask))
    if found != columns:
        raise refusal("argument_invalid", "the option `dataset` needs markets with the same features; received others")
    return new


__all__ = ["replaced_markets"]
