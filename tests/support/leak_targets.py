"""Targets for leak check tests: planted leaks and causal pipelines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import polars as pl

Frame = pd.DataFrame


def scaler(frame: Frame) -> Frame:
    return (frame - frame.mean()) / frame.std()


def shifted(frame: Frame) -> Frame:
    return pd.DataFrame({"next": frame["close"].shift(-1), "before": frame["close"].shift(1)})


def centred(frame: Frame) -> Frame:
    return pd.DataFrame({"smooth": frame["close"].rolling(11, center=True).mean(), "level": frame["close"]})


def back_filled(frame: Frame) -> Frame:
    return pd.DataFrame({"average": frame["close"].rolling(20).mean().bfill(), "level": frame["close"]})


def global_mean(frame: Frame) -> Frame:
    moves = frame["close"].pct_change()
    return pd.DataFrame({"filled": moves.fillna(moves.mean()), "moves": moves})


def tiny(frame: Frame) -> Frame:
    return pd.DataFrame({"next": frame["close"] + 1e-12 * frame["close"].shift(-1).fillna(0.0)})


def dropped(frame: Frame) -> Frame:
    return frame.assign(next=frame["close"].shift(-1)).dropna()


def weekly(frame: Frame) -> Frame:
    days = pd.DatetimeIndex(frame.index)
    return pd.DataFrame({"week": frame["close"].groupby(days.to_period("W")).transform("last")}, index=frame.index)


def clock_of_data(frame: Frame) -> Frame:
    return pd.DataFrame({"progress": np.linspace(0.0, 1.0, len(frame))}, index=frame.index)


def polars_next(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select("date", next=pl.col("close").shift(-1), before=pl.col("close").shift(1))


def array_next(table: np.ndarray) -> np.ndarray:
    close = table["close"]
    return np.column_stack([np.append(close[1:], np.nan), close])


def random_noise(frame: Frame) -> Frame:
    return frame + np.random.default_rng().normal()


def remembers(frame: Frame, _seen: list[float] = []) -> Frame:  # noqa: B006 the mutable default is the planted state
    _seen.append(0.0)
    return frame + len(_seen) // 3


def refuses_nan(frame: Frame) -> Frame:
    if frame.isna().any().any():
        raise ValueError("no NaN, please")
    return frame.shift(1)


def breaks(frame: Frame) -> Frame:
    raise KeyError("volume_usd")


def shorter(frame: Frame) -> Frame:
    return frame["close"].to_numpy()[10:]


def _rsi(close: pd.Series) -> pd.Series:
    moves = close.diff()
    gain, loss = moves.clip(lower=0.0).ewm(alpha=1 / 14).mean(), (-moves.clip(upper=0.0)).ewm(alpha=1 / 14).mean()
    return 100.0 - 100.0 / (1.0 + gain / loss)


def _fft_filter(frame: Frame) -> np.ndarray:
    """Return a causal average by an FFT of the complete column, which also rounds past values."""
    return _fft_average(np.nan_to_num(frame["close"].to_numpy()))


def _fft_average(close: np.ndarray) -> np.ndarray:
    size = 1 << (2 * len(close) + 20).bit_length()
    kernel = np.fft.rfft(np.full(20, 1.0 / 20.0), size)
    return np.fft.irfft(np.fft.rfft(close / close[0], size) * kernel, size)[: len(close)]


def fft_of_nan(frame: Frame) -> Frame:
    """Return a causal average that is all NaN if one close is NaN."""
    return pd.DataFrame({"average": _fft_average(frame["close"].to_numpy()), "level": frame["close"]})


def matrix_of_nan(frame: Frame) -> Frame:
    close = frame["close"].to_numpy()
    return pd.DataFrame({"mean": np.tril(np.ones((len(close), len(close)))) @ close}, index=frame.index)


def survivors(frame: Frame) -> Frame:
    """Keep the columns without missing values."""
    return frame.dropna(axis=1)


def survivors_beside_a_rank(frame: Frame) -> Frame:
    return frame.dropna(axis=1).assign(day=pd.DatetimeIndex(frame.index).dayofweek)


def rows_of_survivors(frame: Frame) -> Frame:
    return frame if frame["close"].notna().all() else frame.iloc[:0]


def before_a_gap(frame: Frame) -> Frame:
    """Close a position five bars before prices are missing, which only NaN reveals."""
    close = frame["close"]
    return pd.DataFrame({"left": close.where(~close.isna().shift(-5, fill_value=False))})


def coverage(frame: Frame) -> Frame:
    return pd.DataFrame({"share": frame["close"].notna().mean(), "level": frame["close"]}, index=frame.index)


def rolled_round(frame: Frame) -> Frame:
    """Compute the first move against the last close, and return only whether it is known."""
    moves = frame["close"] - np.roll(frame["close"], 1)
    return pd.DataFrame({"known": moves.rolling(5, min_periods=1).sum().notna().astype(float)})


def gap_filled(frame: Frame) -> Frame:
    """Back-fill a gap of the data."""
    holes = frame["close"].mask((np.arange(len(frame)) > 50) & (np.arange(len(frame)) < 60))
    return pd.DataFrame({"filled": holes.bfill(), "level": frame["close"]})


def _window_sums(frame: Frame) -> np.ndarray:
    close = frame["close"].to_numpy()
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([np.full(9, close[0]), close]), 10)
    return windows @ np.linspace(0.1, 1.0, 10)


CAUSAL: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda f: f,
    "returns": lambda f: f.pct_change(),
    "log returns": lambda f: np.log(f).diff(),
    "lags": lambda f: pd.concat([f["close"].shift(k).rename(f"lag{k}") for k in range(5)], axis=1),
    "rolling mean": lambda f: f.rolling(20).mean(),
    "rolling deviation": lambda f: f.rolling(20).std(),
    "rolling score": lambda f: (f - f.rolling(50).mean()) / f.rolling(50).std(),
    "expanding score": lambda f: (f - f.expanding().mean()) / f.expanding().std(),
    "exponential average": lambda f: f.ewm(span=26).mean(),
    "macd": lambda f: f["close"].ewm(span=12).mean() - f["close"].ewm(span=26).mean(),
    "rsi": lambda f: _rsi(f["close"]).to_frame("rsi"),
    "cumulative sums": lambda f: f.cumsum(),
    "drawdown": lambda f: f / f.cummax() - 1.0,
    "forward fill": lambda f: f.where(f["volume"] > f["volume"].shift(1)).ffill(),
    "rank in window": lambda f: f.rolling(30).rank(),
    "correlation in window": lambda f: f["close"].rolling(30).corr(f["volume"]).to_frame("correlation"),
    "warm-up dropped": lambda f: f.rolling(60).mean().dropna(),
    "words": lambda f: pd.DataFrame({"side": np.where(f["close"].diff() > 0.0, "up", "down")}, index=f.index),
    "float32": lambda f: f.astype(np.float32).rolling(10).mean(),
    "fft filter": _fft_filter,
    "matrix product": _window_sums,
    "week so far": lambda f: f.groupby(pd.DatetimeIndex(f.index).to_period("W")).cummax(),
}


class Market(gym.Env[np.ndarray, int]):
    """Minimal environment with a window of closes; a position earns the return to the next close."""

    ahead = 0
    is_late = False

    def __init__(self, frame: Frame, window: int = 5) -> None:
        self.prices, self.window = frame["close"].to_numpy(), window
        self.action_space = gym.spaces.Discrete(3)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (window,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.position = self.window, 0
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self.is_late:  # the previous position earns the return up to the observed bar
            reward = self.position * self._return(self.t)
            self.position, self.t = int(action) - 1, self.t + 1
        else:
            self.position, self.t = int(action) - 1, self.t + 1
            reward = self.position * self._return(self.t)
        return self._seen(), reward, False, self.t + 1 + self.ahead >= len(self.prices), {}

    def _return(self, t: int) -> float:
        return float(self.prices[t] / self.prices[t - 1] - 1.0)

    def _seen(self) -> np.ndarray:
        end = self.t + 1 + self.ahead
        return self.prices[end - self.window : end].copy()


class OffByOne(Market):
    ahead = 1


class Listed(OffByOne):
    """Returns lists, like the environments of FinRL."""

    def _seen(self) -> list[float]:  # type: ignore[override]
        return [float(each) for each in super()._seen()]


class Tells(Market):
    """The info reports the sign of the next return."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = super().step(action)
        later = self.t + 1 < len(self.prices) and self._return(self.t + 1) > 0.0
        return seen, reward, terminated, truncated, {"news": "good" if later else "bad"}


