/** Typed over the compiled engine: what is asked and told is JSON of the contract. */

import * as native from "./native/openoutcry_wasm.js";
import type {
  Board, Captured, Columns, Decision, Held, MarketObservation, OpenOutcryError, Replay, Score, Settings, StepInfo,
  Verification,
} from "./contract.js";
import { bytes, count, integer, json, numbers, refusal, text } from "./values.js";

export type * from "./contract.js";

/** Says whether an error is a refusal of the engine, which has a slug. */
export function isOpenOutcryError(error: unknown): error is OpenOutcryError {
  return error instanceof Error && error.name === "OpenOutcryError";
}

// The classes of the compiled engine are no part of what is exported: what is typed here is the whole of it.
let nativeOf: (dataset: Dataset) => native.Dataset;
let stateOf: (state: State) => native.State;
let saved: (state: native.State) => State;

/** A market: checked once, shared by every run on it. */
export class Dataset {
  readonly #native: native.Dataset;

  private constructor(made: native.Dataset) {
    this.#native = made;
  }

  static {
    nativeOf = (dataset) => dataset.#native;
  }

  /** Returns the market of a CSV text: `date,symbol,close[,open,high,low,volume,...]`, or `date` and a column a symbol. */
  static fromCsv(csv: string, options: { periodsPerYear?: number; name?: string } = {}): Dataset {
    const made = new Dataset(native.Dataset.from_csv(text("csv", csv), options.periodsPerYear));
    return options.name === undefined ? made : made.named(options.name);
  }

  /** Returns the market of columns. */
  static fromColumns(columns: Columns, options: { name?: string } = {}): Dataset {
    const made = new Dataset(native.Dataset.from_columns(json(columns)));
    return options.name === undefined ? made : made.named(options.name);
  }

  /** Returns the market of bytes that `toBytes` has written, in any language. */
  static fromBytes(content: Uint8Array): Dataset {
    return new Dataset(native.Dataset.from_bytes(bytes("content", content)));
  }

  /** Returns a market of random walks, fixed by its seed. */
  static synthetic(nSymbols: number, nDays: number, seed: bigint | number): Dataset {
    return new Dataset(native.Dataset.synthetic(count("nSymbols", nSymbols), count("nDays", nDays), integer(seed)));
  }

  /**
   * Returns the synthetic market of a seed: of a tier or family by its name, such as `hard`, or of a spec in JSON.
   *
   * Train, validation and test are splits: no seed of one gives a market of another.
   */
  static scenario(spec: string, seed: bigint | number, options: { split?: string } = {}): Dataset {
    return new Dataset(native.Dataset.scenario(text("spec", spec), text("split", options.split ?? "train"), integer(seed)));
  }

  /** Returns the market of a scenario whose key was revealed: JSON of its spec, and 64 hexadecimal digits. */
  static revealed(spec: string, key: string): Dataset {
    return new Dataset(native.Dataset.revealed(text("spec", spec), text("key", key)));
  }

