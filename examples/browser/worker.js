// What computes: the engine, beside the page, so that a rule that never ends can be stopped.
// `engine.js` stands before this text, and gives `wasm_bindgen`.

const N_WINDOWS = 8;
const bundled = new Map();

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "open") await open(data);
    else await run(data);
  } catch (error) {
    self.postMessage({ kind: "failed", id: data.id, message: error instanceof Error ? error.message : String(error), line: lineOf(error) });
  }
};

async function open({ wasm, markets }) {
  await wasm_bindgen({ module_or_path: wasm });
  for (const { name, bytes } of markets) bundled.set(name, wasm_bindgen.Dataset.from_bytes(bytes).named(name));
  self.postMessage({ kind: "opened", engine: wasm_bindgen.engine_version(), contract: wasm_bindgen.contract_version() });
}

function marketOf({ name, csv, periods, seed }) {
  if (csv !== undefined) return wasm_bindgen.Dataset.from_csv(csv, periods).named(name);
  if (bundled.has(name)) return bundled.get(name);
  return wasm_bindgen.Dataset.scenario(name, "train", BigInt(seed)).named(`${name} ${seed}`);
}

async function run({ id, market, rule, costs }) {
  const tell = (text) => self.postMessage({ kind: "progress", id, text });
  const began = performance.now();
  const dataset = marketOf(market);
  const { dates } = dataset;
  const over = (window) => {
    const settings = JSON.stringify({ agent_id: "my rule", settings: { window, costs } });
    return wasm_bindgen.run_backtest(dataset, answering(rule), settings, 0n);
  };
  tell(`trading ${dates.length.toLocaleString("en")} bars`);
  const whole = over({});
  const held = wasm_bindgen.run_baseline(
    dataset, "buy-and-hold", JSON.stringify({ agent_id: "buy-and-hold", settings: { costs } }), 0n,
  );
  const traded = performance.now();
  self.postMessage({
    kind: "traded", id, nav: whole.nav, held: held.nav, dates: dates.slice(whole.start, whole.start + whole.nav.length),
    record: whole.record, digest: whole.digest, fingerprint: dataset.fingerprint, endedAt: whole.terminated_at,
    milliseconds: traded - began,
  });
  tell("judging it on windows of the market");
  const windows = windowsOf(whole.start, dates.length);
  const joined = wasm_bindgen.join_records("my rule", windows.map((window) => over(window).record), 0n);
  const board = JSON.parse(wasm_bindgen.score([joined], [dataset.share()], "{}", "{}"));
  self.postMessage({ kind: "judged", id, score: board.scores[0], milliseconds: performance.now() - traded });
}

function windowsOf(start, end) {
  // The last bar of one is the first of the next: no day is left out.
  const count = Math.max(1, Math.min(N_WINDOWS, Math.floor((end - start - 1) / 2)));
  const edge = (k) => start + Math.floor(((end - start - 1) * k) / count);
  return Array.from({ length: count }, (_, k) => ({ start: edge(k), end: edge(k + 1) + 1 }));
}

/** Returns what the engine asks: the rule of the page, made anew so that each run begins without a memory. */
function answering(rule) {
  const decide = new Function(`"use strict";${rule}\n;return decide;`)();
  if (typeof decide !== "function") throw new TypeError("a function named `decide` is required");
  return (text) => {
    const observation = JSON.parse(text);
    return JSON.stringify(decisionOf(decide(observation), observation));
  };
}

/** Returns the decision of an answer: a decision of the contract, or weights by the name of the symbol. */
function decisionOf(answer, { portfolio }) {
  if (answer === undefined || answer === null || typeof answer !== "object") {
    throw new TypeError(`decide must return weights by symbol, such as {USD: 0.5}; it returned ${answer}`);
  }
  if (Array.isArray(answer.orders)) return answer;
  const orders = Object.entries(answer).map(([symbol, weight]) => {
    if (typeof weight !== "number" || !Number.isFinite(weight)) {
      throw new TypeError(`a weight must be a finite number; decide returned ${weight} for ${symbol}`);
    }
    return { symbol, action: weight < 0 ? "sell" : "buy", target_weight: weight };
  });
  const closed = portfolio.filter(({ symbol }) => !Object.hasOwn(answer, symbol));
  return { orders: [...orders, ...closed.map(({ symbol }) => ({ symbol, action: "close", target_weight: 0 }))] };
}

/** Returns the line of the rule that an error names; what `Function` puts before the first is two lines. */
function lineOf(error) {
  const found = /<anonymous>:(\d+):\d+/.exec(error?.stack ?? "");
  return found ? Number(found[1]) - 2 : null;
}
