// Rules to begin with.

const RULES = {
  "Above its mean": `// Called at each close. Return a part of your wealth by
// symbol: what you hold and do not name is sold.
function decide({ symbols }) {
  const weights = {};
  for (const { symbol, close_history: closes } of symbols) {
    const sum = closes.reduce((total, close) => total + close, 0);
    if (closes.at(-1) > sum / closes.length) {
      weights[symbol] = 1 / symbols.length;
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
  return Object.fromEntries(symbols.map((each) => [each.symbol, part]));
}
`,
  "Buy what fell": `function decide({ symbols }) {
  const change = ({ close_history: c }) => c.at(-1) / c[0] - 1;
  symbols.sort((a, b) => change(a) - change(b));
  const fallen = symbols.slice(0, 2);
  return Object.fromEntries(fallen.map((each) => [each.symbol, 0.5]));
}
`,
  "Less when it shakes": `function decide({ symbols }) {
  const weights = {};
  for (const { symbol, close_history: closes } of symbols) {
    let sum = 0;
    for (let k = 1; k < closes.length; k += 1) {
      sum += (closes[k] / closes[k - 1] - 1) ** 2;
    }
    const risk = Math.sqrt(sum / Math.max(closes.length - 1, 1));
    // Its equal part, or less where it moves more than 0.3 % a day.
    weights[symbol] = Math.min(0.003 / (risk || 1), 1) / symbols.length;
  }
  return weights;
}
`,
};
