/** Markets of users' texts and columns, read and run by the package `oo`; results have the form of `test_user_files.py`. */

/** Returns a reading of each text, or its refusal. */
export function readings(oo, given) {
  return given.map((input) => known(oo, () => {
    const market = marketOf(oo, input);
    return { fingerprint: market.fingerprint, periods: market.periodsPerYear ?? null, notices: market.notices };
  }));
}

/** Returns the NAV of weights and of an agent on a market, and its board, or the refusal of each. */
export function runs(oo, { market: input, weights, settings }) {
  const market = marketOf(oo, input);
  const agent = () => oo.runBacktest(market, "momentum", settings);
  return {
    agent: known(oo, () => shown(agent())),
    weights: known(oo, () => shown(oo.runBacktest(market, weights, settings))),
    environment: known(oo, () => new oo.TradingEnv(market, settings).reset().date),
    board: known(oo, () => oo.score(agent().record, market).scores.length),
  };
}

function shown({ nav, start }) {
  return { nav: Array.from(nav), start };
}

function marketOf(oo, { csv, options, columns }) {
  return csv === undefined ? oo.Dataset.fromColumns(columns) : oo.Dataset.fromCsv(csv, options);
}

function known(oo, act) {
  try {
    return act();
  } catch (error) {
    if (!oo.isOpenOutcryError(error)) throw error;
    return { slug: error.slug, message: error.message };
  }
}
