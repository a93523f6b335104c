/**
 * A complete agent in TypeScript, for Node: one observation per line in, one decision per line out.
 *
 * Node 22.18 and newer run it directly, Node 20 after compilation with `tsc`:
 *
 *     openoutcry run --agent "cmd:node reference-agent.ts"
 *
 *     npm install typescript@5.9.3 @types/node@20
 *     npx tsc --strict --target es2022 --module commonjs --types node --skipLibCheck reference-agent.ts
 *     openoutcry run --agent "cmd:node reference-agent.js"
 *
 * Replace `decide`; the rest is the protocol.
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

/** Holds the symbols above their mean, each with the largest of 1/2, 1/4, 1/8, ... that fits; closes the others. */
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

function decideLine(line: string): string {
  try {
    return JSON.stringify(decide(JSON.parse(line)));
  } catch (error) {
    console.error(`reference-agent: invalid observation, holds all positions: ${error}`);
    return '{"orders":[]}';
  }
}

// Not `readline`: it also ends lines at U+2028, which a headline can contain.
let partial = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (partial + chunk).split("\n");
  partial = lines.pop() ?? "";
  for (const line of lines) process.stdout.write(`${decideLine(line)}\n`);
});
