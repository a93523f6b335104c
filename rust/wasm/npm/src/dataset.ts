/** The typed class of a market. */

import * as native from "./native/openoutcry_wasm.js";
import type { Columns } from "./contract.js";
import { bytes, count, integer, json, kind, list, members, number, object, refusal, text } from "./values.js";

/** Returns the market of the compiled engine. @internal */
export let nativeOf: (dataset: Dataset) => native.Dataset;

/** A market: validated once, shared by every run on it. */
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

  /**
   * Returns the market of a CSV text: `date,symbol,close[,open,high,low,volume,...]`, or `date` and one column per symbol.
   *
   * A split that the closes do not show is refused. A volume that is 0 on every bar of a symbol is taken for unknown.
   */
  static fromCsv(csv: string, options: { periodsPerYear?: number; name?: string } = {}): Dataset {
    const { periodsPerYear, name } = members("options", options, ["periodsPerYear", "name"]);
    const periods = periodsPerYear === undefined ? undefined : number("periodsPerYear", periodsPerYear);
    const made = new Dataset(native.Dataset.from_csv(text("csv", csv), periods));
    return name === undefined ? made : made.named(name);
  }

  /** Returns the market of columns, with every value as given: a bar of volume 0 cannot be traded. */
  static fromColumns(columns: Columns, options: { name?: string } = {}): Dataset {
    const { name } = members("options", options, ["name"]);
    const { fundamentals = [], news = [], features = [] } = object("columns", columns);
    for (const [part, rows] of Object.entries({ fundamentals, news, features })) {
      for (const row of list<object>(`columns.${part}`, rows)) object(`columns.${part}`, row);
    }
    const made = new Dataset(native.Dataset.from_columns(json("columns", columns, true)));
    return name === undefined ? made : made.named(name);
  }

  /** Returns the market of bytes that `toBytes` wrote, in any language. */
  static fromBytes(content: Uint8Array): Dataset {
    return new Dataset(native.Dataset.from_bytes(bytes("content", content)));
  }

  /** Returns a market of random walks, a function of its seed. */
  static synthetic(nSymbols: number, nDays: number, seed: bigint | number): Dataset {
    return new Dataset(native.Dataset.synthetic(count("nSymbols", nSymbols), count("nDays", nDays), integer("seed", seed)));
  }

  /**
   * Returns the synthetic market of a seed, for a tier or family such as `hard`, or for a spec in JSON.
   *
   * Train, validation and test are splits: no seed of one split gives a market of another.
   */
  static scenario(spec: string, seed: bigint | number, options: { split?: string } = {}): Dataset {
    const { split = "train" } = members("options", options, ["split"]);
    return new Dataset(native.Dataset.scenario(text("spec", spec), text("split", split), integer("seed", seed)));
  }

  /** Returns the market of a scenario with a revealed key: JSON of its spec, and 64 hexadecimal digits. */
  static revealed(spec: string, key: string): Dataset {
    return new Dataset(native.Dataset.revealed(text("spec", spec), text("key", key)));
  }

  /** Returns the same market with a name, which records must then have, and the commitment of its key. */
  named(name: string, commitment?: string): Dataset {
    const checked = commitment === undefined ? undefined : text("commitment", commitment);
    return new Dataset(this.#native.named(text("name", name), checked));
  }

  /** Returns the canonical bytes of the market; `fingerprint` is their SHA-256. */
  toBytes(): Uint8Array {
    return this.#native.to_bytes();
  }

  /** SHA-256 of the canonical bytes, in hexadecimal. */
  get fingerprint(): string {
    return this.#native.fingerprint;
  }

  /** Name in records; without a name the record is trusted. */
  get name(): string | undefined {
    return this.#native.name;
  }

  /** The commitment to the key of a sealed market. */
  get commitment(): string | undefined {
    return this.#native.commitment;
  }

  /** Dates of the bars, ascending. */
  get dates(): string[] {
    return this.#native.dates;
  }

  get symbols(): string[] {
    return this.#native.symbols;
  }

  /** Bars per year; `undefined` if the dates do not show it and it was not stated. */
  get periodsPerYear(): number | undefined {
    return this.#native.periods_per_year;
  }

  /** Caveats about the market: what was read in another way than written, and what its results leave out. */
  get notices(): string[] {
    return this.#native.notices;
  }

  /** Returns a column by name, bars by symbols, NaN for a missing value; `undefined` if the market lacks it. */
  column(name: string): Float64Array | undefined {
    return this.#native.column(text("name", name));
  }
}

/** Returns the JSON of the spec of a tier or family; edit it for another scenario. */
export function scenarioSpec(name: string): string {
  return native.scenario_spec(text("name", name));
}
