/** The typed interface of the compiled engine; arguments and results are JSON of the contract. */

import * as native from "./native/openoutcry_wasm.js";
import type {
  Board, Captured, Decision, Held, MarketObservation, OpenOutcryError, Replay, Score, Settings, StepInfo,
  Verification,
} from "./contract.js";
import { Dataset, nativeOf } from "./dataset.js";
import { bytes, count, integer, json, kind, list, members, number, numbers, object, refusal, text, trials } from "./values.js";

export type * from "./contract.js";
export { Dataset, scenarioSpec } from "./dataset.js";

/** Returns whether an error is a refusal of the engine, with a slug. */
export function isOpenOutcryError(error: unknown): error is OpenOutcryError {
  return error instanceof Error && error.name === "OpenOutcryError";
}

// The classes of the compiled engine are not exported: the types here are the whole interface.
let stateOf: (state: State) => native.State;
let saved: (state: native.State) => State;

const DEEPEST = 32;
const RULES = ["window", "costs", "limits", "lookback", "seed"] as const;

/** The result of a step. */
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
    if (!(made instanceof native.State)) throw refusal("argument_invalid", "a checkpoint must be made by `saveState`");
    this.#native = made;
  }

  static {
    stateOf = (state) => {
      if (typeof state === "object" && state !== null && #native in state) return state.#native;
      throw refusal("argument_invalid", `a checkpoint must be a State; received ${kind(state)}`);
    };
    saved = (made) => new State(made);
  }
}

/** A market that is stepped one decision per bar. */
export class TradingEnv {
  readonly #native: native.TradingEnv;

  constructor(dataset: Dataset, settings: Settings = {}) {
    const { seed = 0, ...rest } = members("settings", settings, RULES);
    this.#native = new native.TradingEnv(nativeOf(dataset), rules(rest), integer("seed", seed));
  }

  /** Restarts the window and returns its first observation. */
  reset(): MarketObservation {
    return JSON.parse(this.resetJson()) as MarketObservation;
  }

  /** Trades a decision and advances by one bar; a refused step throws and changes nothing. */
  step(decision: Decision): Step {
    return this.#stepped(this.stepJson(json("decision", decision)));
  }

  /** Trades to one weight per symbol, in the order of the symbols of the market. */
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

