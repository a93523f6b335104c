// The page: what is chosen, what is shown.

const at = (id) => document.getElementById(id);
const packed = (id) => at(id).textContent.trim();
const fixed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const percent = (value) => (value === null || value === undefined ? "–" : `${fixed(100 * value)} %`);
const plain = (value) => (value === null || value === undefined ? "–" : fixed(value));
const KEPT = "openoutcry playground rule";
const BEGUN = "openoutcry playground rule, while it runs";

const FIGURES = [
  ["return", "Return", percent], ["cagr", "A year", percent], ["vol", "Volatility", percent], ["sharpe", "Sharpe", plain],
  ["max_drawdown", "Worst fall", percent], ["turnover", "Turnover a year", plain], ["cost", "Costs a year", percent],
];
const VERDICTS = {
  eligible: "Eligible: it is more than luck",
  not_eligible: "Not eligible",
  insufficient: "Too little to say",
  unknown: "Nothing can be said",
};

let worker;
let isOpen = false;
// Whether a run waits for the engine.
let isWaiting = true;
let asked = 0;
let file;

/** Keeps a text for the next time, or none; a page that is opened from a disk may have no storage. */
function keep(name, text) {
  try {
    if (text === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // Then nothing is remembered.
  }
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(packed(id)), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin() {
  isOpen = false;
  const source = new Blob([packed("engine"), "\n", packed("worker")], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = ({ data }) => Object.hasOwn(TOLD, data?.kind) && TOLD[data.kind](data);
  worker.onerror = (event) => failed({ id: asked, message: event.message, line: null });
  const names = [...document.querySelectorAll("script[data-market]")].map((each) => each.dataset.market);
  const markets = await Promise.all(names.map(async (name) => ({ name, bytes: await unpacked(`market-${name}`) })));
  worker.postMessage({ kind: "open", wasm: await unpacked("wasm"), markets });
}

const TOLD = {
  opened: ({ engine, contract }) => {
    at("versions").textContent = `engine ${engine}, contract ${contract}`;
    isOpen = true;
    if (isWaiting) run();
  },
  progress: ({ id, text }) => id === asked && status(`${text} …`),
  traded: (told) => told.id === asked && traded(told),
  judged: (told) => told.id === asked && judged(told),
  failed: (told) => (told.id === undefined || told.id === asked) && failed(told),
};

function status(text) {
  at("status").textContent = text;
}

function market() {
  const name = at("market").value;
  if (name === "file") {
    return file && { name: file.name.replace(/\.[^.]*$/, ""), csv: file.text, periods: at("periods").valueAsNumber };
  }
  return { name, seed: at("seed").value };
}

function run() {
  const chosen = market();
  if (!chosen) return refused("choose a CSV file: date,symbol,close, or date and a column a symbol");
  if (!/^\d{1,18}$/.test(at("seed").value)) return refused("a seed is a whole number of at most 18 digits");
  const costs = { fee_bps: at("fee").valueAsNumber, slippage_bps: at("slippage").valueAsNumber };
  if (!Object.values(costs).every((value) => value >= 0)) return refused("fee and slippage are numbers of basis points, from 0");
  isWaiting = !isOpen;
  if (isWaiting) return status("loading the engine …");
  asked += 1;
  status("begun …");
  at("failure").hidden = true;
  at("stop").hidden = false;
  keep(KEPT, at("rule").value);
  keep(BEGUN, "yes");
  worker.postMessage({ kind: "run", id: asked, market: chosen, rule: at("rule").value, costs });
}

async function stop() {
  worker.terminate();
  isWaiting = false;
  asked += 1;
  finish("stopped");
  await begin();
}

function finish(text) {
  at("stop").hidden = true;
  keep(BEGUN, undefined);
  status(text);
}

function traded({ nav, held, dates, record, digest, fingerprint, endedAt, nCut, milliseconds }) {
  at("results").hidden = false;
  at("results").classList.remove("stale");
  at("digest").textContent = digest;
  at("fingerprint").textContent = fingerprint;
  at("took").textContent = `${(nav.length - 1).toLocaleString("en")} decisions in ${(milliseconds / 1000).toFixed(2)} s`;
  URL.revokeObjectURL(at("record").href);
  at("record").href = URL.createObjectURL(new Blob([record], { type: "application/json" }));
  const name = at("market").value;
  const command = document.querySelector(`script[data-market="${name}"]`) ? `openoutcry replay record.json --data ${name}` : "";
  at("command").textContent = command;
  at("command").parentElement.hidden = command === "";
  const lines = [{ name: "buy and hold", values: held, role: "benchmark" }, { name: "your rule", values: nav, role: "agent" }];
  at("chart").setAttribute("aria-label", `Wealth from 1: your rule ends at ${nav.at(-1).toFixed(3)}, buy and hold at ${held.at(-1).toFixed(3)}.`);
  draw(at("plot"), dates, lines, (index) => {
    at("date").textContent = dates[index].slice(0, 10);
    at("own").textContent = nav[index].toFixed(3);
    at("other").textContent = held[index].toFixed(3);
  });
  const told = [];
  if (nCut) told.push(`${nCut.toLocaleString("en")} decisions asked for more than all of the wealth, and were cut to it.`);
  if (endedAt !== undefined) told.push(`The account was closed at decision ${endedAt}.`);
  at("ended").textContent = told.join(" ");
  at("headline").textContent = "…";
  at("because").replaceChildren();
  at("figures").replaceChildren();
  for (const id of ["of", "summary"]) at(id).textContent = "";
}

function judged({ score, milliseconds }) {
  const { verdict, because, metrics, n_windows: windows, z } = score;
  at("headline").textContent = VERDICTS[verdict] ?? verdict;
  at("of").textContent = windows === 1 ? "Of one window." : `Of ${windows} windows, each begun anew with a wealth of 1.`;
  at("summary").textContent = z === null ? "" : `${plain(Math.abs(z))} standard errors ${z < 0 ? "below" : "above"} what luck alone would show. `;
  at("because").replaceChildren(...because.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  at("figures").replaceChildren(...FIGURES.map(([key, label, show]) => {
    const cell = document.createElement("div");
    const [term, value] = [document.createElement("dt"), document.createElement("dd")];
    [term.textContent, value.textContent] = [label, show(metrics[key])];
    value.title = metrics.undefined?.[key] ?? "";
    cell.append(term, value);
    return cell;
  }));
  at("results").dataset.run = asked;
  finish(`judged in ${(milliseconds / 1000).toFixed(2)} s`);
}

// Says why nothing was begun; a run that goes on does so.
function refused(message) {
  at("failure").hidden = false;
  at("failure").textContent = message;
  // What stands below is of an earlier rule.
  at("results").classList.add("stale");
}

function failed({ message, line }) {
  refused(line > 0 ? `line ${line}: ${message}` : message);
  finish("");
}

function chosen() {
  const name = at("market").value;
  const bundled = document.querySelector(`script[data-market="${name}"]`);
  at("for-file").hidden = name !== "file";
  at("for-seed").hidden = Boolean(bundled) || name === "file";
}

function wire() {
  at("example").append(...Object.keys(RULES).map((name) => new Option(name, name)));
  at("rule").value = kept(KEPT) ?? Object.values(RULES)[0];
  // One that ended the page the last time would end it again.
  if (kept(BEGUN)) {
    isWaiting = false;
    status("the rule that was kept did not end: change it, or run it again");
  }
  at("example").onchange = () => {
    at("rule").value = RULES[at("example").value];
    run();
  };
  at("run").onclick = run;
  at("stop").onclick = stop;
  at("market").onchange = () => {
    chosen();
    if (at("market").value !== "file" || file) run();
    else at("results").classList.add("stale");
  };
  // Without it a file that was mended and is chosen again would be no change.
  at("file").onclick = () => {
    at("file").value = "";
  };
  at("file").onchange = async () => {
    const [given] = at("file").files;
    file = undefined;
    if (!given) return;
    try {
      file = { name: given.name, text: new TextDecoder("utf-8", { fatal: true }).decode(await given.arrayBuffer()) };
      run();
    } catch (error) {
      refused(`${given.name} is no text in UTF-8`);
    }
  };
  at("rule").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  };
  chosen();
  begin().catch((error) => failed({ message: `this browser cannot run the engine: ${error.message}`, line: null }));
}

wire();
