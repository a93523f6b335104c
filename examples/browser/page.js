// The user interface: inputs and results.

const at = (id) => document.getElementById(id);
const packed = (id) => at(id).textContent.trim();
const fixed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const percent = (value) => (value === null || value === undefined ? "–" : `${fixed(100 * value)} %`);
const plain = (value) => (value === null || value === undefined ? "–" : fixed(value));
const STORED_RULE = "openoutcry playground rule";
const IS_RUNNING = "openoutcry playground rule, while it runs";

const FIGURES = [
  ["return", "Return", percent], ["cagr", "CAGR", percent], ["vol", "Volatility", percent], ["sharpe", "Sharpe", plain],
  ["max_drawdown", "Max drawdown", percent], ["turnover", "Turnover per year", plain], ["cost", "Costs per year", percent],
];
const VERDICTS = {
  eligible: "Eligible",
  not_eligible: "Not eligible",
  insufficient: "Too little data",
  unknown: "Unknown",
};

let worker;
let isOpen = false;
// Whether a run waits for the engine.
let isWaiting = true;
// Id of the newest run; messages of earlier runs are ignored.
let runId = 0;
let file;

/** Stores a text for the next visit, or removes it; a page opened from disk may have no storage. */
function store(name, text) {
  try {
    if (text === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // Without storage, the next visit starts with the first example.
  }
}

function stored(name) {
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

async function startWorker() {
  isOpen = false;
  const source = new Blob([packed("engine"), "\n", packed("worker")], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = ({ data }) => Object.hasOwn(HANDLERS, data?.kind) && HANDLERS[data.kind](data);
  worker.onerror = (event) => failed({ id: runId, message: event.message, line: null });
  const names = [...document.querySelectorAll("script[data-market]")].map((each) => each.dataset.market);
  const markets = await Promise.all(names.map(async (name) => ({ name, bytes: await unpacked(`market-${name}`) })));
  worker.postMessage({ kind: "open", wasm: await unpacked("wasm"), markets });
}

const HANDLERS = {
  opened: ({ engine, contract }) => {
    at("versions").textContent = `engine ${engine}, contract ${contract}`;
    isOpen = true;
    if (isWaiting) run();
  },
  progress: ({ id, text }) => id === runId && status(`${text} …`),
  traded: (message) => message.id === runId && traded(message),
  scored: (message) => message.id === runId && scored(message),
  failed: (message) => (message.id === undefined || message.id === runId) && failed(message),
};

function status(text) {
  at("status").textContent = text;
}

function market() {
  const name = at("market").value;
  if (name === "file") {
    // Without a number, the dates show it.
    const periods = at("periods").value === "" ? undefined : at("periods").valueAsNumber;
    return file && { name: file.name.replace(/\.[^.]*$/, ""), csv: file.text, periods };
  }
  return { name, seed: at("seed").value };
}

function run() {
  const selected = market();
  if (!selected) return refused("choose a CSV file with the columns date,symbol,close, or date and one column per symbol");
  if (!/^\d{1,18}$/.test(at("seed").value)) return refused("the seed must be an integer of at most 18 digits");
  const costs = { fee_bps: at("fee").valueAsNumber, slippage_bps: at("slippage").valueAsNumber };
  if (!Object.values(costs).every((value) => value >= 0)) return refused("fee and slippage must be numbers of basis points, at least 0");
  isWaiting = !isOpen;
  if (isWaiting) return status("loading the engine …");
  runId += 1;
  status("running …");
  at("failure").hidden = true;
  at("stop").hidden = false;
  store(STORED_RULE, at("rule").value);
  store(IS_RUNNING, "yes");
  worker.postMessage({ kind: "run", id: runId, market: selected, rule: at("rule").value, costs });
}

async function stop() {
  worker.terminate();
  isWaiting = false;
  runId += 1;
  finish("stopped");
  await startWorker();
}

function finish(text) {
  at("stop").hidden = true;
  store(IS_RUNNING, undefined);
  status(text);
}

function traded({ nav, held, dates, record, digest, fingerprint, endedAt, notices, nCut, milliseconds }) {
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
  at("chart").setAttribute("aria-label", `NAV from 1: your rule ends at ${nav.at(-1).toFixed(3)}, buy and hold at ${held.at(-1).toFixed(3)}.`);
  draw(at("plot"), dates, lines, (index) => {
    at("date").textContent = dates[index].slice(0, 10);
    at("own").textContent = nav[index].toFixed(3);
    at("other").textContent = held[index].toFixed(3);
  });
  const notes = [];
  if (nCut) notes.push(`${nCut.toLocaleString("en")} decisions had a gross exposure above 1 and were limited to 1.`);
  if (endedAt !== undefined) notes.push(`The account was closed at decision ${endedAt}.`);
  at("ended").textContent = notes.join(" ");
  at("notices").replaceChildren(...notices.map(item));
  at("headline").textContent = "…";
  at("because").replaceChildren();
  at("figures").replaceChildren();
  for (const id of ["of", "summary"]) at(id).textContent = "";
}

function item(text) {
  return Object.assign(document.createElement("li"), { textContent: text });
}

function scored({ score, milliseconds }) {
  const { verdict, because, metrics, n_windows: windows, z } = score;
  at("headline").textContent = VERDICTS[verdict] ?? verdict;
  at("of").textContent = windows === 1 ? "Metrics of one window." : `Metrics of ${windows} windows, each starting with a NAV of 1.`;
  at("summary").textContent = z === null ? "" : `${plain(Math.abs(z))} standard errors ${z < 0 ? "below" : "above"} the result expected from luck alone. `;
  at("because").replaceChildren(...because.map(item));
  at("figures").replaceChildren(...FIGURES.map(([key, label, show]) => {
    const cell = document.createElement("div");
    const [term, value] = [document.createElement("dt"), document.createElement("dd")];
    [term.textContent, value.textContent] = [label, show(metrics[key])];
    value.title = metrics.undefined?.[key] ?? "";
    cell.append(term, value);
    return cell;
  }));
  at("results").dataset.run = runId;
  finish(`scored in ${(milliseconds / 1000).toFixed(2)} s`);
}

// Shows why a run was refused; a run in progress continues.
function refused(message) {
  at("failure").hidden = false;
  at("failure").textContent = message;
  // The results below belong to an earlier rule.
  at("results").classList.add("stale");
}

function failed({ message, line }) {
  refused(line > 0 ? `line ${line}: ${message}` : message);
  finish("");
}

function showMarketFields() {
  const name = at("market").value;
  const bundled = document.querySelector(`script[data-market="${name}"]`);
  at("for-file").hidden = name !== "file";
  at("for-seed").hidden = Boolean(bundled) || name === "file";
}

function wire() {
  at("example").append(...Object.keys(RULES).map((name) => new Option(name, name)));
  at("rule").value = stored(STORED_RULE) ?? Object.values(RULES)[0];
  // A rule that did not end on the last visit would block the page again.
  if (stored(IS_RUNNING)) {
    isWaiting = false;
    status("the stored rule did not end: change it, or run it again");
  }
  at("example").onchange = () => {
    at("rule").value = RULES[at("example").value];
    run();
  };
  at("run").onclick = run;
  at("stop").onclick = stop;
  at("market").onchange = () => {
    showMarketFields();
    if (at("market").value !== "file" || file) run();
    else at("results").classList.add("stale");
  };
  // Otherwise choosing a corrected file again would not fire `change`.
  at("file").onclick = () => {
    at("file").value = "";
  };
  at("file").onchange = async () => {
    const [selected] = at("file").files;
    file = undefined;
    if (!selected) return;
    try {
      file = { name: selected.name, text: new TextDecoder("utf-8", { fatal: true }).decode(await selected.arrayBuffer()) };
      run();
    } catch (error) {
      refused(`${selected.name} is not UTF-8 text`);
    }
  };
  at("rule").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  };
  showMarketFields();
  startWorker().catch((error) => failed({ message: `this browser cannot run the engine: ${error.message}`, line: null }));
}

wire();
