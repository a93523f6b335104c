/** The contract's types: `contract/observation.schema.json` and `contract/decision.schema.json`, version 1. */

/** A listed symbol as of the date of the observation. */
export interface SymbolView {
  symbol: string;
  /** Oldest first; the last one is the mark. */
  close_history: number[];
  features?: Record<string, number>;
  fundamentals?: Record<string, number>;
  news?: string[];
}

/** A position; negative shares are short. */
export interface Position {
  symbol: string;
  shares: number;
  avg_price: number;
}

/** The observation of an agent at the close of one bar. */
export interface MarketObservation {
  date: string;
  /** In units of the NAV at the start, which is 1. */
  cash: number;
  symbols: SymbolView[];
  /** Features of the market. */
  market_features?: Record<string, number>;
  portfolio: Position[];
}

/** The target for one symbol, a signed fraction of NAV. */
export interface Order {
  symbol: string;
  action: "buy" | "sell" | "hold" | "close";
  target_weight: number;
  confidence?: number;
  rationale?: string;
  /** Contract 1.1: the highest price of a purchase, the lowest of a sale, in the next bar. Excluded by `hold`. */
  limit_price?: number;
  /** Contract 1.1: the price that activates the order. Excluded by `hold` and by `at` the close. */
  stop_price?: number;
  /** Contract 1.1: from the open of the next bar on, the default, or at its close. Excluded by `hold`. */
  at?: "open" | "close";
  /** Contract 1.1: exit from the whole position in the next bar, at this price or worse. */
  stop_loss?: number;
  /** Contract 1.1: exit from the whole position in the next bar, at this price or better. */
  take_profit?: number;
}

/** The decision of an agent; a symbol without an order is held. */
export interface Decision {
  orders: Order[];
  reasoning?: string;
}

/** The info of a step. */
export interface StepInfo {
  nav: number;
  costs: Record<string, number>;
  events: StepEvent[];
  [member: string]: unknown;
}

/** An event of a step; `contract/errors.json` lists the fields and reasons of each slug. */
export interface StepEvent {
  slug:
    | "refused"
    | "stale_price"
    | "limited"
    | "delisted"
    | "unfilled"
    | "filled"
    | "exited"
    | "liquidated"
    | "ruined"
    | (string & {});
  symbol?: string;
  shares?: number;
  price?: number;
  /** Why, such as `limit_not_reached` of an unfilled day order, or `stop_loss` of an exit. */
  reason?: string;
  [member: string]: unknown;
}

/** Costs in basis points; absent fields have the default of the contract. */
export interface Costs {
  fee_bps?: number;
  slippage_bps?: number;
  slippage_jitter?: number;
  impact_bps?: number;
  financing_bps?: number;
  cash_bps?: number;
  borrow_bps?: number;
  capital?: number;
  /** Where a stop inside the bar fills: from its price, 0, the default, to the extreme of the bar, 1. */
  stop_gap?: number;
}

/** Limits on a decision; absent fields have the default of the contract, `null` or `Infinity` is no limit. */
export interface Limits {
  max_weight?: number | null;
  max_gross?: number | null;
  allow_short?: boolean;
  max_participation?: number | null;
  maintenance_margin?: number;
  /** Whether purchases are cut to the cash there is; needs `allow_short: false`. */
  cash_account?: boolean;
}

/** Settings of a run, with the names of the record header. */
export interface Settings {
  /** Bars `[start, end)`; `end` is that of the data by default. By default, weights start at bar 0, agents at `lookback - 1`, or at 0 if the data has fewer than twice `lookback` bars. */
  window?: { start?: number; end?: number };
  costs?: Costs;
  limits?: Limits;
  /** Largest number of closes per symbol in an observation; 20 by default. */
  lookback?: number;
  /** Key of the slippage noise: a 64-bit integer, exact as a BigInt or a safe integer; 0 by default. */
  seed?: bigint | number;
}

