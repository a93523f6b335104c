/** `node attacks.mjs PACKAGE_FOLDER ROUNDS`: invalid input is refused with a slug and leaves the engine unchanged. */

import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";

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
const CSV = "date,symbol,close\n2024-01-02,A,1\n2024-01-03,A,2\n";
const COLUMNS = { dates: ["2024-01-02", "2024-01-03"], symbols: ["A"], close: [[1], [2]] };
const HEARD = { symbol: "A", available_at: "2024-01-02", headline: "up" };
const WEIGHTS = market.dates.map(() => [0.5, 0.5]);

const REFUSED = {
  "a decision that is a number": () => env().stepJson(5),
  "a decision that is undefined": () => env().step(undefined),
  "a weight that is null": () => env().stepWeights([null, 0.5]),
  "a weight that is text": () => env().stepWeights(["0.5", 0.5]),
  "a weight that is NaN": () => env().stepWeights([NaN, 0.5]),
  "a row that is too short": () => oo.runBacktest(market, [[0.5]]),
  "rows that are too few": () => oo.runBacktest(market, [[0.5, 0.5]]),
  "a row with null": () => oo.runBacktest(market, market.dates.map(() => [null, 0.5])),
  "a lone surrogate in JSON": () => oo.canonicalize(`"${LONE}"`),
  "a lone surrogate to hash": () => oo.sha256(LONE),
  "a lone surrogate in a name": () => market.named(LONE),
  "a lone surrogate in a CSV": () => oo.Dataset.fromCsv(`date,${LONE}\n2024-01-01,1\n2024-01-02,1\n`),
  "a lone surrogate in a decision": () => oo.runBacktest(market, () => ({ orders: [], reasoning: "a".repeat(3) + LONE }), {}),
  "an agent that returns undefined": () => oo.runBacktest(market, () => undefined),
  "an unknown agent": () => oo.runBacktest(market, "unknown"),
  "invalid bytes of a market": () => oo.Dataset.fromBytes(new ArrayBuffer(10)),
  "bytes that state an excessive length": () => oo.Dataset.fromBytes(claiming()),
  "an object that is not a market": () => oo.replay(run.record, { native: 1 }),
  "no market": () => oo.replay(run.record, []),
  "a seed that was rounded": () => oo.Dataset.synthetic(1, 40, 2 ** 60),
  "a seed below zero": () => oo.Dataset.synthetic(1, 40, -1n),
  "a seed above 64 bits": () => oo.Dataset.synthetic(1, 40, 2n ** 64n),
  "a size that is NaN": () => oo.Dataset.synthetic(NaN, 40, 1),
  "a market beyond memory": () => oo.Dataset.synthetic(65_536, 65_536, 1),
  "a window beyond 32 bits": () => new oo.TradingEnv(market, { window: { start: 2 ** 40 } }),
  "an unknown setting": () => new oo.TradingEnv(market, { cost: {} }),
  "a fee that is infinite": () => new oo.TradingEnv(market, { costs: { fee_bps: Infinity } }),
  "a checkpoint of another market": () => env().restoreState(new oo.TradingEnv(oo.Dataset.synthetic(2, 40, 2)).saveState()),
  "an invalid key": () => oo.verifyRecord(run.record, { public_key: "00" }),
  "a key for a record without a signature": () => oo.verifyRecord(run.record, { public_key: "00".repeat(32) }),
  "a fill key for an environment": () => new oo.TradingEnv(market, { fill_key: "05".repeat(32) }),
  "trials that were rounded": () => oo.runBacktest(market, "momentum", { in_sample_trials: 2 ** 60 }),
  "trials that are text": () => oo.runBacktest(market, "momentum", { in_sample_trials: "3" }),
  "a name that is a number": () => oo.runBacktest(market, "momentum", { agent_id: NaN }),
  "a name for a run without a record": () => oo.runBacktest(market, WEIGHTS, { agent_id: "x" }),
  "an unknown option": () => oo.Dataset.fromCsv(CSV, { periods_per_year: 365 }),
  "bars per year that are text": () => oo.Dataset.fromCsv(CSV, { periodsPerYear: "365" }),
  "options that are null": () => oo.Dataset.fromCsv(CSV, null),
  "a split that is null": () => oo.Dataset.scenario("calm", 1, { split: null }),
  "settings that are null": () => new oo.TradingEnv(market, null),
  "settings that are a list": () => new oo.TradingEnv(market, []),
  "settings that are a Map": () => new oo.TradingEnv(market, new Map([["lookback", 5]])),
  "a window that is a list": () => new oo.TradingEnv(market, { window: [1, 30] }),
  "costs that are a list": () => new oo.TradingEnv(market, { costs: [1, 2] }),
  "costs that are null": () => oo.replay(run.record, market, { costs: null }),
  "a key that is null": () => oo.verifyRecord(run.record, { public_key: null }),
  "a start that is null": () => new oo.TradingEnv(market, { window: { start: null } }),
  "a lookback that is null": () => new oo.TradingEnv(market, { lookback: null }),
  "a seed that is null": () => new oo.TradingEnv(market, { seed: null }),
  "a fee that is text": () => new oo.TradingEnv(market, { costs: { fee_bps: "NaN" } }),
  "a fee that is a function": () => new oo.TradingEnv(market, { costs: { fee_bps: () => 1 } }),
  "a market that is null": () => new oo.TradingEnv(null),
  "a market by its prototype": () => new oo.TradingEnv(Object.create(oo.Dataset.prototype)),
  "an object that is not a checkpoint": () => env().restoreState({}),
  "weights that are null": () => env().stepWeights(null),
  "weights that are a text": () => env().stepWeights("12"),
  "weights that are BigInts": () => env().stepWeights([1n, 2n]),
  "rows that are null": () => oo.runBacktest(market, null),
  "rows of an object": () => oo.runBacktest(market, [{ length: 2 }]),
  "NaN in a decision": () => env().step({ orders: [{ symbol: "S000", action: "buy", target_weight: NaN }] }),
  "NaN in place of a text": () => oo.runBacktest(market, () => ({ orders: [], reasoning: NaN })),
  "a function in a decision": () => env().step({ orders: [], reasoning: () => "x" }),
  "a hole in the orders": () => env().step({ orders: [undefined] }),
  "a cyclic decision": () => env().step(endless()),
  "a decision with toJSON": () => env().step({ toJSON() { return this; } }),
  "an async agent": () => oo.runBacktest(market, async () => ({ orders: [] })),
  "endless nested runs": () => within(Infinity),
  "settings that are inherited": () => oo.runBacktest(market, "momentum", Object.create({ costs: { fee_bps: 500 } })),
  "costs that are inherited": () => oo.runBacktest(market, "momentum", { costs: Object.create({ fee_bps: 500 }) }),
  "settings of a class": () => oo.runBacktest(market, "momentum", new (class { get costs() { return { fee_bps: 500 }; } })()),
  "a decision of a class": () => env().step(new (class { orders = []; get reasoning() { return "x"; } })()),
  "a market without arguments": () => new oo.Dataset(),
  "a checkpoint without arguments": () => new oo.State(),
  "weights with a detached buffer": () => env().stepWeights(gone()),
  "a lookback that is NaN": () => new oo.TradingEnv(market, { lookback: NaN }),
  "a fractional lookback": () => new oo.TradingEnv(market, { lookback: 20.5 }),
  "an unknown edge of a window": () => new oo.TradingEnv(market, { window: { first: 1 } }),
  "a margin that is null": () => new oo.TradingEnv(market, { limits: { maintenance_margin: null } }),
  "records that are a number": () => oo.score(5, market),
  "records with a number": () => oo.score([5], market),
  "trials of a board as text": () => oo.score(run.record, market, { config: { trials: { n_trials: "3" } } }),
  "a board's draws that are a list": () => oo.score(run.record, market, { config: { draws: [5] } }),
  "a board's windows of lists": () => oo.score(run.record, market, { config: { windows: [[null, 1, 2]] } }),
  "a signer of a board": () => oo.score(run.record, market, { held: { public_key: "00".repeat(32) } }),
  "a config that is null": () => oo.score(run.record, market, { config: null }),
  "a proof that is null": () => oo.verifyInclusion(0, 1, new Uint8Array(32), null, new Uint8Array(32)),
  "a proof of texts": () => oo.verifyInclusion(0, 1, new Uint8Array(32), ["00"], new Uint8Array(32)),
  "a symbol that is a number": () => oo.Dataset.fromColumns({ ...COLUMNS, symbols: [NaN] }),
  "a headline that is a number": () => oo.Dataset.fromColumns({ ...COLUMNS, news: [{ ...HEARD, headline: Infinity }] }),
  "a headline that is a list": () => oo.Dataset.fromColumns({ ...COLUMNS, news: [["A", "2024-01-02", "up"]] }),
  "volumes that are BigInts": () => oo.Dataset.fromColumns({ ...COLUMNS, volume: [[2n ** 53n + 1n], [1]] }),
  "a market beyond 4 GB": () => oo.Dataset.synthetic(4_000, 10_000, 1),
  "a text beyond 4 GB": () => oo.canonicalize(`"${"a".repeat(2 ** 27)}"`),
  "bytes beyond 4 GB": () => oo.sha256(new Uint8Array(2 ** 29 + 1)),
  "bytes with a detached buffer": () => oo.sha256(gone(Uint8Array)),
  "float32 weights with a detached buffer": () => env().stepWeights(gone(Float32Array)),
  "trials beyond the range of a record": () => oo.runBacktest(market, "momentum", { in_sample_trials: 2n ** 53n }),
  "joined trials beyond the range of a record": () => oo.joinRecords("x", [run.record], 2n ** 53n),
  "a hole in the rows": () => oo.runBacktest(market, holed()),
  "rows that are all holes": () => oo.runBacktest(market, Array(40)),
  "a hole in the markets": () => oo.replay(run.record, [, market]),
  "a hole in the records": () => oo.joinRecords("x", [, run.record]),
  "a hole in a proof": () => oo.verifyInclusion(0, 2, new Uint8Array(32), [, new Uint8Array(32)], new Uint8Array(32)),
  "a start of negative zero": () => new oo.TradingEnv(market, { window: { start: -0 } }),
  "an unknown scenario": () => oo.Dataset.scenario("foo", 1),
  "volumes that are null": () => oo.Dataset.fromColumns({ ...COLUMNS, volume: null }),
};

