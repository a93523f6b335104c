/** `node attacks.mjs PACKAGE_FOLDER ROUNDS`: what is no input is refused in words, and leaves the engine as it was. */

import { pathToFileURL } from "node:url";

const [folder, rounds] = process.argv.slice(2);
const oo = await import(pathToFileURL(`${folder}/node.js`).href);
const { initSync } = await import(pathToFileURL(`${folder}/native/openoutcry_wasm.js`).href);

const market = oo.Dataset.synthetic(2, 40, 1);
const run = oo.runBacktest(market, "momentum");
const env = () => {
  const made = new oo.TradingEnv(market);
  made.reset();
  return made;
};
const LONE = "\ud800";

const REFUSED = {
  "a decision that is a number": () => env().stepJson(5),
  "a decision that is nothing": () => env().step(undefined),
  "a weight that is null": () => env().stepWeights([null, 0.5]),
  "a weight that is text": () => env().stepWeights(["0.5", 0.5]),
  "a weight that is NaN": () => env().stepWeights([NaN, 0.5]),
  "a row that is too short": () => oo.runBacktest(market, [[0.5]]),
  "rows that are too few": () => oo.runBacktest(market, [[0.5, 0.5]]),
  "a row with null": () => oo.runBacktest(market, market.dates.map(() => [null, 0.5])),
  "half a letter in JSON": () => oo.canonicalize(`"${LONE}"`),
  "half a letter to hash": () => oo.sha256(LONE),
  "half a letter in a name": () => market.named(LONE),
  "half a letter in a CSV": () => oo.Dataset.fromCsv(`date,${LONE}\n2024-01-01,1\n2024-01-02,1\n`),
  "half a letter in a decision": () => oo.runBacktest(market, () => ({ orders: [], reasoning: "a".repeat(3) + LONE }), {}),
  "an agent that decides nothing": () => oo.runBacktest(market, () => undefined),
  "an agent that nobody knows": () => oo.runBacktest(market, "nobody"),
  "bytes that are none": () => oo.Dataset.fromBytes(new ArrayBuffer(10)),
  "bytes that claim to be many": () => oo.Dataset.fromBytes(claiming()),
  "a market that is none": () => oo.replay(run.record, { native: 1 }),
  "no market": () => oo.replay(run.record, []),
  "a seed that was rounded": () => oo.Dataset.synthetic(1, 40, 2 ** 60),
  "a seed below zero": () => oo.Dataset.synthetic(1, 40, -1n),
  "a seed above 64 bits": () => oo.Dataset.synthetic(1, 40, 2n ** 64n),
  "a size that is no number": () => oo.Dataset.synthetic(NaN, 40, 1),
  "a market beyond memory": () => oo.Dataset.synthetic(65_536, 65_536, 1),
  "a window beyond 32 bits": () => new oo.TradingEnv(market, { window: { start: 2 ** 40 } }),
  "a setting that there is not": () => new oo.TradingEnv(market, { cost: {} }),
  "a fee that is infinite": () => new oo.TradingEnv(market, { costs: { fee_bps: Infinity } }),
  "a checkpoint of another market": () => env().restoreState(new oo.TradingEnv(oo.Dataset.synthetic(2, 40, 2)).saveState()),
  "a key that is none": () => oo.verifyRecord(run.record, { public_key: "00" }),
  "a signature where there is none": () => oo.verifyRecord(run.record, { public_key: "00".repeat(32) }),
};

function claiming() {
  const bytes = oo.Dataset.synthetic(1, 40, 1).toBytes();
  // The number of dates stands behind the magic and the name of the field.
  bytes.fill(0xff, 22 + 8 + 5, 22 + 8 + 5 + 8);
  return bytes;
}

function slugOf(act) {
  try {
    act();
  } catch (error) {
    return oo.isOpenOutcryError(error) ? error.slug : `${error.name}: ${error.message}`;
  }
  return "nothing";
}

/** Numbers that are the same on every machine. */
function dice(seed) {
  let state = BigInt(seed);
  return (below) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(below));
  };
}

const LETTERS = ['"', "{", "}", "[", "]", ",", ":", "-", "0", "1", "9", "e", ".", "null", "NaN", "\n", "\u0000", "é", "1e999", "\\ud800", ""];

function changed(text, roll) {
  let found = text;
  for (let times = 1 + roll(3); times > 0; times -= 1) {
    const at = roll(found.length);
    found = found.slice(0, at) + LETTERS[roll(LETTERS.length)] + found.slice(at + roll(4));
  }
  return found;
}

const columns = JSON.stringify({
  dates: ["2024-01-02", "2024-01-03", "2024-01-04"], symbols: ["A", "B"], close: [[1, 2], [1.5, null], [2, 3]], volume: [[9, 9], [9, 9], [9, 9]],
  splits: [[1, 1], [2, 1], [1, 1]], news: [{ symbol: "A", available_at: "2024-01-02", headline: "up" }], periods_per_year: 252,
});
const settings = JSON.stringify({ window: { start: 1, end: 30 }, costs: { fee_bps: 1, slippage_jitter: 0.5 }, limits: { max_weight: null }, lookback: 5 });
const config = JSON.stringify({ gates: { days: 10 }, draws: { replicates: 10 }, trials: { n_trials: 3 }, luck_floor: ["a"], originals: [] });
const spec = oo.scenarioSpec("calm").replace(/"n_days":\d+/, '"n_days":60');
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
const FUZZED = [
  [settings, (text) => new oo.TradingEnv(market, parsed(text)).reset()],
  [columns, (text) => oo.Dataset.fromColumns(parsed(text))],
  [run.record, (text) => oo.replay(text, market)],
  [run.record, (text) => oo.verifyRecord(text)],
  [run.record, (text) => oo.joinRecords("several", [text, run.record])],
  [config, (text) => oo.score(run.record, market, { config: parsed(text) })],
  [spec, (text) => oo.Dataset.scenario(text, 1)],
  ["date,symbol,close,volume\n2024-01-02,A,1,2\n2024-01-03,A,2,2\n", (text) => oo.Dataset.fromCsv(text)],
  ['{"orders":[{"symbol":"S000","action":"buy","target_weight":0.5}]}', (text) => env().stepJson(text)],
  ['{"a":[1,2.5e3,"x"],"b":{"c":null}}', (text) => oo.canonicalize(text)],
];

function fuzz() {
  const wrong = [];
  let refused = 0;
  FUZZED.forEach(([text, act], which) => {
    for (let round = 0; round < Number(rounds); round += 1) {
      const given = changed(text, dice(1000 * which + round));
      const slug = slugOf(() => act(given));
      if (slug.includes(": ")) wrong.push(`${which}, ${round}: ${slug}: ${given.slice(0, 300)}`);
      refused += slug !== "nothing";
    }
  });
  return { wrong, refused };
}

function bytesOfRuns() {
  const large = oo.Dataset.synthetic(8, 2_000, 1);
  for (let k = 0; k < 5; k += 1) oo.runBacktest(large, "momentum");
  const before = initSync().memory.buffer.byteLength;
  for (let k = 0; k < 100; k += 1) oo.runBacktest(large, "momentum");
  return initSync().memory.buffer.byteLength - before;
}

const refusals = Object.fromEntries(Object.entries(REFUSED).map(([name, act]) => [name, slugOf(act)]));
const fuzzed = fuzz();
const grown = bytesOfRuns();
const again = oo.runBacktest(market, "momentum").digest === run.digest;
process.stdout.write(JSON.stringify({ refusals, ...fuzzed, grown, again }));