class PaidLate(Market):
    is_late = True


class SameBar(Market):
    """The action earns the return that was already observed."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = (int(action) - 1) * self._return(self.t)
        self.t += 1
        return self._seen(), reward, False, self.t + 1 >= len(self.prices), {}


class Flees(Market):
    """Ends before a crash in a later bar."""

    far = 1
    as_truncated = False

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, _, truncated, info = super().step(action)
        later = self.prices[self.t : self.t + 1 + self.far]
        flees = bool((later[1:] / later[:-1] < 0.8).any())
        if self.as_truncated:
            return seen, reward, False, truncated or flees, info
        return seen, reward, flees, truncated, info


class FleesEarly(Flees):
    far = 3


class FleesInTime(Flees):
    as_truncated = True


class Ruined(Market):
    """Ends when the account has lost 3 %, an observed loss."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, _, truncated, info = super().step(action)
        self.nav = getattr(self, "nav", 1.0) * (1.0 + reward)
        return seen, reward, self.nav < 0.97, truncated, info


class Crashed(Market):
    """Ends when the observed bar is a crash."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, _, truncated, info = super().step(action)
        return seen, reward, self._return(self.t) < -0.2, truncated, info


class History(Market):
    """The info has all past prices, a growing list."""

    more = 0

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = super().step(action)
        past = [float(each) for each in self.prices[: self.t + 1 + self.more]]
        return seen, reward, terminated, truncated, {"past": past, "env": self}


class HistoryAhead(History):
    more = 1


class Sized(Market):
    """The size of an array depends on the next return."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = super().step(action)
        rises = self.t + 1 < len(self.prices) and self._return(self.t + 1) > 0.0
        return seen, reward, terminated, truncated, {"news": np.zeros(3 if rises else 2)}


