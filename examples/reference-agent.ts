/**
 * A whole agent in TypeScript, for Node: an observation a line in, a decision a line out.
 *
 * Node 22.18 and newer run it as it is, Node 20 what `tsc` makes of it:
 *
 *     openoutcry run --agent "cmd:node reference-agent.ts"
 *
 *     npm install typescript@5.9.3 @types/node@20
 *     npx tsc --strict --target es2022 --module commonjs --types node --skipLibCheck reference-agent.ts
 *     openoutcry run --agent "cmd:node reference-agent.js"
 *
 * Fork it: `decide` is yours, the rest is the protocol.
 */

type View = { symbol: string; close_history: number[] };
type Observation = { symbols: View[]; portfolio: { symbol: string }[] };
type Order = { action: "buy" | "close"; symbol: string; target_weight: number };
type Decision = { orders: Order[] };

function isAbove(closes: number[]): boolean {
  if (closes.length === 0 || closes.some((close) => typeof close !== "number")) {
    throw new TypeError("`close_history` must be numbers");
  }
  return closes[closes.length - 1] > closes.reduce((total, close) => total + close) / closes.length;
}

/** Holds what is above its mean, in parts of 1/2, 1/4, 1/8 ..., as large as fit; closes the rest. */
function decide(observation: Observation): Decision {
  const held = new Set(observation.portfolio.map((position) => position.symbol));
  const views = observation.symbols.map(({ symbol, close_history }) => ({ symbol, above: isAbove(close_history) }));
  const nAbove = views.filter((view) => view.above).length;
  let weight = 0.5;
  while (weight * nAbove > 1) weight /= 2;
  const orders: Order[] = [];
  for (const { symbol, above } of views) {
    if (above) orders.push({ action: "buy", symbol, target_weight: weight });
    else if (held.has(symbol)) orders.push({ action: "close", symbol, target_weight: 0 });
  }
  return { orders };
}

function answer(line: string): string {
  try {
    return JSON.stringify(decide(JSON.parse(line)));
  } catch (error) {
    console.error(`reference-agent: holds all, for this is no observation: ${error}`);
    return '{"orders":[]}';
  }
}

// Not `readline`: it ends a line at U+2028 too, which a headline may hold.
let begun = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (begun + chunk).split("\n");
  begun = lines.pop() ?? "";
  for (const line of lines) process.stdout.write(`${answer(line)}\n`);
});
