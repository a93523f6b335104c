"""A language-model agent for OpenAI-compatible or Ollama endpoints, with only the standard library.

    python reference-agent-llm.py --url http://127.0.0.1:11434/v1/chat/completions --model qwen3      # or .../api/chat

The API key, if needed, is read from the environment variable named by `--key-variable`. If the model does not reply in
time, or the reply is invalid, the decision is a hold, with the reason in `reasoning` and on standard error.
Replace `SYSTEM` and `prompt`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

SYSTEM = """You manage a trading account. You decide at the close of a bar and are filled at the open of the next one.
Reply with one JSON object and nothing else:
{"orders": [{"symbol": "NAME", "action": "buy", "target_weight": 0.25}], "reasoning": "one sentence"}
`action` is buy, sell, hold or close; `target_weight` is a fraction of the account value, from -1 to 1, negative for a
short position. Symbols without an order keep their position; `"orders": []` keeps all. Absolute weights sum to 1 at
most."""
ACTIONS = ("buy", "sell", "hold", "close")
FIELDS = {"symbol", "action", "target_weight", "confidence", "rationale"}
MAX_PROMPT, MAX_REPLY, MAX_ATTEMPTS = 12_000, 1_000_000, 5
BUSY = (408, 409, 425, 429, 500, 502, 503, 504)


class UnusableError(Exception):
    """The reply cannot become a decision, and a retry would not help."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects, which would send the key to another host."""

    def redirect_request(self, *_: object) -> None:
        """Return None, so that the status stays an error."""


def say(text: str) -> None:
    """Print a message to standard error."""
    print(f"reference-agent: {text}", file=sys.stderr, flush=True)


def prompt(observation: dict) -> str:
    """Return the prompt: NAV, positions, and as many closes as fit."""
    mark = {view["symbol"]: view["close_history"][-1] for view in observation["symbols"]}
    worth = {each["symbol"]: each["shares"] * mark[each["symbol"]] for each in observation["portfolio"]}
    nav = observation["cash"] + sum(worth.values())
    head = [
        f"Date: {observation['date']}",
        f"Account value: {nav:.6g} (initially 1)",
        "Positions, as fractions of it:",
    ]
    head += [f"{symbol}: {value / nav:+.4f}" if nav else symbol for symbol, value in worth.items()] or ["none"]
    for n_closes in (20, 10, 5, 2, 1):
        rows = [
            f"{view['symbol']}: {' '.join(f'{close:.6g}' for close in view['close_history'][-n_closes:])}"
            for view in observation["symbols"]
        ]
        text = "\n".join([*head, "Closes, oldest first:", *rows])
        if len(text) <= MAX_PROMPT:
            return text
    cut = text[:MAX_PROMPT].rpartition("\n")[0]
    say(
        f"the prompt was truncated to {len(cut):,} of {len(text):,} characters; the model does not see the last symbols"
    )
    return cut


def balanced(text: str) -> list[str]:
    """Return the outermost `{...}` of a text in one scan that skips strings."""
    opened, found, in_string, escaped = [], [], False, False
    for at, character in enumerate(text):
        if in_string:
            in_string, escaped = escaped or character != '"', character == "\\" and not escaped
        elif character == '"':
            in_string = bool(opened)
        elif character == "{":
            opened.append(at)
        elif character == "}" and opened:
            start = opened.pop()
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, at + 1))
    return [text[start:end] for start, end in found]


def decision_of(reply: str, symbols: set[str]) -> dict:
    """Return the last object with `orders` in a reply, each order checked.

    Raises:
        UnusableError: there is no such object, or one of its orders is invalid.
    """
    found = None
    for text in balanced(reply):
        try:
            value = json.loads(text)
        except (RecursionError, ValueError):
            continue
        found = value if isinstance(value.get("orders"), list) else found
    if found is None:
        raise UnusableError(f"the reply has no JSON object with a list of orders: {reply[:200]!r}")
    orders: dict[str, dict] = {}
    for order in found["orders"]:
        fault = fault_of(order, symbols, orders)
        if fault:
            raise UnusableError(f"{fault}: {str(order)[:200]}")
        if order.keys() - FIELDS:
            say(f"fields removed from an order: {', '.join(sorted(order.keys() - FIELDS))[:200]}")
        orders[order["symbol"]] = {field: value for field, value in order.items() if field in FIELDS}
    return {"orders": list(orders.values()), "reasoning": str(found.get("reasoning") or "")[:500]}


def fault_of(order: object, symbols: set[str], before: dict[str, dict]) -> str | None:
    """Return the fault of an order as text; None if it is valid."""

    def is_within(value: object, least: float) -> bool:
        return type(value) in (int, float) and least <= value <= 1

    if not isinstance(order, dict):
        return "an order is not an object"
    if not isinstance(order.get("symbol"), str) or order["symbol"] not in symbols or order["symbol"] in before:
        return "an order has an unlisted or repeated symbol"
    if order.get("action") not in ACTIONS or not is_within(order.get("target_weight"), -1):
        return "an order needs one of the four actions and a weight from -1 to 1"
    if not is_within(order.get("confidence", 0.5), 0) or not isinstance(order.get("rationale", ""), str):
        return "the confidence of an order must be a number from 0 to 1, and its rationale a string"
    return None