  /** Returns a checkpoint. An environment resumed from it gives the same bits. */
  saveState(): State {
    return saved(this.#native.state());
  }

  /** Restores a checkpoint of this market, window and rules, and returns its observation. */
  restoreState(state: State): MarketObservation {
    return JSON.parse(this.#native.restore(stateOf(state))) as MarketObservation;
  }

  /** Simple return of NAV of the last step; 0 before the first. */
  get reward(): number {
    return this.#native.reward;
  }

  /** The info of the last step, canonical JSON; empty before the first. */
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

/** The result of a backtest. */
export interface Run {
  /** NAV at the close of each bar of the window; 1 at the first. */
  nav: Float64Array;
  /** First bar of the window. */
  start: number;
  /** Index of the decision with which the account was terminated, if it was. */
  terminatedAt: number | undefined;
}

/** A recorded backtest: it can be replayed on its market, in any language. */
export interface RecordedRun extends Run {
  /** The record, canonical JSON. */
  record: string;
  digest: string;
}

/** Runs an agent, or a baseline by its name, over a window and records it; an exception of the agent is rethrown. */
export function runBacktest(
  dataset: Dataset,
  agent: string | ((observation: MarketObservation) => Decision),
  settings?: Captured,
): RecordedRun;
/** Runs weights over a window, by default all bars: one row per bar of the market; only the rows of the window are used; NaN is a hold. */
export function runBacktest(dataset: Dataset, weights: readonly ArrayLike<number>[], settings?: Settings & Pick<Captured, "fill_key">): Run;
export function runBacktest(
  dataset: Dataset,
  decided: string | ((observation: MarketObservation) => Decision) | readonly ArrayLike<number>[],
  settings: Captured = {},
): Run {
  const market = nativeOf(dataset);
  if (typeof decided === "string") {
    const { captured, seed } = capturing(settings, decided);
    return recorded(native.run_baseline(market, text("agent", decided), captured, seed));
  }
  if (typeof decided === "function") {
    const { captured, seed } = capturing(settings, "agent");
    const decide = (shown: string): string => json("decision", decided(JSON.parse(shown) as MarketObservation));
    // An agent may run others; a stack overflow within the engine would corrupt it.
    if (depth === DEEPEST) throw refusal("argument_invalid", `runs within runs must be at most ${DEEPEST} deep; received more`);
    depth += 1;
    try {
      return recorded(native.run_backtest(market, decide, captured, seed));
    } finally {
      depth -= 1;
    }
  }
  const { seed = 0, ...rest } = members("settings", settings, [...RULES, "fill_key"]);
  return taken(native.run_weights(market, table(decided, market.symbols.length), rules(rest), integer("seed", seed)));
}

let depth = 0;

function capturing(settings: Captured, name: string): { captured: string; seed: bigint } {
  const known = members("settings", settings, [...RULES, "fill_key", "agent_id", "in_sample_trials"]);
  const { seed = 0, agent_id = name, in_sample_trials = 0, ...rest } = known;
  const declared = trials("in_sample_trials", in_sample_trials);
  const captured = `{"agent_id":${json("agent_id", text("agent_id", agent_id))},"in_sample_trials":${declared},"settings":${rules(rest)}}`;
  return { captured, seed: integer("seed", seed) };
}

/** Returns the settings of a run or of a replay, as JSON. */
function rules(settings: Omit<Captured, "seed"> & Held): string {
  const { window = {}, lookback, costs = {}, limits = {} } = settings;
  for (const [name, bar] of Object.entries({ ...members("window", window, ["start", "end"]), lookback })) {
    if (bar !== undefined) count(name, bar);
  }
  for (const [name, value] of Object.entries(object("costs", costs))) {
    if (value !== undefined) number(`costs.${name}`, value);
  }
  for (const [name, value] of Object.entries(object("limits", limits))) {
    if (value !== undefined && value !== null && name !== "allow_short") number(`limits.${name}`, value);
  }
  return json("settings", settings, true);
}

function table(rows: readonly ArrayLike<number>[], width: number): Float64Array {
  const weights = new Float64Array(list("weights", rows).length * width);
  rows.forEach((row, bar) => {
    const found = numbers(`weights[${bar}]`, row);
    if (found.length !== width) {
      throw refusal("shape_mismatch", `a row must have ${width} weights, one per symbol; received ${found.length}`);
    }
    weights.set(found, bar * width);
  });
  return weights;
}

function recorded(run: native.Run): RecordedRun {
  const { record = "", digest = "" } = run;
  return { ...taken(run), record, digest };
}

/** Returns the result of a run, and frees its memory: a record may have many megabytes. */
function taken(run: native.Run): Run {
  const { nav, start, terminated_at: terminatedAt } = run;
  run.free();
  return { nav, start, terminatedAt };
}

/** Returns one unsigned record with the runs of several records, for a score on several windows. */
export function joinRecords(agentId: string, records: readonly string[], inSampleTrials: bigint | number = 0): string {
  return native.join_records(text("agentId", agentId), texts(records), trials("inSampleTrials", inSampleTrials));
}

/** Replays the decisions of a record and compares every step, bit for bit. */
export function replay(record: string, datasets: Dataset | readonly Dataset[], held: Held = {}): Replay {
  return JSON.parse(native.replay(text("record", record), shared(datasets), holding(held, HELD))) as Replay;
}

/** Recomputes the hashes of a record and verifies its signature over them, without its market. */
export function verifyRecord(record: string, held: Pick<Held, "public_key"> = {}): Verification {
  return JSON.parse(native.verify_record(text("record", record), holding(held, ["public_key"]))) as Verification;
}

/** The current edition of the scorer. */
const EDITION = 3;

/**
 * Scores agents by their replayed records.
 *
 * `config` has the settings that differ from the defaults of the scorer (`docs/score.md`). Without `edition` the board
 * is of the current one.
 */
export function score(
  records: string | readonly string[],
  datasets: Dataset | readonly Dataset[],
  options: { held?: Omit<Held, "public_key">; config?: Record<string, unknown> } = {},
): Board {
  const { held = {}, config = {} } = members("options", options, ["held", "config"]);
  const submitted = typeof records === "string" ? [records] : records;
  const known = holding(held, ["costs", "limits", "fill_key"]);
  return JSON.parse(native.score(texts(submitted), shared(datasets), known, json("config", { edition: EDITION, ...object("config", config) }))) as Board;
}

/** Returns the score of bare daily returns out of a number of trials; they are never eligible. */
export function scoreReturns(returns: ArrayLike<number>, nTrials: bigint | number = 0): Score {
  return JSON.parse(native.score_returns(numbers("returns", returns), integer("nTrials", nTrials))) as Score;
}

/** Returns a JSON text in the canonical form of RFC 8785. */
export function canonicalize(json: string): string {
  return native.canonicalize(text("json", json));
}

/** Returns the SHA-256 of bytes, or of a text in UTF-8, in hexadecimal. */
export function sha256(content: Uint8Array | string): string {
  const encoded = typeof content === "string" ? new TextEncoder().encode(text("content", content)) : content;
  return native.sha256(bytes("content", encoded));
}

/** Returns whether an inclusion proof of RFC 6962 is valid. */
export function verifyInclusion(
  index: bigint | number, size: bigint | number, leaf: Uint8Array, proof: readonly Uint8Array[], root: Uint8Array,
): boolean {
  const [place, among] = [integer("index", index), integer("size", size)];
  return native.verify_inclusion(place, among, bytes("leaf", leaf), hashes(proof), bytes("root", root));
}

/** Returns whether a consistency proof of RFC 6962 is valid. */
export function verifyConsistency(
  oldSize: bigint | number, size: bigint | number, oldRoot: Uint8Array, root: Uint8Array, proof: readonly Uint8Array[],
): boolean {
  const [from, to] = [integer("oldSize", oldSize), integer("size", size)];
  return native.verify_consistency(from, to, bytes("oldRoot", oldRoot), bytes("root", root), hashes(proof));
}

function shared(datasets: Dataset | readonly Dataset[]): native.Dataset[] {
  const markets = Array.isArray(datasets) ? list<Dataset>("datasets", datasets) : [datasets as Dataset];
  // The engine consumes its arguments: all must be markets before the first is passed.
  return markets.map((each) => nativeOf(each)).map((each) => each.share());
}

const HELD = ["costs", "limits", "fill_key", "public_key"] as const;

function holding(held: Held, known: readonly (keyof Held)[]): string {
  return rules(members("held", held, known));
}

function texts(records: readonly string[]): string[] {
  return list("records", records).map((record) => text("record", record));
}

function hashes(proof: readonly Uint8Array[]): Uint8Array[] {
  return list("proof", proof).map((hash) => bytes("proof", hash));
}
