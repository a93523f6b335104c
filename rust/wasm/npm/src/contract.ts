/** The contract's types: `contract/observation.schema.json` and `contract/decision.schema.json`, version 1. */

/** What is known of one listed symbol as of the observation's date. */
export interface SymbolView {
  symbol: string;
  /** Oldest first; the last one is the mark. */
  close_history: number[];
  fundamentals?: Record<string, number>;
  news?: string[];
}

/** A position held; negative shares are short. */
export interface Position {
  symbol: string;
  shares: number;
  avg_price: number;
}

/** What an agent is shown at the close of one bar. */
export interface MarketObservation {
  date: string;
  /** In units of the NAV at the start, which is 1. */
  cash: number;
  symbols: SymbolView[];
  portfolio: Position[];
}

/** The target for one symbol, a signed fraction of NAV. */
export interface Order {
  symbol: string;
  action: "buy" | "sell" | "hold" | "close";
  target_weight: number;
  confidence?: number;
  rationale?: string;
}

/** What an agent answers; a symbol without an order is held. */
export interface Decision {
  orders: Order[];
  reasoning?: string;
}

/** What a step had to say beside the observation. */
export interface StepInfo {
  nav: number;
  costs: Record<string, number>;
  events: Record<string, unknown>[];
  [member: string]: unknown;
}

/** What trading costs, in basis points; what is left out has the contract's default. */
export interface Costs {
  fee_bps?: number;
  slippage_bps?: number;
  slippage_jitter?: number;
  impact_bps?: number;
  financing_bps?: number;
  cash_bps?: number;
  borrow_bps?: number;
  capital?: number;
}

/** What a decision may ask for; what is left out has the contract's default, and `null` or `Infinity` stands for no limit. */
export interface Limits {
  max_weight?: number | null;
  max_gross?: number | null;
  allow_short?: boolean;
  max_participation?: number | null;
  maintenance_margin?: number;
}

/** What a run is told; the names are those of a record's header. */
export interface Settings {
  /** Bars `[start, end)`. */
  window?: { start?: number; end?: number };
  costs?: Costs;
  limits?: Limits;
  /** Closes that an observation shows of a symbol at most; 20 by default. */
  lookback?: number;
  /** Key of the slippage noise: a 64-bit integer, exact as a BigInt or a safe integer; 0 by default. */
  seed?: bigint | number;
}

/** What an agent is called, and how it was made, beside what a run is told. */
export interface Captured extends Settings {
  /** Name of the agent; by default that of a baseline, else `agent`. */
  agent_id?: string;
  /** Trials that its maker declares, at most 2^53 - 1; 0 by default. */
  in_sample_trials?: bigint | number;
  /** A secret key of the slippage noise, 64 hexadecimal digits: the record holds its commitment, in place of a seed. */
  fill_key?: string;
}

/** What a record is held to; of what is left out the record is believed. */
export interface Held {
  costs?: Costs;
  limits?: Limits;
  /** The revealed key of sealed slippage noise, 64 hexadecimal digits. */
  fill_key?: string;
  /** The key that must have signed it, 64 hexadecimal digits; a signature that is there is checked without it, too. */
  public_key?: string;
}

/** A market in columns: a row a bar, oldest first; a column a symbol; `null` or NaN where there is no value. */
export interface Columns {
  /** ISO 8601, strictly increasing, all of one form. */
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
  /** Return of cash, a bar. */
  risk_free?: number[];
  /** Bars a year; 252 by default. */
  periods_per_year?: number;
  fundamentals?: { symbol: string; available_at: string; name: string; value: number }[];
  news?: { symbol: string; available_at: string; headline: string }[];
}

/** One row a bar, one number a symbol. */
export type Table = (number | null)[][];

/** A place at which a record says something else than its replay. */
export interface Difference {
  /** Index of the run; `null` for what stands beside the runs. */
  run: number | null;
  /** `record`, `header`, `step K` or `end`. */
  place: string;
  step: number | null;
  bar: number | null;
  date: string | null;
  field: string;
  recorded: string;
  replayed: string;
  /** How many doubles apart two numbers are: a 64-bit integer, as text. */
  ulps: string | null;
  /** Slug of the likely cause, and the cause in words. */
  cause: string;
  because: string;
}

/** What became of a record when its decisions were carried out again. */
export interface Replay {
  /** Whether the record is finished and every bit of it was met. */
  verified: boolean;
  agent_id: string;
  digest: string | null;
  n_runs: number;
  n_steps: number;
  differences: Difference[];
  /** What the record lacks to be finished; `null` if nothing. */
  unfinished: string | null;
  /** Public key of a signature that is good. */
  signed_by: string | null;
}

/** What a record says of itself. */
export interface Verification {
  /** Whether the record is finished, and every hash and the signature is right. */
  intact: boolean;
  agent_id: string;
  in_sample_trials: number;
  digest: string | null;
  unfinished: string | null;
  public_key: string | null;
  /** What each run was told, every field as text by its path. */
  headers: Record<string, string>[];
  faults: { run: number | null; place: string; field: string; recorded: string; computed: string }[];
}

/** Agents judged together; `docs/score.md` says what each number is. */
export interface Board {
  scores: Score[];
  bands: string[][];
  [member: string]: unknown;
}

/** The verdict on an agent, and what it was made of. */
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
  /** Why a number is `null`. */
  undefined?: Record<string, string>;
  [member: string]: unknown;
}

/** What is refused: `slug` is one of `contract/errors.json`. */
export interface OpenOutcryError extends Error {
  name: "OpenOutcryError";
  slug: string;
}