  /** Returns the same market under a name, by which records must then call it, and the commitment of its key. */
  named(name: string, commitment?: string): Dataset {
    const told = commitment === undefined ? undefined : text("commitment", commitment);
    return new Dataset(this.#native.named(text("name", name), told));
  }

  /** Returns everything that a number can depend on; `fingerprint` is the SHA-256 of it. */
  toBytes(): Uint8Array {
    return this.#native.to_bytes();
  }

  /** SHA-256 of everything the market holds, in hexadecimal. */
  get fingerprint(): string {
    return this.#native.fingerprint;
  }

  /** What records call it; without a name records are believed. */
  get name(): string | undefined {
    return this.#native.name;
  }

  /** What was published of the key of a sealed market. */
  get commitment(): string | undefined {
    return this.#native.commitment;
  }

  /** Dates of the bars, rising. */
  get dates(): string[] {
    return this.#native.dates;
  }

  get symbols(): string[] {
    return this.#native.symbols;
  }

  /** Bars a year. */
  get periodsPerYear(): number {
    return this.#native.periods_per_year;
  }

  /** Returns a column by name, bars by symbols, NaN where there is no value; `undefined` if the market lacks it. */
  column(name: string): Float64Array | undefined {
    return this.#native.column(text("name", name));
  }
}

/** Returns the JSON of a scenario's spec by the name of its tier or family; changed, it is another scenario. */
export function scenarioSpec(name: string): string {
  return native.scenario_spec(text("name", name));
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

/** A checkpoint of an environment. */
export class State {
  readonly #native: native.State;

  private constructor(made: native.State) {
    this.#native = made;
  }

  static {
    stateOf = (state) => state.#native;
    saved = (made) => new State(made);
  }
}

/** A market to step through, one decision a bar. */
export class TradingEnv {
  readonly #native: native.TradingEnv;

  constructor(dataset: Dataset, settings: Settings = {}) {
    const { seed = 0, ...told } = settings;
    this.#native = new native.TradingEnv(nativeOf(dataset), json(told), integer(seed));
  }

  /** Begins the window anew and returns its first observation. */
  reset(): MarketObservation {
    return JSON.parse(this.resetJson()) as MarketObservation;
  }

  /** Trades as a decision says and moves on by one bar; what is refused throws, and moves nothing. */
  step(decision: Decision): Step {
    return this.#stepped(this.stepJson(json(decision)));
  }

  /** Trades towards a weight a symbol, in the order of the market's symbols. */
  stepWeights(weights: ArrayLike<number>): Step {
    return this.#stepped(this.#native.step_weights(numbers("weights", weights)));
  }

  /** `reset`, as canonical JSON. */
  resetJson(): string {
    return this.#native.reset();
  }

  /** `step`, as canonical JSON; `reward`, `infoJson`, `terminated` and `truncated` are then those of it. */
  stepJson(decision: string): string {
    return this.#native.step(text("decision", decision));
  }

  /** Returns a checkpoint: resuming it gives the same bits as never having stopped. */
  saveState(): State {
    return saved(this.#native.state());
  }

  /** Goes back to a checkpoint of this market, window and rules, and returns its observation. */
  restoreState(state: State): MarketObservation {
    return JSON.parse(this.#native.restore(stateOf(state))) as MarketObservation;
  }

  /** Simple return of NAV of the last step; 0 before the first. */
  get reward(): number {
    return this.#native.reward;
  }

  /** What the last step had to say, canonical JSON; empty before the first. */
  get infoJson(): string {
    return this.#native.info;
  }

  /** Whether the account was liquidated or ruined. */
  get terminated(): boolean {
    return this.#native.terminated;
  }

  /** Whether the window has ended. */
  get truncated(): boolean {
    return this.#native.truncated;
  }

  /** NAV at the current close; 1 at the start. */
  get nav(): number {
    return this.#native.nav;
  }

  /** Index of the current bar in the market. */
  get bar(): number {
    return this.#native.bar;
  }

  #stepped(observation: string): Step {
    const { reward, terminated, truncated, info } = this.#native;
    return {
      observation: JSON.parse(observation) as MarketObservation, reward, terminated, truncated,
      info: JSON.parse(info) as StepInfo,
    };
  }
}

/** What a backtest came to. */
export interface Run {
  /** NAV at the close of each bar of the window; 1 at the first. */
  nav: Float64Array;
  /** First bar of the window. */
  start: number;
  /** Index of the decision that ended the account, if one did. */
  terminatedAt: number | undefined;
}

/** A backtest that was recorded: whoever has the market can replay it, in any language. */
export interface RecordedRun extends Run {
  /** The record, canonical JSON. */
  record: string;
  digest: string;
}

/** Runs an agent, or a baseline by its name, over a window and records it; what the agent throws is thrown. */
export function runBacktest(
  dataset: Dataset,
  agent: string | ((observation: MarketObservation) => Decision),
  settings?: Captured,
): RecordedRun;
/** Runs weights over a window: a row a bar of the market, of which those of the window count; NaN holds. */
export function runBacktest(dataset: Dataset, weights: readonly ArrayLike<number>[], settings?: Settings): Run;
export function runBacktest(
  dataset: Dataset,
  decided: string | ((observation: MarketObservation) => Decision) | readonly ArrayLike<number>[],
  settings: Captured = {},
): Run {
  const { seed = 0, agent_id, in_sample_trials = 0, ...told } = settings;
  if (typeof decided === "string") {
    const captured = json({ agent_id: agent_id ?? decided, in_sample_trials, settings: told });
    return recorded(native.run_baseline(nativeOf(dataset), text("agent", decided), captured, integer(seed)));
  }
  if (typeof decided === "function") {
    const decide = (shown: string): string => json(decided(JSON.parse(shown) as MarketObservation));
    const captured = json({ agent_id: agent_id ?? "agent", in_sample_trials, settings: told });
    return recorded(native.run_backtest(nativeOf(dataset), decide, captured, integer(seed)));
  }
  const width = dataset.symbols.length;
  const odd = decided.find((row) => row.length !== width);
  if (odd !== undefined) {
    throw refusal("shape_mismatch", `a row must have ${width} weights, one a symbol; received ${odd.length}`);
  }
  const weights = new Float64Array(decided.length * width);
  decided.forEach((row, bar) => weights.set(numbers("weights", row), bar * width));
  return taken(native.run_weights(nativeOf(dataset), weights, json(told), integer(seed)));
}

function recorded(run: native.Run): RecordedRun {
  const { record = "", digest = "" } = run;
  return { ...taken(run), record, digest };
}

/** Returns what a run came to, and gives its memory back: a record may be of many megabytes. */
function taken(run: native.Run): Run {
  const { nav, start, terminated_at: terminatedAt } = run;
  run.free();
  return { nav, start, terminatedAt };
}

/** Returns one record of the runs of several, unsigned: an agent is judged on several windows. */
export function joinRecords(agentId: string, records: readonly string[], inSampleTrials: bigint | number = 0): string {
  return native.join_records(text("agentId", agentId), texts(records), integer(inSampleTrials, "inSampleTrials"));
}

/** Carries out the decisions of a record again and compares every step, bit for bit. */
export function replay(record: string, datasets: Dataset | readonly Dataset[], held: Held = {}): Replay {
  return JSON.parse(native.replay(text("record", record), shared(datasets), json(held))) as Replay;
}

/** Checks the hashes and the signature of a record: that it is whole, and by whom. No market is asked. */
export function verifyRecord(record: string, held: Pick<Held, "public_key"> = {}): Verification {
  return JSON.parse(native.verify_record(text("record", record), json(held))) as Verification;
}

/**
 * Judges agents by their records, which are replayed.
 *
 * `config` is what differs from the defaults of the scorer (`docs/score.md`).
 */
export function score(
  records: string | readonly string[],
  datasets: Dataset | readonly Dataset[],
  options: { held?: Omit<Held, "public_key">; config?: Record<string, unknown> } = {},
): Board {
  const { held = {}, config = {} } = options;
  const judged = typeof records === "string" ? [records] : records;
  return JSON.parse(native.score(texts(judged), shared(datasets), json(held), json(config))) as Board;
}

/** Returns what can be said of daily returns alone, out of a number of trials: never that they are eligible. */
export function scoreReturns(returns: ArrayLike<number>, nTrials: bigint | number = 0): Score {
  return JSON.parse(native.score_returns(numbers("returns", returns), integer(nTrials, "nTrials"))) as Score;
}

/** Returns a JSON text as RFC 8785 writes it. */
export function canonicalize(json: string): string {
  return native.canonicalize(text("json", json));
}

/** Returns the SHA-256 of bytes, or of a text in UTF-8, in hexadecimal. */
export function sha256(content: Uint8Array | string): string {
  const told = typeof content === "string" ? new TextEncoder().encode(text("content", content)) : content;
  return native.sha256(bytes("content", told));
}

/** Returns whether a leaf hash is in a tree of RFC 6962 of some size. */
export function verifyInclusion(
  index: bigint | number, size: bigint | number, leaf: Uint8Array, proof: readonly Uint8Array[], root: Uint8Array,
): boolean {
  const hashes = proof.map((hash) => bytes("proof", hash));
  return native.verify_inclusion(integer(index, "index"), integer(size, "size"), bytes("leaf", leaf), hashes, bytes("root", root));
}

/** Returns whether a tree of RFC 6962 goes on from an older one. */
export function verifyConsistency(
  oldSize: bigint | number, size: bigint | number, oldRoot: Uint8Array, root: Uint8Array, proof: readonly Uint8Array[],
): boolean {
  const [from, to] = [integer(oldSize, "oldSize"), integer(size, "size")];
  const hashes = proof.map((hash) => bytes("proof", hash));
  return native.verify_consistency(from, to, bytes("oldRoot", oldRoot), bytes("root", root), hashes);
}

function shared(datasets: Dataset | readonly Dataset[]): native.Dataset[] {
  const markets: readonly unknown[] = Array.isArray(datasets) ? datasets : [datasets];
  return markets.map((each) => {
    if (each instanceof Dataset) return nativeOf(each).share();
    throw refusal("argument_invalid", `a market must be a Dataset; received ${typeof each}`);
  });
}

function texts(records: readonly string[]): string[] {
  return records.map((record) => text("record", record));
}
