/** Values on their way into the engine: nothing is rounded, and nothing is dropped in silence. */

import type { OpenOutcryError } from "./contract.js";

/** Returns JSON in which numbers that are not finite are their names, for which JSON has no word. */
export function json(value: unknown): string {
  const told = JSON.stringify(value, (_, each: unknown) =>
    typeof each === "number" && !Number.isFinite(each) ? String(each) : each,
  ) as string | undefined;
  if (told === undefined) throw refusal("argument_invalid", `an object is required; received ${kind(value)}`);
  return text("a text in it", told);
}

/** Returns a text as it is: half a surrogate pair has no UTF-8, and another letter in its place would be a lie. */
export function text(name: string, value: unknown): string {
  if (typeof value !== "string") throw refusal("argument_invalid", `\`${name}\` must be a text; received ${kind(value)}`);
  if (/\p{Surrogate}/u.test(value)) {
    throw refusal("argument_invalid", `\`${name}\` must have a form in UTF-8; received half a surrogate pair`);
  }
  return value;
}

/** Returns bytes as they are. */
export function bytes(name: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw refusal("argument_invalid", `\`${name}\` must be a Uint8Array; received ${kind(value)}`);
}

/** Returns numbers as they are: `null` is none, and not 0. */
export function numbers(name: string, values: ArrayLike<number>): Float64Array {
  if (values instanceof Float64Array) return values;
  const found = Float64Array.from(values);
  if (found.length !== values?.length) throw refusal("argument_invalid", `\`${name}\` must be numbers; received ${kind(values)}`);
  for (let index = 0; index < values.length; index += 1) {
    const value: unknown = values[index];
    if (typeof value !== "number") {
      throw refusal("argument_invalid", `\`${name}[${index}]\` must be a number; received ${kind(value)}`);
    }
  }
  return found;
}

function kind(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

/** Returns a 64-bit integer that nothing has rounded. */
export function integer(value: bigint | number, name = "seed"): bigint {
  const wanted = `\`${name}\` must be a whole number from 0 to 18446744073709551615, a BigInt above 2^53 - 1`;
  if (typeof value === "bigint" ? BigInt.asUintN(64, value) !== value : !Number.isSafeInteger(value) || value < 0) {
    throw refusal("argument_invalid", `${wanted}; received ${String(value)}`);
  }
  return BigInt(value);
}

/** Returns a size, which is a whole number. */
export function count(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw refusal("argument_invalid", `\`${name}\` must be a whole number; received ${value}`);
  }
  return value;
}

/** Returns the error that the engine, too, throws. */
export function refusal(slug: string, message: string): OpenOutcryError {
  return Object.assign(new Error(`${slug}: ${message}`), { name: "OpenOutcryError" as const, slug });
}
