// The page: what is chosen, what is shown.

const at = (id) => document.getElementById(id);
const packed = (id) => at(id).textContent.trim();
const fixed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const percent = (value) => (value === null || value === undefined ? "–" : `${fixed(100 * value)} %`);
const plain = (value) => (value === null || value === undefined ? "–" : fixed(value));
const KEPT = "openoutcry playground rule";

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
let asked = 0;
let file;

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(packed(id)), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin() {
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
    // A rule that was stopped does not begin again by itself.
    if (asked === 0) run();
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
  if (!chosen) return failed({ message: "choose a CSV file: date,symbol,close, or date and a column a symbol", line: null });
  if (!/^\d{1,18}$/.test(at("seed").value)) return failed({ message: "a seed is a whole number", line: null });
  const costs = { fee_bps: at("fee").valueAsNumber, slippage_bps: at("slippage").valueAsNumber };
  if (!Object.values(costs).every((value) => value >= 0)) return failed({ message: "fee and slippage are numbers of basis points, from 0", line: null });
  asked += 1;
  status("begun …");
  at("failure").hidden = true;
  at("stop").hidden = false;
  try {
    localStorage.setItem(KEPT, at("rule").value);
  } catch {
    // A page that is opened from a disk may have no storage: then nothing is remembered.
  }
  worker.postMessage({ kind: "run", id: asked, market: chosen, rule: at("rule").value, costs });
}

async function stop() {
  worker.terminate();
  asked += 1;
  finish("stopped");
  await begin();
}

function finish(text) {
  at("stop").hidden = true;
  status(text);
}

function traded({ nav, held, dates, record, digest, fingerprint, endedAt, milliseconds }) {
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
  at("ended").textContent = endedAt === undefined ? "" : `The account was closed at decision ${endedAt}.`;
  at("headline").textContent = "…";
  at("because").replaceChildren();
  at("figures").replaceChildren();
  for (const id of ["of", "summary"]) at(id).textContent = "";
}

function judged({ score, milliseconds }) {
  const { verdict, because, metrics, n_windows: windows, z } = score;
  at("headline").textContent = VERDICTS[verdict] ?? verdict;
  at("of").textContent = `Of ${windows} windows, each begun anew with a wealth of 1.`;
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

function failed({ message, line }) {
  at("failure").hidden = false;
  at("failure").textContent = line > 0 ? `line ${line}: ${message}` : message;
  // What stands below is of an earlier rule.
  at("results").classList.add("stale");
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
  let kept = null;
  try {
    kept = localStorage.getItem(KEPT);
  } catch {
    // As above.
  }
  at("rule").value = kept ?? Object.values(RULES)[0];
  at("example").onchange = () => {
    at("rule").value = RULES[at("example").value];
    run();
  };
  at("run").onclick = run;
  at("stop").onclick = stop;
  at("market").onchange = () => {
    chosen();
    if (at("market").value !== "file" || file) run();
  };
  // Without it a file that was mended and is chosen again would be no change.
  at("file").onclick = () => {
    at("file").value = "";
  };
  at("file").onchange = async () => {
    const [given] = at("file").files;
    file = given && { name: given.name, text: await given.text() };
    if (file) run();
  };
  at("rule").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  };
  chosen();
  begin().catch((error) => failed({ message: `this browser cannot run the engine: ${error.message}`, line: null }));
}

wire();
