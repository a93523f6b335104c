/** The tasks that `wasm_speed.py` times in Node: `node wasm_speed.mjs PACKAGE FOLDER SECONDS DECISION`. */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [place, folder, seconds, decision] = process.argv.slice(2);
const { Dataset, TradingEnv, replay, runBacktest } = await import(pathToFileURL(place).href);

const market = Dataset.fromBytes(readFileSync(`${folder}/market`));
const record = readFileSync(`${folder}/record.json`, "utf8");
const flat = new Float64Array(new Uint8Array(readFileSync(`${folder}/weights`)).buffer);
const width = market.symbols.length;
const weights = market.dates.map((_, bar) => flat.subarray(bar * width, (bar + 1) * width));
const env = new TradingEnv(market);

function steps() {
  env.resetJson();
  while (!env.terminated && !env.truncated) env.stepJson(decision);
}

function best(act) {
  const ends = performance.now() + 1000 * Number(seconds);
  let fastest = Infinity;
  for (let started = performance.now(); started < ends; started = performance.now()) {
    act();
    fastest = Math.min(fastest, performance.now() - started);
  }
  return fastest / 1000;
}

if (!replay(record, market).verified) throw new Error("a record that replays is required");
const times = { steps: best(steps), replay: best(() => replay(record, market)), weights: best(() => runBacktest(market, weights)) };
process.stdout.write(JSON.stringify(times));
