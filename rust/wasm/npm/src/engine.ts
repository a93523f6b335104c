/** Typed over the compiled engine: what is asked and told is JSON of the contract. */

import * as native from "./openoutcry_wasm.js";
import type { Decision, MarketObservation, Replay, Settings, StepInfo } from "./contract.js";

export type * from "./contract.js";
export const CONTRACT_VERSION: string = native.contract_version();
export const ENGINE_VERSION: string = native.engine_version();

/** A market, checked once. */
export class Dataset {
  /** @internal */
  constructor(readonly native: native.Dataset) {}

  /** Returns the market of a CSV text, long or wide. */
  static fromCsv(text: string, options: { periodsPerYear?: number } = {}): Dataset {
    return new Dataset(native.Dataset.from_csv(text, options.periodsPerYear));
  }

  /** Returns a market of random walks, fixed by its seed. */
  static synthetic(nSymbols: number, nDays: number, seed: bigint | number): Dataset {
    return new Dataset(native.Dataset.synthetic(nSymbols, nDays, integer(seed)));
  }

  get fingerprint(): string {
    return this.native.fingerprint;
  }

  get dates(): string[] {
    return this.native.dates;
  }

  get symbols(): string[] {
    return this.native.symbols;
  }
}

/** What a step gave. */
export interface Step {
  observation: MarketObservation;
  /** Simple return of NAV from close to close. */
  reward: number;
  terminated: boolean;
  truncated: boolean;
  info: StepInfo;
}

/** A market to step through, one decision a bar. */
export class TradingEnv {
  readonly #native: native.TradingEnv;

  constructor(dataset: Dataset, settings: Settings = {}) {
    const { seed, ...told } = settings;
    this.#native = new native.TradingEnv(dataset.native, JSON.stringify(told), integer(seed ?? 0));
  }

  /** Begins the window anew and returns its first observation. */
  reset(): MarketObservation {
    return JSON.parse(this.resetJson()) as MarketObservation;
  }

  /** Trades as a decision says and moves on by one bar; what is refused moves nothing. */
  step(decision: Decision): Step {
    const observation = JSON.parse(this.stepJson(JSON.stringify(decision))) as MarketObservation;
    const { reward, terminated, truncated } = this.#native;
    return { observation, reward, terminated, truncated, info: JSON.parse(this.#native.info) as StepInfo };
  }

  /** `reset`, as canonical JSON. */
  resetJson(): string {
    return this.#native.reset();
  }

  /** `step`, as canonical JSON; `reward`, `terminated`, `truncated` and `infoJson` are then those of it. */
  stepJson(decision: string): string {
    return this.#native.step(decision);
  }

  get reward(): number {
    return this.#native.reward;
  }

  get infoJson(): string {
    return this.#native.info;
  }

  get terminated(): boolean {
    return this.#native.terminated;
  }

  get truncated(): boolean {
    return this.#native.truncated;
  }

  get nav(): number {
    return this.#native.nav;
  }

  get bar(): number {
    return this.#native.bar;
  }
}

/** A backtest that was recorded. */
export interface Run {
  /** NAV at the close of each bar of the window; 1 at the first. */
  nav: Float64Array;
  /** The record, canonical JSON. */
  record: string;
  digest: string;
}

/** Runs an agent over a window and records it. */
export function runBacktest(
  dataset: Dataset,
  agent: (observation: MarketObservation) => Decision,
  settings: Settings & { agent_id?: string; name?: string; in_sample_trials?: number } = {},
): Run {
  const { seed, ...told } = settings;
  const decide = (observation: string): string => JSON.stringify(agent(JSON.parse(observation) as MarketObservation));
  const run = native.run_backtest(dataset.native, decide, JSON.stringify(told), integer(seed ?? 0));
  return { nav: run.nav, record: run.record, digest: run.digest ?? "" };
}

/** Carries out the decisions of a record again and compares every step, bit for bit. */
export function replay(record: string, datasets: Dataset | Dataset[], held: Record<string, unknown> = {}): Replay {
  const markets = (Array.isArray(datasets) ? datasets : [datasets]).map((each) => each.native.share());
  return JSON.parse(native.replay(record, markets, JSON.stringify(held))) as Replay;
}

/** Returns a JSON text as RFC 8785 writes it. */
export function canonicalize(text: string): string {
  return native.canonicalize(text);
}

/** Returns the SHA-256 of bytes, or of a text in UTF-8, in hex. */
export function sha256(content: Uint8Array | string): string {
  return native.sha256(typeof content === "string" ? new TextEncoder().encode(content) : content);
}

function integer(seed: bigint | number): bigint {
  if (typeof seed === "number" && !Number.isSafeInteger(seed)) {
    throw new RangeError(`\`seed\` must be a BigInt or a safe integer; received ${seed}`);
  }
  const found = BigInt(seed);
  if (BigInt.asUintN(64, found) !== found) {
    throw new RangeError(`\`seed\` must be from 0 to 18446744073709551615; received ${found}`);
  }
  return found;
}
