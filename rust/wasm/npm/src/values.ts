/** Values on their way into the engine: nothing is rounded, and nothing is dropped in silence. */

import type { OpenOutcryError } from "./contract.js";

/** Returns JSON in which numbers that are not finite are their names, for which JSON has no word. */
export function json(value: unknown): string {
  const told = JSON.stringify(value, (_, each: unknown) =>
    typeof each === "number" && !Number.isFinite(each) ? String(each) : each,
  ) as string | undefined;
  if (told === undefined) throw refusal("argument_invalid", `an object is required; received ${typeof value}`);
  return told;
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
