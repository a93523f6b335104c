/** `node node.mjs PACKAGE [WHAT FILE]`: prints the results of the vectors, or of what the file has, in Node. */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { boards } from "./boards.mjs";
import { outcomes } from "./episodes.mjs";
import { readings, runs } from "./files.mjs";
import { faults } from "./vectors.mjs";

const [place, what, file] = process.argv.slice(2);
const oo = await import(pathToFileURL(place).href);
const contract = new URL("../../contract/", import.meta.url);
const given = () => JSON.parse(readFileSync(file, "utf8"));
const results = what === undefined
  ? faults(oo, (path) => readFileSync(new URL(path, contract), "utf8"))
  : { episodes: outcomes, boards, readings, runs }[what](oo, given());
process.stdout.write(JSON.stringify(results));
