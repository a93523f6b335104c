/** A market, typed over the compiled one. */

import * as native from "./native/openoutcry_wasm.js";
import type { Columns } from "./contract.js";
import { bytes, count, integer, json, kind, list, members, number, object, refusal, text } from "./values.js";

/** Returns the market of the compiled engine. @internal */
export let nativeOf: (dataset: Dataset) => native.Dataset;

/** A market: checked once, shared by every run on it. */
export class Dataset {
  readonly #native: native.Dataset;

  private constructor(made: native.Dataset) {
    if (!(made instanceof native.Dataset)) throw refusal("argument_invalid", "a market must be made by `Dataset.from...`");
    this.#native = made;
  }

  static {
    nativeOf = (dataset) => {
      if (typeof dataset === "object" && dataset !== null && #native in dataset) return dataset.#native;
      throw refusal("argument_invalid", `a market must be a Dataset; received ${kind(dataset)}`);
    };
  }

  /** Returns the market of a CSV text: `date,symbol,close[,open,high,low,volume,...]`, or `date` and a column a symbol. */
  static fromCsv(csv: string, options: { periodsPerYear?: number; name?: string } = {}): Dataset {
    const { periodsPerYear, name } = members("options", options, ["periodsPerYear", "name"]);
    const periods = periodsPerYear === undefined ? undefined : number("periodsPerYear", periodsPerYear);
    const made = new Dataset(native.Dataset.from_csv(text("csv", csv), periods));
    return name === undefined ? made : made.named(name);
  }

  /** Returns the market of columns. */
  static fromColumns(columns: Columns, options: { name?: string } = {}): Dataset {
    const { name } = members("options", options, ["name"]);
    const { fundamentals = [], news = [] } = object("columns", columns);
    for (const [part, rows] of Object.entries({ fundamentals, news })) {
      for (const row of list<object>(`columns.${part}`, rows)) object(`columns.${part}`, row);
    }
    const made = new Dataset(native.Dataset.from_columns(json("columns", columns, true)));
    return name === undefined ? made : made.named(name);
  }

  /** Returns the market of bytes that `toBytes` has written, in any language. */
  static fromBytes(content: Uint8Array): Dataset {
    return new Dataset(native.Dataset.from_bytes(bytes("content", content)));
  }

  /** Returns a market of random walks, fixed by its seed. */
  static synthetic(nSymbols: number, nDays: number, seed: bigint | number): Dataset {
    return new Dataset(native.Dataset.synthetic(count("nSymbols", nSymbols), count("nDays", nDays), integer("seed", seed)));
  }

  /**
   * Returns the synthetic market of a seed: of a tier or family by its name, such as `hard`, or of a spec in JSON.
   *
   * Train, validation and test are splits: no seed of one gives a market of another.
   */
  static scenario(spec: string, seed: bigint | number, options: { split?: string } = {}): Dataset {
    const { split = "train" } = members("options", options, ["split"]);
    return new Dataset(native.Dataset.scenario(text("spec", spec), text("split", split), integer("seed", seed)));
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