class Model:
    """A language model behind an endpoint."""

    def __init__(self, url: str, name: str, key: str, seconds: float) -> None:
        self._url, self._name, self._key, self._seconds = url, name, key, seconds
        self._opener = urllib.request.build_opener(NoRedirect)

    def reply(self, text: str) -> str:
        """Return the reply of the model to a prompt; retry while the endpoint is busy and time remains.

        Raises:
            UnusableError: the endpoint does not reply, or not in a known format.
        """
        until = time.monotonic() + self._seconds
        for n_attempts in range(1, MAX_ATTEMPTS + 1):
            wait = 0.5 * 2 ** (n_attempts - 1)
            try:
                return content_of(self._post(text, until))
            except urllib.error.HTTPError as error:
                fault = f"HTTP {error.code}: {self._hidden(body_of(error))[:200].decode('utf-8', 'replace')}"
                if error.code not in BUSY:
                    raise UnusableError(fault) from error
                wait = max(wait, seconds_of(error.headers.get("Retry-After")))
            except (OSError, http.client.HTTPException) as error:
                fault = repr(error)
            if n_attempts == MAX_ATTEMPTS or time.monotonic() + wait >= until:
                break
            say(f"retries in {wait:g} s, after {fault}")
            time.sleep(wait)
        raise UnusableError(
            f"no reply in {n_attempts} of {MAX_ATTEMPTS} attempts in {self._seconds:g} s, the last: {fault}"
        )

    def _post(self, text: str, until: float) -> bytes:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        body = json.dumps({"model": self._name, "messages": messages, "stream": False}).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        request = urllib.request.Request(self._url, body, headers)
        content = b""
        with self._opener.open(request, timeout=max(0.1, until - time.monotonic())) as response:
            while chunk := response.read1(2**16):
                content += chunk
                if len(content) > MAX_REPLY:
                    raise UnusableError(f"the reply is longer than {MAX_REPLY:,} bytes")
                if time.monotonic() > until:
                    raise TimeoutError("the reply does not end")
        return self._hidden(content)

    def _hidden(self, content: bytes) -> bytes:
        # A server that echoes the key must not leak it into a record. Shorter keys are not secret.
        return content.replace(self._key.encode(), b"(the key)") if len(self._key) >= 8 else content


def body_of(error: urllib.error.HTTPError) -> bytes:
    """Return the beginning of the body of an HTTP error."""
    try:
        return error.read(2000)
    except (OSError, http.client.HTTPException) as broken:
        return repr(broken).encode()


def content_of(body: bytes) -> str:
    """Return the text of a reply in either format."""
    try:
        response = json.loads(body)
        message = response["choices"][0]["message"] if "choices" in response else response["message"]
        content = message["content"]
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnusableError(f"the reply is in neither the OpenAI nor the Ollama format: {body[:200]!r}") from error
    if not isinstance(content, str):
        raise UnusableError(f"the message has no text: {str(message)[:200]}")
    return content


def seconds_of(retry_after: str | None) -> float:
    """Return the seconds of a `Retry-After` header, which is a number or a date."""
    try:
        if not (retry_after or "").strip().isdigit():
            return (parsedate_to_datetime(retry_after or "") - datetime.now(timezone.utc)).total_seconds()
        return float(retry_after or 0)
    except (ArithmeticError, TypeError, ValueError):
        return 0.0


def decide(line: bytes, model: Model) -> dict:
    """Return the decision for an observation; hold on a failure."""
    try:
        observation = json.loads(line)
        text, symbols = prompt(observation), {view["symbol"] for view in observation["symbols"]}
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        say(f"invalid observation, holds all positions: {error!r}")
        return {"orders": []}
    try:
        return decision_of(model.reply(text), symbols)
    except UnusableError as fault:
        say(f"holds all positions: {fault}")
        return {"orders": [], "reasoning": f"hold: {fault}"}


def main() -> None:
    """Decide line by line until the input ends."""
    parser = argparse.ArgumentParser(description="Trade with a language model.")
    parser.add_argument("--url", required=True, help="URL of the chat completions endpoint")
    parser.add_argument("--model", required=True, help="name of the model")
    parser.add_argument("--key-variable", default="OPENAI_API_KEY", help="environment variable with the API key")
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="time limit per decision, below that of the harness"
    )
    options = parser.parse_args()
    key = os.environ.get(options.key_variable, "").strip()
    if not options.url.startswith(("http://", "https://")):
        parser.error(f"--url must start with http:// or https://; received {options.url!r}")
    if not (key.isascii() and (key + " ").isprintable()):
        parser.error(
            f"the key in `{options.key_variable}` must be one line of printable ASCII; received other characters"
        )
    model = Model(options.url, options.model, key, options.seconds)
    for line in sys.stdin.buffer:
        # A model can output a lone surrogate, which UTF-8 cannot encode.
        text = json.dumps(decide(line, model), ensure_ascii=False).encode("utf-8", "replace")
        sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