function within(levels) {
  return oo.runBacktest(market, () => {
    if (levels > 0) within(levels - 1);
    return { orders: [] };
  }, { window: { start: 19, end: 21 } });
}

function holed() {
  const rows = [...WEIGHTS];
  delete rows[30];
  return rows;
}

function gone(Kind = Float64Array) {
  const weights = Kind.of(0.5, 0.5);
  structuredClone(weights, { transfer: [weights.buffer] });
  return weights;
}

function endless() {
  const decision = { orders: [] };
  decision.reasoning = decision;
  return decision;
}

// Values that must pass through unchanged.
const close = [[1], [2], [3]], zeros = { ...COLUMNS, dates: [...COLUMNS.dates, "2024-01-04"], close };
const lossless = {
  "a negative zero": oo.Dataset.fromColumns({ ...zeros, risk_free: [0, -0, 0] }).fingerprint,
  "rows that are arrays of doubles": oo.Dataset.fromColumns({ ...zeros, close: close.map((row) => Float64Array.from(row)) }).fingerprint,
  "an undefined column": oo.Dataset.fromColumns({ ...zeros, volume: undefined }).fingerprint,
  "a gap by either name": new Set([[null], [NaN]].map((gap) => oo.Dataset.fromColumns({ ...zeros, close: [[1], gap, [3]] }).fingerprint)).size,
  "the maximum number of trials": oo.verifyRecord(oo.runBacktest(market, "momentum", { in_sample_trials: 2n ** 53n - 1n }).record).in_sample_trials,
  "a 64-bit seed of the draws": oo.score(run.record, market, { config: { draws: { seed: 2n ** 64n - 1n, replicates: 20 } } }).scores.length,
  "nested runs": within(20).digest === within(0).digest,
  "settings of another realm": oo.runBacktest(market, "momentum", runInNewContext("({ costs: { fee_bps: 1 } })")).digest
    === oo.runBacktest(market, "momentum", { costs: { fee_bps: 1 } }).digest,
  "settings without a class": oo.runBacktest(market, "momentum", Object.assign(Object.create(null), { lookback: 20 })).digest === run.digest,
  "no limit by either name": new Set([null, Infinity].map((most) => oo.runBacktest(market, "momentum", { limits: { max_gross: most } }).digest)).size,
};

function claiming() {
  const bytes = oo.Dataset.synthetic(1, 40, 1).toBytes();
  // The number of dates follows the magic and the field name.
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

/** Random numbers, identical on every machine. */
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
  features: [{ name: "rsi", values: [[1, 2], [3, null], [5, 6]] }, { name: "vix", values: [1, 2, 3] }],
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
process.stdout.write(JSON.stringify({ refusals, lossless, ...fuzzed, grown, again }));
