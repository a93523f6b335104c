"""Entries and rows of prior results, with untrusted texts quoted and bounded.

The numbers of a strategy are before its texts, in fixed columns. Texts of others are in double quotes, without the
signs that separate columns, and each strategy has a share of tokens, so that none displaces another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from openoutcry.ledger.prompt_tokens import shortened, tokens
from openoutcry.ledger.queries import StrategySummary
from openoutcry.ledger.strategy_text import call_text, comments_of, definition_of, on_one_line, rules_text
from openoutcry.untrusted.counted_nouns import counted

# Tokens of the texts of one strategy. With all of them used up, the prompt is below its 2,000 tokens.
_NAME, _ROW_NAME, _MARKETS, _DESCRIPTION, _DEFINITION = 24, 18, 12, 32, 88
# Tokens of the beginning of an ID, for names that are equal where they are cut.
_ID = 8
_RANKED_REASONS, _FAILED_REASONS, _MOST_REASONS, _LEAST_REASON = 104, 48, 4, 10
_INTERVAL = re.compile(r"[0-9]{1,6}[a-zA-Z]{1,3}")
_SIGNS = {"|": "/", '"': "'", "`": "'", "\\": "/", "…": "..."}
# Symbols, such as emoji and drawn lines, have several tokens each and may look like the border of a table.
_HIDDEN_KINDS = {"So", "Sk", "Sm", "Me"}
_KEPT = set("+<=>~±÷≤≥≠°")
HEAD = "rank | trials | mean Sharpe |   DSR | strategy"


def quoted(text: str, most: int) -> str:
    """Return an untrusted text on one line, in double quotes.

    It has at most `most` tokens without the quotes.
    """
    plain = unicodedata.normalize("NFKC", on_one_line(text[: 3 * most + 1]))
    return f'"{shortened(" ".join("".join(map(_sign, plain)).split()), most)}"'


def _sign(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    kind = unicodedata.category(char)
    if kind in {"Pi", "Pf"}:
        return "'"
    return "?" if kind in _HIDDEN_KINDS and char not in _KEPT else char


class Names:
    """Names of strategies that differ although they are cut.

    Params that differ between strategies of one name are named first.

    Args:
        strategies: All strategies of a text.
    """

    def __init__(self, strategies: Iterable[StrategySummary]) -> None:
        self._all = {each.strategy_id: each for each in strategies}
        values: dict[tuple[str, str], set[str]] = {}
        counts: Counter[str] = Counter()
        for each in self._all.values():
            name, params = _parts(each)
            counts[name] += 1
            for key, value in params.items():
                values.setdefault((name, key), set()).add(str(value))
        n_with = Counter((name, key) for name, params in map(_parts, self._all.values()) for key in params)
        self._differing = {at for at, found in values.items() if len(found) > 1 or n_with[at] < counts[at[0]]}
        self._cut: dict[int, Counter[str]] = {}

    def of(self, each: StrategySummary, most: int) -> str:
        """Return a strategy's name and params, else its definition; never only its ID."""
        if most not in self._cut:
            self._cut[most] = Counter(self._text(other, most) for other in self._all.values())
        text = self._text(each, most)
        if self._cut[most][text] < 2:
            return text
        return f'{self._text(each, most - _ID)[:-1]} #{each.strategy_id[:6]}"'

    def _text(self, each: StrategySummary, most: int) -> str:
        name, params = _parts(each)
        first = {key for key in params if (name, key) in self._differing}
        return quoted(call_text(each.strategy, first) or each.strategy, most)


def _parts(each: StrategySummary) -> tuple[str, Mapping[str, object]]:
    definition = definition_of(each.strategy)
    params = definition.get("params")
    name = definition.get("name", definition.get("strategy"))
    return str(name), params if isinstance(params, Mapping) else {}


def entry_text(rank: int, each: StrategySummary, names: Names, *, has_texts: bool) -> str:
    """Format one of the best strategies; `has_texts` adds its markets and description."""
    parts = [f"{rank}. mean Sharpe {number(each.mean)} over {counted(each.n, 'trial')}"]
    dsr = f"DSR {number(each.dsr)} at {counted(each.n_trials, 'trial')}"
    parts.append("DSR unknown" if each.dsr is None else dsr)
    interval = each.interval if each.interval and _INTERVAL.fullmatch(each.interval) else "unknown"
    parts.append(f"interval {interval}, {rules_text(each.strategy)}")
    drawdown, win_rate = each.averages.get("max_drawdown"), each.averages.get("win_rate")
    parts.append(f"max drawdown {_percent(drawdown)}, win rate {_percent(win_rate)}")
    parts.append(f"profit factor {number(each.averages.get('profit_factor'))}")
    name = names.of(each, _NAME)
    if not has_texts:
        return "; ".join([*parts, name])
    parts.append(f"{name} on {quoted(', '.join(each.markets), _MARKETS)}" if each.markets else name)
    description = each.description or comments_of(each.strategy)
    return "; ".join([*parts, quoted(description, _DESCRIPTION)] if description else parts)


def failure_text(label: str, each: StrategySummary, names: Names, *, has_texts: bool) -> str:
    """Format a strategy with the reasons why it failed, else with its numbers."""
    if each.mean is not None:
        outcome = f"mean Sharpe {number(each.mean)} over {counted(each.n, 'trial')}"
    else:
        counts = ((each.n_failed, "failed"), (each.n_undefined, "undefined"))
        outcome = ", ".join(f"{counted(n, 'trial')} {what}" for n, what in counts if n)
    text = f"{label} {outcome}; {names.of(each, _NAME)}"
    if not has_texts:
        return text
    shown = list(_reasons(each.reasons, _FAILED_REASONS if each.mean is None else _RANKED_REASONS))
    reasons = list(shown)
    if (more := len(each.reasons) - len(shown)) > 0:
        reasons.append(f"and {counted(more, 'more reason')}")
    return "; ".join([text, *(reasons or _weaknesses(each))])


def _reasons(stated: Sequence[str], most: int) -> Iterator[str]:
    """Yield the first reasons in full, as far as the share of the strategy has room."""
    for reason in stated[:_MOST_REASONS]:
        if most < _LEAST_REASON:
            return
        text = quoted(reason, most)
        most -= tokens(text)
        yield text


def row_text(rank: int, each: StrategySummary, names: Names) -> str:
    """Format a row of the table with the columns `HEAD`."""
    return f"{rank:4} | {each.n:6} | {number(each.mean):>11} | {number(each.dsr):>5} | {names.of(each, _ROW_NAME)}"


def definition_text(each: StrategySummary) -> str | None:
    """Return the definition of a strategy as JSON; None if it exceeds its share."""
    if len(each.strategy) > 3 * _DEFINITION:
        return None
    text = on_one_line(each.strategy).replace("`", "\\u0060")
    return text if tokens(text) <= _DEFINITION else None


def _weaknesses(each: StrategySummary) -> Iterator[str]:
    factor, drawdown = each.averages.get("profit_factor"), each.averages.get("max_drawdown")
    if each.mean is not None and each.mean <= 0.0:
        yield "it lost against the risk-free rate"
    if factor is not None and factor < 1.0:
        yield f"profit factor {factor:.2f}: its trades lost more than they won"
    if drawdown is not None:
        yield f"max drawdown {_percent(drawdown)}"


def number(value: float | None) -> str:
    """Format a number; a dash if it is undefined."""
    # Without a sign of zero. A mean beyond 999 is no Sharpe ratio, and its digits have no bound.
    if value is None:
        return "-"
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 1_000 else f"{value:.1e}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %" if abs(value) < 100 else f"{100 * value:.1e} %"
