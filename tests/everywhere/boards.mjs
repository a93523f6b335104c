/** Seeded markets, baseline records and boards of the package `oo`. */

/** Returns the results, in the form of `boards.py`. */
export function boards(oo, { csv, scenarios, splits, seed, market, windows, costs, trials, returns }) {
  const draws = BigInt(seed);
  const board = oo.Dataset.scenario(market, draws).named(market);
  const records = oo.BASELINES.map((name) => {
    const runs = windows.map(([start, end]) => oo.runBacktest(board, name, { window: { start, end }, costs, seed: draws }));
    return oo.joinRecords(name, runs.map((run) => run.record), trials);
  });
  // Canonical JSON: parsing loses the notation of a number, but no bit of its value.
  const hashed = (board) => oo.sha256(oo.canonicalize(JSON.stringify(board)));
  return {
    csv: oo.Dataset.fromCsv(csv).fingerprint,
    walk: oo.Dataset.synthetic(3, 90, draws).fingerprint,
    scenarios: scenarios.map((name) => splits.map((split) => oo.Dataset.scenario(name, draws, { split }).fingerprint)),
    records: Object.fromEntries(oo.BASELINES.map((name, k) => [name, oo.sha256(records[k])])),
    first_edition: hashed(oo.score(records, board, { config: { edition: 1 } })),
    second_edition: hashed(oo.score(records, board, { config: { edition: 2 } })),
    board: hashed(oo.score(records, board)),
    returns: hashed(oo.scoreReturns(returns, trials)),
  };
}