/** Name and origin of an agent, in addition to the settings of a run. */
export interface Captured extends Settings {
  /** Name of the agent; by default that of a baseline, else `agent`. */
  agent_id?: string;
  /** Trials declared by its author, at most 2^53 - 1; 0 by default. */
  in_sample_trials?: bigint | number;
  /** A secret key of the slippage noise, 64 hexadecimal digits: the record has its commitment instead of a seed. */
  fill_key?: string;
}

/** Settings that a replay requires of a record; absent ones are taken from the record. */
export interface Held {
  costs?: Costs;
  limits?: Limits;
  /** The revealed key of sealed slippage noise, 64 hexadecimal digits. */
  fill_key?: string;
  /** The required key of the signature, 64 hexadecimal digits; a present signature is always checked. */
  public_key?: string;
}

/** A market in columns: one row per bar, oldest first, one column per symbol, `null` or NaN for a missing value. */
export interface Columns {
  /** ISO 8601, strictly increasing, all in one format. */
  dates: string[];
  symbols: string[];
  close: Table;
  open?: Table;
  high?: Table;
  low?: Table;
  volume?: Table;
  /** Cash per share before the split, on the ex-date. */
  dividends?: Table;
  /** New shares per old one, on the ex-date. */
  splits?: Table;
  tradable?: boolean[][];
  /** Return from the last close to the cash paid, on the settlement bar. */
  delistings?: Table;
  /** Return of cash per bar. */
  risk_free?: number[];
  /** Bars per year; by default those that the dates show. */
  periods_per_year?: number;
  fundamentals?: { symbol: string; available_at: string; name: string; value: number }[];
  news?: { symbol: string; available_at: string; headline: string }[];
  /** Known at the close of their bar; one row per bar, or one number per bar of a feature of the market. */
  features?: { name: string; values: Table | number[] }[];
}

/** One row per bar, one number per symbol. */
export type Table = (number | null)[][];

/** A divergence of a record from its replay. */
export interface Difference {
  /** Index of the run; `null` for the fields outside of the runs. */
  run: number | null;
  /** `record`, `header`, `step K` or `end`. */
  place: string;
  step: number | null;
  bar: number | null;
  date: string | null;
  field: string;
  recorded: string;
  replayed: string;
  /** Distance of two numbers in doubles: a 64-bit integer, as text. */
  ulps: string | null;
  /** Slug of the likely cause, and the cause in words. */
  cause: string;
  because: string;
}

/** The result of the replay of a record. */
export interface Replay {
  /** Whether the record is finished and has no divergence. */
  verified: boolean;
  agent_id: string;
  digest: string | null;
  n_runs: number;
  n_steps: number;
  differences: Difference[];
  /** The missing part of an unfinished record, else `null`. */
  unfinished: string | null;
  /** Public key of a valid signature; `null` without one, and if any value differs. */
  signed_by: string | null;
}

/** The contents of a record, and the validity of its hashes. */
export interface Verification {
  /** Whether the record is finished, and all hashes and the signature are valid. */
  intact: boolean;
  agent_id: string;
  in_sample_trials: number;
  digest: string | null;
  unfinished: string | null;
  public_key: string | null;
  /** Settings of each run, every field as text by its path. */
  headers: Record<string, string>[];
  faults: { run: number | null; place: string; field: string; recorded: string; computed: string }[];
}

/** The scores of a field of agents; see `docs/score.md` for each number. */
export interface Board {
  scores: Score[];
  bands: string[][];
  [member: string]: unknown;
}

/** The verdict on an agent, with its inputs. */
export interface Score {
  agent_id: string;
  verdict: "eligible" | "not_eligible" | "insufficient" | "unknown";
  reasons: string[];
  because: string[];
  rank: number | null;
  z: number | null;
  digest: string | null;
  n_days: number;
  metrics: Record<string, unknown>;
  /** Reasons of `null` numbers. */
  undefined?: Record<string, string>;
  [member: string]: unknown;
}

/** A refused call; `slug` is one of `contract/errors.json`. */
export interface OpenOutcryError extends Error {
  name: "OpenOutcryError";
  slug: string;
}
