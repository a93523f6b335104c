/** `node node.mjs PACKAGE FILE`: prints what Node makes of the vectors, or of the episodes in the file. */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { outcomes } from "./episodes.mjs";
import { faults } from "./vectors.mjs";

const [place, file] = process.argv.slice(2);
const oo = await import(pathToFileURL(place).href);
const contract = new URL("../../contract/", import.meta.url);
const made = file === undefined
  ? faults(oo, (path) => readFileSync(new URL(path, contract), "utf8"))
  : outcomes(oo, JSON.parse(readFileSync(file, "utf8")));
process.stdout.write(JSON.stringify(made));
