/** What the package `oo` draws and judges: markets of seeds, the baseline agents, and boards of them. */

/** Returns what comes of it, in the form that `boards.py` has of Python's. */
export function boards(oo, { csv, scenarios, splits, seed, market, windows, costs, trials, returns }) {
  const draws = BigInt(seed);
  const board = oo.Dataset.scenario(market, draws).named(market);
  const records = oo.BASELINES.map((name) => {
    const runs = windows.map(([start, end]) => oo.runBacktest(board, name, { window: { start, end }, costs, seed: draws }));
    return oo.joinRecords(name, runs.map((run) => run.record), trials);
  });
  // Canonical, since a parsed number has lost how it was written, and no bit.
  const hashed = (told) => oo.sha256(oo.canonicalize(JSON.stringify(told)));
  return {
    csv: oo.Dataset.fromCsv(csv).fingerprint,
    walk: oo.Dataset.synthetic(3, 90, draws).fingerprint,
    scenarios: scenarios.map((name) => splits.map((split) => oo.Dataset.scenario(name, draws, { split }).fingerprint)),
    records: Object.fromEntries(oo.BASELINES.map((name, k) => [name, oo.sha256(records[k])])),
    board: hashed(oo.score(records, board)),
    returns: hashed(oo.scoreReturns(returns, trials)),
  };
}
