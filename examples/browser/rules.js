// Example rules. Their lines fit a window of 1,180 pixels.

const RULES = {
  "Above its mean": `// Called at each close. Returns a fraction of NAV by
// symbol; positions in other symbols are sold.
function decide({ symbols }) {
  const weights = {};
  for (const each of symbols) {
    const closes = each.close_history;
    const sum = closes.reduce((a, b) => a + b, 0);
    if (closes.at(-1) > sum / closes.length) {
      weights[each.symbol] = 1 / symbols.length;
    }
  }
  return weights;
}
`,
  "Equal weights, once a month": `let month = "";

function decide({ date, symbols }) {
  // Without orders, all positions are held.
  if (date.slice(0, 7) === month) return { orders: [] };
  month = date.slice(0, 7);
  const part = 1 / symbols.length;
  const parts = symbols.map((one) => [one.symbol, part]);
  return Object.fromEntries(parts);
}
`,
  "Buy what fell": `function change({ close_history: closes }) {
  return closes.at(-1) / closes[0] - 1;
}

function decide({ symbols }) {
  symbols.sort((a, b) => change(a) - change(b));
  const fallen = symbols.slice(0, 2);
  const parts = fallen.map((one) => [one.symbol, 0.5]);
  return Object.fromEntries(parts);
}
`,
  "Less when volatile": `function decide({ symbols }) {
  const weights = {};
  for (const each of symbols) {
    const closes = each.close_history;
    let sum = 0;
    for (let k = 1; k < closes.length; k += 1) {
      sum += (closes[k] / closes[k - 1] - 1) ** 2;
    }
    const days = closes.length - 1;
    const risk = Math.sqrt(sum / days) || 1;
    // An equal part, less above 0.3 % daily volatility.
    const share = Math.min(0.003 / risk, 1);
    weights[each.symbol] = share / symbols.length;
  }
  return weights;
}
`,
};
