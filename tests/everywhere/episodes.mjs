/** Episodes of Python, rerun by the package `oo`; results are hashed bit for bit. */

import { fromBase64 } from "./vectors.mjs";

/** Returns the result of each episode, in the form of `episodes.py`. */
export function outcomes(oo, episodes) {
  return episodes.map((episode) => outcome(oo, episode));
}

function outcome(oo, episode) {
  const market = oo.Dataset.fromBytes(fromBase64(episode.market)).named(episode.name);
  const { seed, ...settings } = episode.settings;
  const options = { ...settings, seed: BigInt(seed) };
  const outputs = [];
  const env = new oo.TradingEnv(market, options);
  outputs.push(env.resetJson());
  for (const decision of episode.decisions) {
    outputs.push(env.stepJson(decision), env.infoJson, bits([env.reward, env.nav]), `${env.terminated} ${env.truncated}`);
  }
  const decisions = episode.decisions.values();
  const run = oo.runBacktest(market, () => JSON.parse(decisions.next().value), { ...options, agent_id: episode.agent_id });
  const replay = oo.replay(run.record, market);
  const changed = oo.replay(episode.changed, market);
  return {
    fingerprint: market.fingerprint,
    json: oo.sha256(outputs.join("\n")),
    nav: bits(run.nav),
    record: oo.sha256(run.record),
    verified: replay.verified && replay.digest === run.digest,
    n_steps: replay.n_steps,
    first: changed.differences[0] ?? null,
    n_differences: changed.differences.length,
  };
}

function bits(values) {
  return Array.from(new BigUint64Array(Float64Array.from(values).buffer), (value) => value.toString(16)).join(" ");
}
