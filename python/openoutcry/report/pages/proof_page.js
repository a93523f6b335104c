// Reads the page as written, and compares its numbers with those of a recomputed run.
const pageAsWritten = (() => {
  "use strict";
  // A difference: a sentence, and rows with the differing values.
  class Differs extends Error {
    constructor(sentence, rows = []) {
      super(sentence);
      this.rows = rows;
    }
  }

  // Reads built-in properties through their prototype: forms and documents let named elements shadow them.
  const own = (kind, name) => {
    const { get } = Object.getOwnPropertyDescriptor(kind.prototype, name);
    return (one) => get.call(one);
  };
  const [typeOf, childrenOf] = [own(Node, "nodeType"), own(Node, "childNodes")];
  const [nameOf, attributesOf] = [own(Element, "localName"), own(Element, "attributes")];
  const contentOf = own(HTMLTemplateElement, "content"), rootOf = own(Document, "documentElement");

  // Serializing to text removes closed shadow roots, which could display other content and which no script can read.
  const body = document.createElement("body");
  for (const { name, value } of document.body.attributes) body.setAttribute(name, value);
  body.innerHTML = document.body.innerHTML;
  document.body.replaceWith(body);

  // The page as text: tags, attributes, text, style, script and parts, with white space normalized, without its digest.
  // `content_digest` of proof_panel.py computes the same. Taken before any other script changes the page.
  const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
  const plain = (text) => text.replace(/[ \t\n\r\f]+/g, " ").replace(/^ | $/g, "");
  const doctype = own(Document, "doctype")(document);
  const seen = [`!doctype ${[doctype?.name, doctype?.publicId, doctype?.systemId].filter(Boolean).join(" ")}`];
  let words = "";
  const flush = () => {
    if (plain(words)) seen.push(`'${plain(words)}`);
    words = "";
  };
  const look = (nodes) => {
    for (const node of nodes) {
      if (typeOf(node) === Node.TEXT_NODE) words += node.data;
      if (typeOf(node) !== Node.ELEMENT_NODE) continue;
      flush();
      const tag = nameOf(node).toLowerCase(), attributes = [...attributesOf(node)];
      seen.push(`<${tag}`, ...attributes.map(({ name, value }) => `@${name.toLowerCase()}=${plain(value)}`));
      const isDigest = tag === "template" && attributes[0]?.name === "data-part" && attributes[0].value === "page";
      if (!isDigest) look(childrenOf(node instanceof HTMLTemplateElement ? contentOf(node) : node));
      if (VOID.has(tag)) continue;
      flush();
      seen.push(`/${tag}`);
    }
  };
  look([rootOf(document)]);
  flush();
  const content = seen.join("\n");
  const packedTrace = document.querySelector(".inspector > template")?.content.textContent;
  // A number without its footnote marks.
  const numberOf = (node) => {
    const bare = node.cloneNode(true);
    for (const mark of bare.querySelectorAll("sup")) if (!mark.attributes.length) mark.remove();
    return bare.textContent.trim();
  };
  const shown = [...document.querySelectorAll("[data-metric]")].map((node) => (
    { name: node.dataset.metric, unit: node.dataset.unit, text: numberOf(node) }
  ));

  const curves = [...document.querySelectorAll('.oo-chart[data-axis$=" nav"]')].map((chart) => ({
    axis: chart.dataset.axis.split(" ").map(Number), box: chart.querySelector(".oo-marks")?.getAttribute("viewBox"),
    path: chart.querySelector("path.c-agent.oo-strong")?.getAttribute("d"),
  }));

  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  // Refuses what a market of that size cannot hold: at most 200 times its size and 1 GiB, or 64 MiB.
  const inflated = async (bytes, format = "gzip") => {
    const most = Math.max(2 ** 26, Math.min(200 * bytes.length, 2 ** 30));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)).getReader();
    const parts = [];
    let length = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      length += next.value.length;
      if (length > most) throw new RangeError(`at most ${most} bytes are required; received more`);
      parts.push(next.value);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  };
  const utf8 = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

  // The NAV of the inspector, bar by bar, against that of the record.
  const compareNav = async (run, dates, nav) => {
    if (packedTrace === undefined) throw new Differs("The bar-by-bar data is missing from this page.");
    let trace;
    try {
      trace = JSON.parse(utf8(await inflated(bytesOf(packedTrace), "deflate-raw")));
    } catch (error) {
      throw new Differs("The bar-by-bar data of this page cannot be unpacked: it was changed.");
    }
    const { first } = trace, from = run.header.window.start + first, { d, v } = trace.nav || {};
    const isWhole = Number.isInteger(first) && first >= 0 && Array.isArray(v) && v.length === nav.length - first && v.length > 0;
    const isDated = isWhole && trace.dates?.length === v.length && trace.dates.every((date, t) => date === dates[from + t]);
    if (!isDated) throw new Differs("The bars of this page differ from those of the replay.");
    // Rounded to six digits of the largest value, with at most twelve decimals.
    const largest = most(nav.slice(first).map(Math.abs));
    if (!(Number.isInteger(d) && (10 ** -d <= 2e-5 * largest || d === 12 || largest === 0))) {
      throw new Differs("The bar-by-bar data of this page is rounded to fewer digits than it was written with.");
    }
    const half = 0.5000001 * 10 ** -d;
    let sum = 0;
    for (let t = first; t < nav.length; t++) {
      sum += v[t - first];
      const value = sum / 10 ** d;
      if (!(Math.abs(value - nav[t]) <= half)) {
        const bar = run.header.window.start + t;
        throw new Differs("The NAV of this page differs from that of the replay.", [
          ["Bar", `${bar}, ${dates[bar]}`], ["Shown", String(value)], ["Replayed", String(nav[t])],
        ]);
      }
    }
  };

  // Without spread syntax: a minute-bar run has more bars than a call allows arguments.
  const least = (values) => values.reduce((one, other) => Math.min(one, other), Infinity);
  const most = (values) => values.reduce((one, other) => Math.max(one, other), -Infinity);
  // Every point of a curve must be the NAV of a bar, to one drawing unit; ends, peak and trough must be present.
  const compareCurve = ({ axis: [start, end, low, high, log], box, path }, times, nav) => {
    if (start !== times[0] || end !== times.at(-1) || !(low < high)) return false;
    const [, , width, height] = (box || "").split(" ").map(Number), moves = (path || "").match(/-?\d+/g)?.map(Number) || [];
    const xs = times.map((time) => (width * (time - start)) / (end - start));
    const drawn = (value) => height * (log ? Math.log(high / value) / Math.log(high / low) : (high - value) / (high - low));
    const ys = nav.map(drawn), points = [];
    for (let i = 0, x = 0, y = 0; i < moves.length; i += 2) points.push([(x += moves[i]), (y += moves[i + 1])]);
    const near = (one, other) => Math.abs(one - other) <= 1;
    const heights = points.map(([, y]) => y), last = nav.length - 1;
    let t = 0;
    const isBar = ([x, y]) => {
      while (t < last && xs[t] < x - 1) t++;
      for (let k = t; k <= last && near(xs[k], x); k++) if (near(ys[k], y)) return true;
      return false;
    };
    return points.length > 1 && points.every(isBar) && near(points[0][1], ys[0]) && near(points.at(-1)[1], ys[last])
      && near(points[0][0], xs[0]) && near(points.at(-1)[0], xs[last])
      && near(least(heights), least(ys)) && near(most(heights), most(ys));
  };
  const compareCurves = ({ start, end }, dates, nav) => {
    const bare = dates.slice(start, end).map((date) => date.replace(/Z$|\+00:00$/, "").replace(" ", "T"));
    const times = bare.map((date) => Date.parse(date.includes("T") ? `${date}Z` : date) / 1000);
    if (!curves.length || !curves.every((curve) => compareCurve(curve, times, nav))) {
      throw new Differs("The equity curve of this page differs from the NAV of the replay.", [["NAV at the end", String(nav.at(-1))]]);
    }
  };

  // Compares every metric of the tables with the engine's, to the last digit shown.
  const compareMetrics = (metrics) => {
    const [lacking] = Object.keys(metrics).filter((name) => typeof metrics[name] === "number" && !shown.some((one) => one.name === name));
    if (lacking) {
      throw new Differs("This page omits a metric of the replay.", [["Metric", lacking], ["Replayed", String(metrics[lacking])]]);
    }
    for (const { name, unit, text } of shown) {
      const value = metrics[name];
      const match = text.match(/^([+\u2212]?)([\d,]+(?:\.(\d+))?)(%?)\u00d7?$/);
      const isSame = () => {
        if (value === null || value === undefined) return text === "\u2014";
        if (!match) return false;
        const [, sign, digits, decimals = "", percent] = match;
        const parsed = Number(digits.replaceAll(",", "")) * (sign === "\u2212" ? -1 : 1);
        const expected = (unit === "loss" ? -Math.abs(value) : value) * (percent ? 100 : 1);
        return Math.abs(parsed - expected) <= 0.5000001 * 10 ** -decimals.length;
      };
      if (!isSame()) {
        throw new Differs("A metric of this page differs from that of the replay.", [
          ["Metric", name], ["Shown", text], ["Replayed", typeof value === "number" ? String(value) : "undefined"],
        ]);
      }
    }
    return shown.length;
  };

  return { content, Differs, bytesOf, inflated, utf8, compareNav, compareCurves, compareMetrics };
})();
