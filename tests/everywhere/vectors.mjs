/**
 * The vectors of `contract/`, through the interfaces of the package `oo`: each function returns its failures.
 *
 * Runs in Node and in a browser, so it reads no file: `read(path)` returns the text of a file below `contract/`.
 */

const HOLD = '{"orders":[]}';

/** Returns the failures by file, and the number of cases. */
export function faults(oo, read) {
  const load = (path) => JSON.parse(read(path));
  const cases = ["step", "episode"].flatMap((name) => load(`vectors/${name}.json`).cases);
  const found = {
    "step.json and episode.json": cases.flatMap((each) => stepped(oo, each)),
    "reject.json": rejected(oo, load("vectors/reject.json")),
    "record.json": records(oo, load("vectors/record.json")),
    rfc6962: proofs(oo, load("vectors/rfc6962/proofs.json")),
    rfc8785: canonical(oo, read),
    conformance: kit(oo, load("conformance/negative.json"), load("conformance/positive.json")),
    "errors.json": examples(oo, load("errors.json").errors),
  };
  return { found, count: { cases: cases.length } };
}

const same = (a, b) => Object.is(a, b) || (a === b && a !== 0);
const unless = (is, fault) => (is ? [] : [fault]);

function settingsOf(given) {
  const [start, end] = given.window;
  return { window: { start, end }, lookback: given.lookback, seed: given.seed, costs: given.costs, limits: given.limits };
}

function environment(oo, given) {
  return new oo.TradingEnv(oo.Dataset.fromColumns(given.dataset), settingsOf(given));
}

function stepped(oo, { name, given, expected }) {
  const env = environment(oo, given);
  const found = unless(env.resetJson() === expected.reset, `${name}: the first observation`);
  expected.steps.forEach((step, k) => {
    const observation = env.stepJson(given.decisions[k]);
    const is = observation === step.observation && env.infoJson === step.info && same(env.reward, step.reward);
    found.push(...unless(is && (env.terminated || env.truncated) === step.done, `${name}: step ${k}`));
  });
  return [...found, ...onWeights(oo, name, given, expected)];
}

/** The array interfaces: only amounts of money are comparable. */
function onWeights(oo, name, given, expected) {
  const infos = expected.steps.map((step) => JSON.parse(step.info));
  const market = oo.Dataset.fromColumns(given.dataset);
  const rows = market.dates.map(() => market.symbols.map(() => NaN));
  given.weights.forEach((row, k) => (rows[given.window[0] + k] = row.map((weight) => weight ?? NaN)));
  const run = oo.runBacktest(market, rows, settingsOf(given));
  const found = infos.flatMap((info, k) => unless(same(run.nav[k + 1], info.nav), `${name}: NAV ${k} on weights`));
  if (given.weights.some((row) => row.includes(null))) return found;
  const env = environment(oo, given);
  env.reset();
  const steps = given.weights.slice(0, infos.length).map((row) => env.stepWeights(row));
  return [...found, ...steps.flatMap((step, k) => {
    const is = same(step.reward, expected.steps[k].reward) && same(step.info.nav, infos[k].nav);
    return unless(is, `${name}: step ${k} on weights`);
  })];
}

const number = (value) => (Array.isArray(value) ? value.map(number) : Number(value));
const numbers = (fields) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, number(value)]));

function started(oo, given) {
  const env = environment(oo, given);
  env.resetJson();
  const [start, end] = given.window;
  given.decisions.slice(0, end - start - 1).forEach((decision) => env.stepJson(decision));
  return env;
}

const REFUSED = {
  decision: (oo, env, given, input) => env.stepJson(input),
  weights: (oo, env, given, input) => env.stepWeights(number(input)),
  table: (oo, env, given, input) => oo.runBacktest(oo.Dataset.fromColumns(given.dataset), number(input), settingsOf(given)),
  checkpoint: (oo, env, given, input) => {
    const costs = { ...given.costs, ...input.costs };
    env.restoreState(started(oo, { ...given, ...input, costs }).saveState());
  },
  window: (oo, env, given, input) => environment(oo, { ...given, window: input }),
  costs: (oo, env, given, input) => environment(oo, { ...given, costs: { ...given.costs, ...numbers(input) } }),
  limits: (oo, env, given, input) => environment(oo, { ...given, limits: { ...given.limits, ...numbers(input) } }),
  dataset: (oo, env, given, input) => oo.Dataset.fromColumns(input),
  csv: (oo, env, given, input) => oo.Dataset.fromCsv(input),
};

function slugOf(oo, act) {
  try {
    act();
  } catch (error) {
    if (!oo.isOpenOutcryError(error)) throw error;
    return error.slug;
  }
  return "nothing";
}

function rejected(oo, { environments, cases }) {
  return cases.flatMap(({ name, on, at, input, expected }) => {
    const given = environments[on];
    const env = started(oo, given);
    const before = [env.nav, env.bar, env.terminated, env.truncated, env.infoJson];
    const slug = slugOf(oo, () => REFUSED[at](oo, env, given, input));
    const after = [env.nav, env.bar, env.terminated, env.truncated, env.infoJson];
    const nextStep = (each) => {
      let text;
      const refused = slugOf(oo, () => (text = each.stepJson(HOLD)));
      return `${refused} ${text} ${each.infoJson}`;
    };
    const is = slug === expected.slug && before.every((value, i) => same(value, after[i]));
    return unless(is && nextStep(env) === nextStep(started(oo, given)), `${name}: ${slug} in place of ${expected.slug}`);
  });
}

