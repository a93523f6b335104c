// Runs the engine in a worker, so that an endless rule can be stopped.
// `engine.js` precedes this text and defines `wasm_bindgen`.

const N_WINDOWS = 8;
const bundled = new Map();
// A rule may reassign the global name.
const engine = wasm_bindgen;
// A message posted by a rule would look like a result of the engine.
const post = self.postMessage.bind(self);
self.postMessage = () => {
  throw new TypeError("a rule must return a decision; postMessage is not available");
};
self.close = () => {
  throw new TypeError("a rule must return a decision; close is not available");
};

// A listener: a rule could replace `onmessage`.
self.addEventListener("message", async ({ data }) => {
  try {
    if (data.kind === "open") await open(data);
    else await run(data);
  } catch (error) {
    post({ kind: "failed", id: data.id, message: messageOf(error), line: lineOf(error) });
  }
});

async function open({ wasm, markets }) {
  await engine({ module_or_path: wasm });
  for (const { name, bytes } of markets) bundled.set(name, engine.Dataset.from_bytes(bytes).named(name));
  post({ kind: "opened", engine: engine.engine_version(), contract: engine.contract_version() });
}

function marketOf({ name, csv, periods, seed }) {
  if (csv !== undefined) return engine.Dataset.from_csv(csv, periods).named(name);
  if (bundled.has(name)) return bundled.get(name);
  return engine.Dataset.scenario(name, "train", BigInt(seed)).named(`${name} ${seed}`);
}

async function run({ id, market, rule, costs }) {
  const progress = (text) => post({ kind: "progress", id, text });
  const started = performance.now();
  const dataset = marketOf(market);
  const { dates } = dataset;
  const counted = { cut: 0 };
  const over = (window) => {
    const settings = JSON.stringify({ agent_id: "my rule", settings: { window, costs } });
    return engine.run_backtest(dataset, agentOf(rule, dataset.symbols, counted), settings, 0n);
  };
  progress(`trading ${dates.length.toLocaleString("en")} bars`);
  const whole = over({});
  const held = engine.run_baseline(
    dataset, "buy-and-hold", JSON.stringify({ agent_id: "buy-and-hold", settings: { costs } }), 0n,
  );
  const traded = performance.now();
  post({
    kind: "traded", id, nav: whole.nav, held: held.nav, dates: dates.slice(whole.start, whole.start + whole.nav.length),
    record: whole.record, digest: whole.digest, fingerprint: dataset.fingerprint, endedAt: whole.terminated_at,
    notices: dataset.notices, nCut: counted.cut, milliseconds: traded - started,
  });
  progress("scoring windows of the market");
  const windows = windowsOf(whole.start, dates.length);
  const joined = engine.join_records("my rule", windows.map((window) => over(window).record), 0n);
  const board = JSON.parse(engine.score([joined], [dataset.share()], "{}", "{}"));
  post({ kind: "scored", id, score: board.scores[0], milliseconds: performance.now() - traded });
}

function windowsOf(start, end) {
  // The last bar of a window is the first of the next, so that no day is left out.
  const count = Math.max(1, Math.min(N_WINDOWS, Math.floor((end - start - 1) / 2)));
  const edge = (k) => start + Math.floor(((end - start - 1) * k) / count);
  return Array.from({ length: count }, (_, k) => ({ start: edge(k), end: edge(k + 1) + 1 }));
}

/**
 * Returns the agent that the engine calls: the rule of the page, compiled for each run so that runs share no state.
 *
 * Counts the decisions with a gross weight above 1, which the default limits reduce.
 */
function agentOf(rule, symbols, counted) {
  const listed = new Set(symbols);
  const decide = new Function(`"use strict";${rule}\n;return typeof decide === "undefined" ? undefined : decide;`)();
  if (typeof decide !== "function") throw new TypeError("a function named `decide` is required");
  return (text) => {
    const observation = JSON.parse(text);
    const decision = decisionOf(decide(observation), observation);
    const unknown = decision.orders.find((order) => typeof order?.symbol === "string" && !listed.has(order.symbol));
    if (unknown) throw new TypeError(`${unknown.symbol} is not a symbol of this market; it has ${few(symbols)}`);
    const traded = decision.orders.filter((order) => order?.action === "buy" || order?.action === "sell");
    if (traded.reduce((sum, order) => sum + Math.abs(order.target_weight), 0) > 1 + 1e-9) counted.cut += 1;
    return JSON.stringify(decision);
  };
}

/** Returns the decision for the return value of a rule: a decision of the contract, or weights by symbol. */
function decisionOf(returned, { portfolio }) {
  const kind = Object.prototype.toString.call(returned).slice(8, -1);
  if (kind !== "Object") {
    const received = kind === "Promise" ? "a promise, which is not awaited" : kind.toLowerCase();
    throw new TypeError(`decide must return weights by symbol, such as {USD: 0.5}; it returned ${received}`);
  }
  if (Array.isArray(returned.orders)) return returned;
  const orders = Object.entries(returned).map(([symbol, weight]) => {
    if (typeof weight !== "number" || !Number.isFinite(weight)) {
      throw new TypeError(`a weight must be a finite number; decide returned ${weight} for ${symbol}`);
    }
    return { symbol, action: weight < 0 ? "sell" : "buy", target_weight: weight };
  });
  const closed = portfolio.filter(({ symbol }) => !Object.hasOwn(returned, symbol));
  return { orders: [...orders, ...closed.map(({ symbol }) => ({ symbol, action: "close", target_weight: 0 }))] };
}

function few(names) {
  return names.slice(0, 12).join(", ") + (names.length > 12 ? " and others" : "");
}

/** Returns the message of a thrown value. */
function messageOf(error) {
  try {
    if (error instanceof Error) return String(error.message);
    return `the rule threw ${JSON.stringify(error) ?? String(error)}`;
  } catch {
    return "the rule threw an object without a message";
  }
}

/** Returns the line of the rule in an error's stack; `Function` adds two lines before the first. */
function lineOf(error) {
  try {
    const found = /<anonymous>:(\d+):\d+/.exec(error?.stack ?? "");
    return found ? Number(found[1]) - 2 : null;
  } catch {
    return null;
  }
}
