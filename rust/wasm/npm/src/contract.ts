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

/** What a decision may ask for; what is left out has the contract's default. */
export interface Limits {
  max_weight?: number;
  max_gross?: number;
  allow_short?: boolean;
  max_participation?: number;
  maintenance_margin?: number;
}

/** What a run is told; the names are those of a record's header. */
export interface Settings {
  /** Bars `[start, end)`. */
  window?: { start?: number; end?: number };
  costs?: Costs;
  limits?: Limits;
  lookback?: number;
  /** Key of the slippage noise: a 64-bit integer, exact as a BigInt or a safe integer. */
  seed?: bigint | number;
}

/** A place at which a record says something else than its replay. */
export interface Difference {
  run: number | null;
  place: string;
  step: number | null;
  bar: number | null;
  date: string | null;
  field: string;
  recorded: string;
  replayed: string;
  ulps: number | null;
  cause: string;
  because: string;
}

/** What became of a record when its decisions were carried out again. */
export interface Replay {
  verified: boolean;
  digest: string | null;
  n_runs: number;
  n_steps: number;
  differences: Difference[];
  unfinished: string | null;
}

/** What is refused: `slug` is one of `contract/errors.json`. */
export interface OpenOutcryError extends Error {
  name: "OpenOutcryError";
  slug: string;
}
