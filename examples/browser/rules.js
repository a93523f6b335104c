// Rules to begin with, in lines that a window of 1,180 pixels shows whole.

const RULES = {
  "Above its mean": `// Called at each close. Return a part of your wealth by
// symbol: what you hold and do not name is sold.
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
  // No order holds what there is.
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
  "Less when it shakes": `function decide({ symbols }) {
  const weights = {};
  for (const each of symbols) {
    const closes = each.close_history;
    let sum = 0;
    for (let k = 1; k < closes.length; k += 1) {
      sum += (closes[k] / closes[k - 1] - 1) ** 2;
    }
    const days = closes.length - 1;
    const risk = Math.sqrt(sum / days) || 1;
    // Its part, or less if it moves over 0.3 % a day.
    const share = Math.min(0.003 / risk, 1);
    weights[each.symbol] = share / symbols.length;
  }
  return weights;
}
`,
};
