// What computes: the engine, beside the page, so that a rule that never ends can be stopped.
// `engine.js` stands before this text, and gives `wasm_bindgen`.

const N_WINDOWS = 8;
const bundled = new Map();
// Held here, since a rule may give the name another meaning.
const engine = wasm_bindgen;
// What a rule posts would pass for an answer of the engine.
const tellPage = self.postMessage.bind(self);
self.postMessage = () => {
  throw new TypeError("a rule may return a decision, and post nothing");
};
self.close = () => {
  throw new TypeError("a rule may return a decision, and close nothing");
};

// As a listener, which a rule cannot take away by its name.
self.addEventListener("message", async ({ data }) => {
  try {
    if (data.kind === "open") await open(data);
    else await run(data);
  } catch (error) {
    tellPage({ kind: "failed", id: data.id, message: wordsOf(error), line: lineOf(error) });
  }
});

async function open({ wasm, markets }) {
  await engine({ module_or_path: wasm });
  for (const { name, bytes } of markets) bundled.set(name, engine.Dataset.from_bytes(bytes).named(name));
  tellPage({ kind: "opened", engine: engine.engine_version(), contract: engine.contract_version() });
}

function marketOf({ name, csv, periods, seed }) {
  if (csv !== undefined) return engine.Dataset.from_csv(csv, periods).named(name);
  if (bundled.has(name)) return bundled.get(name);
  return engine.Dataset.scenario(name, "train", BigInt(seed)).named(`${name} ${seed}`);
}

async function run({ id, market, rule, costs }) {
  const tell = (text) => tellPage({ kind: "progress", id, text });
  const began = performance.now();
  const dataset = marketOf(market);
  const { dates } = dataset;
  const counted = { cut: 0 };
  const over = (window) => {
    const settings = JSON.stringify({ agent_id: "my rule", settings: { window, costs } });
    return engine.run_backtest(dataset, answering(rule, dataset.symbols, counted), settings, 0n);
  };
  tell(`trading ${dates.length.toLocaleString("en")} bars`);
  const whole = over({});
  const held = engine.run_baseline(
    dataset, "buy-and-hold", JSON.stringify({ agent_id: "buy-and-hold", settings: { costs } }), 0n,
  );
  const traded = performance.now();
  tellPage({
    kind: "traded", id, nav: whole.nav, held: held.nav, dates: dates.slice(whole.start, whole.start + whole.nav.length),
    record: whole.record, digest: whole.digest, fingerprint: dataset.fingerprint, endedAt: whole.terminated_at,
    nCut: counted.cut, milliseconds: traded - began,
  });
  tell("judging it on windows of the market");
  const windows = windowsOf(whole.start, dates.length);
  const joined = engine.join_records("my rule", windows.map((window) => over(window).record), 0n);
  const board = JSON.parse(engine.score([joined], [dataset.share()], "{}", "{}"));
  tellPage({ kind: "judged", id, score: board.scores[0], milliseconds: performance.now() - traded });
}

function windowsOf(start, end) {
  // The last bar of one is the first of the next: no day is left out.
  const count = Math.max(1, Math.min(N_WINDOWS, Math.floor((end - start - 1) / 2)));
  const edge = (k) => start + Math.floor(((end - start - 1) * k) / count);
  return Array.from({ length: count }, (_, k) => ({ start: edge(k), end: edge(k + 1) + 1 }));
}

/**
 * Returns what the engine asks: the rule of the page, made anew so that each run begins without a memory.
 *
 * Decisions that ask for more than the wealth, which the default limits cut, are counted.
 */
function answering(rule, symbols, counted) {
  const listed = new Set(symbols);
  const decide = new Function(`"use strict";${rule}\n;return typeof decide === "undefined" ? undefined : decide;`)();
  if (typeof decide !== "function") throw new TypeError("a function named `decide` is required");
  return (text) => {
    const observation = JSON.parse(text);
    const decision = decisionOf(decide(observation), observation);
    const stranger = decision.orders.find((order) => typeof order?.symbol === "string" && !listed.has(order.symbol));
    if (stranger) throw new TypeError(`${stranger.symbol} is no symbol of this market, which has ${few(symbols)}`);
    const traded = decision.orders.filter((order) => order?.action === "buy" || order?.action === "sell");
    if (traded.reduce((sum, order) => sum + Math.abs(order.target_weight), 0) > 1 + 1e-9) counted.cut += 1;
    return JSON.stringify(decision);
  };
}

/** Returns the decision of an answer: a decision of the contract, or weights by the name of the symbol. */
function decisionOf(answer, { portfolio }) {
  const kind = Object.prototype.toString.call(answer).slice(8, -1);
  if (kind !== "Object") {
    const received = kind === "Promise" ? "a promise, for which nobody waits" : kind.toLowerCase();
    throw new TypeError(`decide must return weights by symbol, such as {USD: 0.5}; it returned ${received}`);
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

function few(names) {
  return names.slice(0, 12).join(", ") + (names.length > 12 ? " and others" : "");
}

/** Returns what was thrown, in words. */
function wordsOf(error) {
  try {
    if (error instanceof Error) return String(error.message);
    return `the rule threw ${JSON.stringify(error) ?? String(error)}`;
  } catch {
    return "the rule threw an object that has no words";
  }
}

/** Returns the line of the rule that an error names; what `Function` puts before the first is two lines. */
function lineOf(error) {
  try {
    const found = /<anonymous>:(\d+):\d+/.exec(error?.stack ?? "");
    return found ? Number(found[1]) - 2 : null;
  } catch {
    return null;
  }
}