class Warns(Market):
    """The info has another key before a crash, which the unchanged data does not contain."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = super().step(action)
        crashes = self.t + 1 < len(self.prices) and self._return(self.t + 1) < -0.5
        return seen, reward, terminated, truncated, {"warning": 1.0} if crashes else {}


class Swells(Market):
    """An array has another element before a crash, which the unchanged data does not contain."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = super().step(action)
        crashes = self.t + 1 < len(self.prices) and self._return(self.t + 1) < -0.5
        return seen, reward, terminated, truncated, {"levels": np.ones(4 if crashes else 3)}


class Reuses(Market):
    """Reuses one array for all observations."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.buffer = np.zeros(self.window)
        return super().reset(seed=seed, options=options)

    def _seen(self) -> np.ndarray:
        self.buffer[:] = super()._seen()
        return self.buffer


def without_outliers(frame: Frame) -> gym.Env[Any, Any]:
    """Return an environment without outlier rows, which garbage removes almost completely."""
    return Market(frame[~(frame["close"].pct_change().abs() > 0.15)])


def without_gaps(frame: Frame) -> gym.Env[Any, Any]:
    """Return an environment of rows without missing values, whose data ends at the first NaN."""
    return Market(frame.dropna())


def scaled_env(frame: Frame) -> gym.Env[Any, Any]:
    return Market(scaler(frame))


def momentum(observation: dict[str, Any]) -> dict[str, Any]:
    return _long(observation, lambda each: each["close_history"][-1] > each["close_history"][0])


def reads_news(observation: dict[str, Any]) -> dict[str, Any]:
    return _long(observation, lambda each: "+" in each["news"][-1])


def future_news(frame: Frame) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return an agent that reads the headlines of the next date."""
    rows = zip(frame["date"], frame["symbol"], frame["headline"], strict=True)
    headlines = {(date, symbol): text for date, symbol, text in rows}
    dates = sorted(frame["date"].unique())
    after = dict(pairwise(dates))

    def decide(observation: dict[str, Any]) -> dict[str, Any]:
        tomorrow = after.get(pd.Timestamp(observation["date"]))
        return _long(observation, lambda each: "+" in str(headlines.get((tomorrow, each["symbol"]))))

    return decide


def _long(observation: dict[str, Any], wants: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    weights = {each["symbol"]: 0.3 if wants(each) else 0.0 for each in observation["symbols"]}
    orders = [{"symbol": name, "action": "buy", "target_weight": weight} for name, weight in weights.items()]
    return {"orders": orders}