function records(oo, vector) {
  const costs = { fee_bps: 0, slippage_bps: 0, slippage_jitter: 0, impact_bps: 0, financing_bps: 0, cash_bps: 0, borrow_bps: 0, ...vector.costs };
  const [start, end] = vector.window;
  const market = (name) => {
    if (name === "synthetic") return oo.Dataset.synthetic(vector.n_symbols, vector.n_days, vector.seed);
    const spec = { ...JSON.parse(oo.scenarioSpec(name)), n_symbols: vector.n_symbols, n_days: vector.n_days };
    return oo.Dataset.scenario(JSON.stringify(spec), vector.seed);
  };
  const shown = Object.entries(vector.shown).flatMap(([name, digest]) => {
    const run = oo.runBacktest(market(name), vector.agent, { window: { start, end }, seed: vector.seed, costs });
    const { steps, end: last } = JSON.parse(run.record).runs[0];
    return unless(oo.sha256([...steps, last].map((step) => step.observation).join("")) === digest, `shown on ${name}`);
  });
  const replayed = ["record", "faulty"].flatMap((name) => {
    const text = oo.canonicalize(JSON.stringify(vector[name]));
    const replay = oo.replay(text, market("synthetic"));
    const verified = oo.verifyRecord(text);
    const isSigned = replay.signed_by === vector[name].signature.public_key;
    return unless(replay.verified && isSigned && verified.intact && replay.digest === vector[name].digest, `${name}: ${JSON.stringify(replay)}`);
  });
  // A step edited after signing: the links and the signature stay.
  const edited = structuredClone(vector.record);
  edited.runs[0].steps[1].nav = 9;
  const text = oo.canonicalize(JSON.stringify(edited));
  const [replay, verified] = [oo.replay(text, market("synthetic")), oo.verifyRecord(text)];
  const fields = verified.faults.map((fault) => fault.field).sort().join();
  const isRefused = !verified.intact && fields === "link,signature" && !replay.verified && replay.signed_by === null;
  replayed.push(...unless(isRefused, `an edited step: ${JSON.stringify([replay, verified])}`));
  return [...shown, ...replayed];
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function proofs(oo, all) {
  const bytes = (text) => fromBase64(text ?? "");
  return Object.entries(all).flatMap(([name, each]) => {
    const proof = (each.proof ?? []).map(bytes);
    // A negative size, or one above 2^63, is invalid: the interface must refuse it, like an invalid proof.
    const is = slugOf(oo, () => {
      const holds = "leafIdx" in each
        ? oo.verifyInclusion(each.leafIdx, each.treeSize, bytes(each.leafHash), proof, bytes(each.root))
        : oo.verifyConsistency(each.size1, each.size2, bytes(each.root1), bytes(each.root2), proof);
      if (!holds) throw Object.assign(new Error("no"), { name: "OpenOutcryError", slug: "refused" });
    });
    return unless((is !== "nothing") === each.wantErr, `${name}: ${is}`);
  });
}

const CANONICAL = ["arrays", "french", "structures", "unicode", "values", "weird"];

function canonical(oo, read) {
  return CANONICAL.flatMap((name) => {
    const [input, output] = ["input", "output"].map((kind) => read(`vectors/rfc8785/${kind}/${name}.json`));
    return unless(oo.canonicalize(input) === output.trimEnd(), name);
  });
}

function kit(oo, negative, positive) {
  const refused = negative.flatMap(({ name, decision, slug }) => {
    const env = new oo.TradingEnv(oo.Dataset.synthetic(1, 40, 1));
    env.resetJson();
    const found = slugOf(oo, () => env.stepJson(decision));
    return unless(found === slug && env.nav === 1, `${name}: ${found} in place of ${slug}`);
  });
  const taken = positive.flatMap(({ name, decision, parsed }) => {
    const market = oo.Dataset.fromCsv("date,AAA\n2024-01-02,100\n2024-01-03,101\n");
    const [raw, typed] = [new oo.TradingEnv(market), new oo.TradingEnv(market)];
    raw.resetJson();
    typed.resetJson();
    const is = raw.stepJson(decision) === typed.stepJson(JSON.stringify(parsed)) && raw.infoJson === typed.infoJson;
    return unless(is, name);
  });
  return [...refused, ...taken];
}

/** The text examples of `errors.json` raise the message shown. */
function examples(oo, errors) {
  const texts = errors.filter(({ kind, example }) => kind === "decision" || example.given.startsWith("date,"));
  return texts.flatMap(({ slug, kind, example }) => {
    const env = new oo.TradingEnv(oo.Dataset.synthetic(1, 40, 1));
    env.resetJson();
    try {
      kind === "decision" ? env.stepJson(example.given) : oo.Dataset.fromCsv(example.given);
    } catch (error) {
      return unless(error.message === `${slug}: ${example.message}`, `${slug}: ${error.message}`);
    }
    return [`${slug}: nothing`];
  });
}
