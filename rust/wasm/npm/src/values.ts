/** Conversion of arguments: no value is rounded or dropped silently. */

import type { OpenOutcryError } from "./contract.js";

const DEEPEST = 64;
// A size that fits in the 4 GB of WebAssembly several times.
const LONGEST = { text: 2 ** 27, bytes: 2 ** 29 };

/**
 * Returns a value as JSON; `undefined` fields of an object are left out.
 *
 * JSON has no form for numbers that are not finite: if `named`, the engine reads `{"number": "NaN"}`. Then
 * all numbers are doubles, and a BigInt is refused.
 */
export function json(name: string, value: unknown, named = false): string {
  const path: (string | number)[] = [];
  const refuse = (wanted: string, received: string): never => {
    const shown = path.slice(0, 8).map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
    const place = `${name}${shown}${path.length > 8 ? "\u2026" : ""}`;
    throw refusal("argument_invalid", `\`${place}\` must be ${wanted}; received ${received}`);
  };
  const written = (said: unknown): string => {
    // Once, as in `JSON.stringify`: a `toJSON` that returns itself would not end.
    const each = hasJson(said) ? said.toJSON() : said;
    if (path.length > DEEPEST) refuse(`at most ${DEEPEST} levels deep`, "more");
    if (typeof each === "string") return JSON.stringify(hasUtf8(each) ? each : refuse("text of a form in UTF-8", "half a surrogate pair"));
    if (typeof each === "bigint" && named) return refuse("a number", "a BigInt");
    if (typeof each === "boolean" || typeof each === "bigint" || each === null) return String(each);
    if (typeof each === "number") {
      if (Number.isFinite(each)) return Object.is(each, -0) ? "-0" : String(each);
      return named ? `{"number":"${each}"}` : refuse("finite", kind(each));
    }
    if (Array.isArray(each) || isNumbers(each)) return `[${Array.from(each, inside).join(",")}]`;
    const members = Object.entries(isObject(each) ? each : refuse("a value of JSON", kind(each)));
    return `{${members.filter(([, one]) => one !== undefined).map(([key, one]) => `${written(key)}:${inside(one, key)}`).join(",")}}`;
  };
  const inside = (each: unknown, key: string | number): string => {
    path.push(key);
    const found = written(each);
    path.pop();
    return found;
  };
  return written(value);
}

/** Returns an object with no other members than the given names. */
export function members<T extends object>(name: string, value: T, known: readonly (keyof T & string)[]): T {
  const other = Object.keys(object(name, value)).find((key) => !known.some((one) => one === key));
  if (other === undefined) return value;
  throw refusal("argument_invalid", `\`${name}\` must have members of ${known.join(", ")}; received \`${other}\``);
}

/** Returns an object with own members by name; a list is refused. */
export function object<T extends object>(name: string, value: T): T {
  if (isObject(value)) return value;
  throw refusal("argument_invalid", `\`${name}\` must be a plain object; received ${kind(value)}`);
}

/** Returns a list without holes. */
export function list<T>(name: string, values: readonly T[]): readonly T[] {
  if (!Array.isArray(values)) throw refusal("argument_invalid", `\`${name}\` must be an array; received ${kind(values)}`);
  for (let index = 0; index < values.length; index++) {
    if (!(index in values)) throw refusal("argument_invalid", `\`${name}[${index}]\` must be a value; received a hole`);
  }
  return values as readonly T[];
}

/** Returns a text; a lone surrogate is refused, because UTF-8 cannot encode it. */
export function text(name: string, value: unknown): string {
  if (typeof value !== "string") throw refusal("argument_invalid", `\`${name}\` must be a text; received ${kind(value)}`);
  if (value.length > LONGEST.text) {
    throw refusal("argument_invalid", `\`${name}\` must be at most ${LONGEST.text} characters long; received ${value.length}`);
  }
  if (hasUtf8(value)) return value;
  throw refusal("argument_invalid", `\`${name}\` must have a form in UTF-8; received half a surrogate pair`);
}

/** Returns bytes. */
export function bytes(name: string, value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw refusal("argument_invalid", `\`${name}\` must be a Uint8Array; received ${kind(value)}`);
  if (value.length <= LONGEST.bytes) return held(name, value);
  throw refusal("argument_invalid", `\`${name}\` must be at most ${LONGEST.bytes} bytes; received ${value.length}`);
}

/** Returns numbers; `null` is refused, not 0. */
export function numbers(name: string, values: ArrayLike<number>): Float64Array {
  if (isNumbers(values)) held(name, values);
  if (values instanceof Float64Array) return values;
  const isList = Array.isArray(values) || isNumbers(values);
  if (!isList) throw refusal("argument_invalid", `\`${name}\` must be numbers; received ${kind(values)}`);
  return Float64Array.from(values, (value, index) => number(`${name}[${index}]`, value));
}

/** Returns an array that was not transferred: a transferred array has no memory. */
function held<T extends ArrayBufferView>(name: string, view: T): T {
  try {
    new Uint8Array(view.buffer);
  } catch {
    throw refusal("argument_invalid", `\`${name}\` must have its memory; received an array whose memory was sent elsewhere`);
  }
  return view;
}

/** Returns a number. */
export function number(name: string, value: unknown): number {
  if (typeof value === "number") return value;
  throw refusal("argument_invalid", `\`${name}\` must be a number; received ${kind(value)}`);
}

/** Returns a 64-bit integer without rounding. */
export function integer(name: string, value: bigint | number): bigint {
  const isExact = typeof value === "bigint" ? BigInt.asUintN(64, value) === value : Number.isSafeInteger(value) && value >= 0;
  if (isExact) return BigInt(value);
  const wanted = "a whole number from 0 to 18446744073709551615, a BigInt above 2^53 - 1";
  throw refusal("argument_invalid", `\`${name}\` must be ${wanted}; received ${kind(value)}`);
}

/** Returns a number of trials within the range of a record. */
export function trials(name: string, value: bigint | number): bigint {
  const found = integer(name, value);
  if (found <= Number.MAX_SAFE_INTEGER) return found;
  throw refusal("argument_invalid", `\`${name}\` must be at most 2^53 - 1; received ${found}`);
}

/** Returns a size, a whole number. */
export function count(name: string, value: number): number {
  // -0 is not a whole number in JSON.
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32 && !Object.is(value, -0)) return value;
  throw refusal("argument_invalid", `\`${name}\` must be a whole number below 2^32; received ${kind(value)}`);
}

/** Returns the error type of the engine. */
export function refusal(slug: string, message: string): OpenOutcryError {
  return Object.assign(new Error(`${slug}: ${message}`), { name: "OpenOutcryError" as const, slug });
}

/** Returns the kind of a value, in a word. */
export function kind(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  if (Array.isArray(value)) return "an array";
  const { constructor } = value;
  return `an object of ${typeof constructor === "function" && constructor.name ? constructor.name : "no class"}`;
}

// Not by its class: another window or realm has its own class.
function isObject(value: unknown): value is object {
  if (Object.prototype.toString.call(value) !== "[object Object]") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf"));
}

// A lone surrogate has none.
function hasUtf8(value: string): boolean {
  return !/\p{Surrogate}/u.test(value);
}

function isNumbers(value: unknown): value is Float64Array {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function hasJson(value: unknown): value is { toJSON: () => unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}
