"""Strategies without hindsight, in the styles of a language model."""

from __future__ import annotations

_HEAD = "import numpy as np\nfrom openoutcry.backtest.strategies import Strategy\n\n"

HONEST = {
    "relative strength index": _HEAD
    + '''
def average_gain(changes, period):
    """Wilder's average of gains and losses."""
    gains = np.where(changes > 0.0, changes, 0.0)
    losses = np.where(changes < 0.0, -changes, 0.0)
    average_up, average_down = gains[:period].mean(axis=0), losses[:period].mean(axis=0)
    for gain, loss in zip(gains[period:], losses[period:]):
        average_up = (average_up * (period - 1) + gain) / period
        average_down = (average_down * (period - 1) + loss) / period
    return average_up, average_down


class RelativeStrength(Strategy):
    """Buy oversold symbols and sell overbought ones."""

    PARAM_RANGES = {
        "period": {"type": "int", "min": 5, "max": 30, "default": 14},
        "low": {"type": "float", "min": 10.0, "max": 40.0, "step": 5.0, "default": 30.0},
        "high": {"type": "float", "min": 60.0, "max": 90.0, "step": 5.0, "default": 70.0},
    }

    @property
    def lookback(self):
        return 5 * self.params["period"] + 1

    def weights(self, closes):
        n_symbols = closes.shape[1]
        up, down = average_gain(np.diff(closes, axis=0), self.params["period"])
        strength = np.where(down > 0.0, up / np.where(down > 0.0, down, 1.0), np.inf)
        index = 100.0 - 100.0 / (1.0 + strength)
        signal = np.zeros(n_symbols)
        signal[index < self.params["low"]] = 1.0
        signal[index > self.params["high"]] = -1.0
        signal[~np.isfinite(closes[-1])] = 0.0
        return signal / n_symbols
''',
    "bands, trend filter and volatility target": _HEAD
    + '''
ANNUAL = 252.0
MAX_LEVERAGE = 1.5


class Bands(Strategy):
    """Fade moves beyond Bollinger bands, with the long trend, at a target volatility."""

    PARAM_RANGES = {
        "window": {"type": "int", "min": 10, "max": 60, "default": 20},
        "width": {"type": "float", "min": 1.0, "max": 3.0, "step": 0.25, "default": 2.0},
        "trend": {"type": "int", "min": 100, "max": 300, "step": 10, "default": 200},
        "target": {"type": "float", "min": 0.05, "max": 0.3, "step": 0.05, "default": 0.1},
    }

    @property
    def lookback(self):
        return max(self.params["window"], self.params["trend"]) + 1

    def _volatility(self, returns):
        volatility = returns.std(axis=0, ddof=1) * np.sqrt(ANNUAL)
        return np.where(volatility > 1e-8, volatility, np.nan)

    def weights(self, closes):
        prices = np.log(closes)
        recent = prices[-self.params["window"] :]
        middle = np.nanmean(recent, axis=0)
        spread = np.nanstd(recent, axis=0)
        score = (prices[-1] - middle) / np.where(spread > 0.0, spread, np.inf)
        is_rising = prices[-1] > np.nanmean(prices[-self.params["trend"] :], axis=0)
        signal = np.zeros(closes.shape[1])
        for place, value in enumerate(score):
            if not np.isfinite(value):
                continue
            if value < -self.params["width"] and is_rising[place]:
                signal[place] = 1.0
            elif value > self.params["width"] and not is_rising[place]:
                signal[place] = -1.0
        size = self.params["target"] / self._volatility(np.diff(recent, axis=0))
        weights = np.nan_to_num(signal * size) / max(1, np.count_nonzero(signal))
        gross = np.abs(weights).sum()
        return weights if gross <= MAX_LEVERAGE else weights * MAX_LEVERAGE / gross
''',
    "moving averages with a state": "from dataclasses import dataclass\n\n"
    + _HEAD
    + '''
@dataclass(frozen=True)
class Lines:
    """The lines of a convergence divergence indicator."""

    fast: float
    slow: float
    signal: float

    @property
    def is_up(self):
        return self.fast - self.slow > self.signal


def exponential(values, span):
    alpha = 2.0 / (span + 1.0)
    level = values[0]
    for value in values[1:]:
        level = alpha * value + (1.0 - alpha) * level
    return level


class Convergence(Strategy):
    """Follow the convergence and divergence of moving averages."""

    PARAM_RANGES = {
        "fast": {"type": "int", "min": 5, "max": 20, "default": 12},
        "slow": {"type": "int", "min": 21, "max": 60, "default": 26},
        "smooth": {"type": "int", "min": 3, "max": 15, "default": 9},
        "side": {"type": "categorical", "choices": ["long", "long-short"], "default": "long-short"},
    }

    @property
    def lookback(self):
        return 4 * self.params["slow"]

    def _lines(self, series):
        history = []
        for end in range(len(series) - self.params["smooth"], len(series)):
            part = series[: end + 1]
            history.append(exponential(part, self.params["fast"]) - exponential(part, self.params["slow"]))
        fast = exponential(series, self.params["fast"])
        slow = exponential(series, self.params["slow"])
        return Lines(fast, slow, exponential(history, self.params["smooth"]))

    def weights(self, closes):
        listed = [place for place in range(closes.shape[1]) if np.isfinite(closes[:, place]).all()]
        found = np.zeros(closes.shape[1])
        for place in listed:
            lines = self._lines(np.log(closes[:, place]))
            if lines.is_up:
                found[place] = 1.0
            elif self.params["side"] == "long-short":
                found[place] = -1.0
        return found / max(1, len(listed))
''',
    "regimes, ranks and correlations": _HEAD
    + '''
class Regimes(Strategy):
    """Hold winners in calm markets and losers in stress, less of what is correlated."""

    PARAM_RANGES = {
        "window": {"type": "int", "min": 60, "max": 250, "step": 10, "default": 120},
        "share": {"type": "float", "min": 0.1, "max": 0.5, "step": 0.1, "default": 0.3},
        "stress": {"type": "float", "min": 1.0, "max": 2.0, "step": 0.1, "default": 1.3},
    }

    @property
    def lookback(self):
        return self.params["window"] + 1

    def _penalty(self, returns):
        covariance = np.cov(returns, rowvar=False)
        deviations = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(deviations, deviations)
        return 1.0 / (1.0 + np.clip(correlation.mean(axis=1), 0.0, 1.0))

    def _scores(self, returns, is_calm):
        if is_calm:
            return returns[:-5].sum(axis=0)
        return -returns[-5:].sum(axis=0)

    def weights(self, closes):
        n_symbols = closes.shape[1]
        is_listed = np.isfinite(closes).all(axis=0)
        if is_listed.sum() < 2:
            return np.zeros(n_symbols)
        returns = np.diff(np.log(closes[:, is_listed]), axis=0)
        market = returns.mean(axis=1)
        recent, usual = market[-20:].std(), market.std()
        is_calm = recent <= self.params["stress"] * usual
        scores = self._scores(returns, is_calm)
        n_held = max(1, int(round(self.params["share"] * len(scores))))
        order = np.argsort(scores, kind="stable")
        picked = np.zeros(len(scores))
        picked[order[-n_held:]] = 1.0
        picked[order[:n_held]] -= 1.0
        picked *= self._penalty(returns)
        gross = np.abs(picked).sum()
        weights = np.zeros(n_symbols)
        weights[is_listed] = picked / gross if gross > 0.0 else 0.0
        return weights
''',
    "a filter of Kalman": _HEAD
    + '''
class Filter(Strategy):
    """Follow the slope of a local linear trend, as a Kalman filter estimates it."""

    PARAM_RANGES = {
        "window": {"type": "int", "min": 60, "max": 200, "step": 20, "default": 100},
        "ratio": {"type": "float", "min": 0.001, "max": 0.1, "default": 0.01},
    }

    @property
    def lookback(self):
        return self.params["window"]

    def _slope(self, series):
        state = np.array([series[0], 0.0])
        variance = np.eye(2)
        move = np.array([[1.0, 1.0], [0.0, 1.0]])
        noise = np.diag([self.params["ratio"], self.params["ratio"] / 10.0])
        scale = np.var(np.diff(series)) or 1.0
        for value in series[1:]:
            state = move @ state
            variance = move @ variance @ move.T + scale * noise
            gain = variance[:, 0] / (variance[0, 0] + scale)
            state = state + gain * (value - state[0])
            variance = variance - np.outer(gain, variance[0])
        return state[1] / np.sqrt(max(variance[1, 1], 1e-12))

    def weights(self, closes):
        logs = np.log(closes)
        ends = [self._slope(logs[:, k]) if np.isfinite(logs[:, k]).all() else 0.0 for k in range(logs.shape[1])]
        strength = np.clip(np.array(ends), -2.0, 2.0) / 2.0
        return strength / len(strength)
''',
}
"""Sources by what they do."""
