// Recomputes the run of this page from its record and market, and compares the page with the result.
(() => {
  "use strict";
  const panel = document.querySelector(".proof");
  if (!panel) return;
  const { content, Differs, bytesOf, inflated, utf8, compareNav, compareCurves, compareMetrics } = pageAsWritten;
  const MAGIC = "openoutcry/dataset/v1";
  const [button, files, steps, found] = ["button", "input", ".proof-steps", ".proof-found"].map((one) => panel.querySelector(one));
  const [word, why] = panel.querySelectorAll(".proof-state > *");

  // Ends a verification without a result, with the reason.
  class Unable extends Error {}
  const part = (name) => panel.querySelector(`template[data-part="${name}"]`)?.content.textContent;
  const unpacked = async (name, what) => {
    try {
      return await inflated(bytesOf(part(name)));
    } catch (error) {
      throw new Unable(`${what} in this page cannot be unpacked: the file was changed or truncated, or this browser is too old.`);
    }
  };
  // A record has a zero byte in place of each digest; the digest bytes follow its end.
  const recorded = async () => {
    const bytes = await unpacked("record", "The record");
    try {
      const end = 4 + new DataView(bytes.buffer).getUint32(0, true), digests = bytes.subarray(end);
      let at = 0;
      return utf8(bytes.subarray(4, end)).replaceAll("\0", () => hex(digests.subarray(at, (at += 32))));
    } catch (error) {
      throw new Unable("The record in this page cannot be read: the file was changed or truncated.");
    }
  };
  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  // Lets the browser repaint before a long computation.
  const pause = () => new Promise((done) => setTimeout(done, 30));
  const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const short = (digest) => `${digest.slice(0, 16)}\u2026`;
  const messageOf = (error) => String(error.message || error);

  const show = (state, sentence) => {
    panel.dataset.state = state;
    word.textContent = { verified: "verified", differs: "differs", busy: "verifying\u2026" }[state] || "not verified";
    why.textContent = sentence;
  };
  const step = (sentence) => {
    const item = document.createElement("li");
    item.textContent = sentence;
    steps.append(item);
    return pause();
  };
  const rows = (pairs) => {
    found.replaceChildren(...pairs.map(([name, value]) => {
      const row = document.createElement("div");
      const [term, definition] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      definition.append(value);
      row.append(term, definition);
      return row;
    }));
  };

  const read = () => {
    try {
      return JSON.parse(part("claims"));
    } catch (error) {
      throw new Unable("The description of the run in this page cannot be read: the file was changed.");
    }
  };

  // Prefers the browser's SHA-256, so that the engine does not verify itself or its page. A page served over plain HTTP
  // has no `crypto.subtle`.
  const sha256 = async (bytes) => {
    const subtle = globalThis.crypto?.subtle;
    return subtle && hex(new Uint8Array(await subtle.digest("SHA-256", bytes)));
  };
  let loaded = null;
  const load = async (wanted) => {
    if (loaded) return loaded;
    const bytes = await unpacked("engine", "The engine");
    const other = () => new Unable("The engine in this page is not the one that the page was written with.");
    if (((await sha256(bytes)) ?? wanted) !== wanted) throw other();
    try {
      await wasm_bindgen({ module_or_path: bytes });
    } catch (error) {
      throw new Unable(`The engine in this page does not run in this browser: ${messageOf(error)}`);
    }
    if (wasm_bindgen.sha256(bytes) !== wanted) throw other();
    return (loaded = wasm_bindgen);
  };

  // Markets supplied by the reader, by fingerprint.
  const given = new Map();
  const take = async (file, engine, periods) => {
    let bytes = new Uint8Array(await file.arrayBuffer());
    try {
      if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await inflated(bytes);
    } catch (error) {
      throw new Unable(`${file.name} cannot be unpacked: it was changed or truncated.`);
    }
    const isBytes = new TextDecoder("latin1").decode(bytes.subarray(0, MAGIC.length)) === MAGIC;
    let text = "";
    try {
      if (!isBytes) text = utf8(bytes);
    } catch (error) {
      throw new Unable(`${file.name} is neither an exported market nor UTF-8 text.`);
    }
    try {
      return isBytes ? engine.Dataset.from_bytes(bytes) : engine.Dataset.from_csv(text, periods);
    } catch (error) {
      throw new Unable(`${file.name} cannot be read as a market: ${messageOf(error)}`);
    }
  };
  const market = async (engine, wanted, place) => {
    let dataset;
    if (wanted.spec) {
      try {
        dataset = engine.Dataset.revealed(wanted.spec, wanted.key);
      } catch (error) {
        throw new Unable(`The scenario of this page cannot be generated: ${messageOf(error)}`);
      }
      if (dataset.commitment !== wanted.commitment) {
        throw new Differs("The revealed key does not match the commitment.", [
          ["Commitment of the record", wanted.commitment], ["Commitment of the key", dataset.commitment],
        ]);
      }
    } else if (part(`market-${place}`) !== undefined) {
      const bytes = await unpacked(`market-${place}`, "The market");
      try {
        dataset = engine.Dataset.from_bytes(bytes);
      } catch (error) {
        throw new Unable(`The market in this page cannot be read: ${messageOf(error)}`);
      }
    } else {
      dataset = given.get(wanted.fingerprint);
      for (const file of dataset ? [] : files?.files || []) {
        let read;
        try {
          read = await take(file, engine, wanted.periods_per_year);
        } catch (error) {
          if (!(error instanceof Unable)) throw error;
          // Another file may be the market.
          await step(error.message);
          continue;
        }
        given.set(read.fingerprint, read);
        if (read.fingerprint === wanted.fingerprint) dataset = read;
        else await step(`${file.name} is not the market ${wanted.name}: its fingerprint is ${short(read.fingerprint)}`);
      }
      if (!dataset && files?.files.length) {
        throw new Unable(`None of the files is the market ${wanted.name} with fingerprint ${wanted.fingerprint}.`);
      }
      if (!dataset) throw new Unable(`The market ${wanted.name} is missing: choose its file below.`);
    }
    if (dataset.fingerprint !== wanted.fingerprint) {
      throw new Differs(`The market ${wanted.name} does not have the fingerprint stated by this page.`, [
        ["Fingerprint stated", wanted.fingerprint], ["Fingerprint computed", dataset.fingerprint],
      ]);
    }
    await step(`Market ${wanted.name}: fingerprint recomputed over ${count(dataset.dates.length, "bar")}.`);
    return dataset.named(wanted.name, wanted.commitment);
  };

  const replay = (engine, record, markets, held) => {
    try {
      return JSON.parse(engine.replay(record, markets.map((one) => one.share()), JSON.stringify(held)));
    } catch (error) {
      throw new Unable(`The record cannot be replayed: ${messageOf(error)}`);
    }
  };
  const compareSteps = ({ differences: [first, ...others], unfinished }) => {
    if (!first) {
      if (unfinished) throw new Unable(`A finished record is required; this one is ${unfinished}.`);
      return;
    }
    const place = first.run === null ? first.place : `run ${first.run}, ${first.place}`;
    const bar = first.bar === null ? [] : [["Bar", `${first.bar}${first.date ? `, ${first.date}` : ""}`]];
    const more = others.length ? `; ${count(others.length, "more difference")} after it` : "";
    throw new Differs(`The record differs from its replay, first at ${place}${more}.`, [
      ["Place", place], ...bar, ["Field", first.field], ["Recorded", first.recorded], ["Replayed", first.replayed],
      ["Likely cause", first.because],
    ]);
  };

  // The NAV of each bar, as recorded and confirmed by the replay.
  const navs = ({ steps: bars, end, header: { window } }) => {
    const nav = [...bars.map((one) => one.nav), end.nav];
    while (nav.length < window.end - window.start) nav.push(end.nav);
    return nav;
  };
  const saved = (record) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([record], { type: "application/json" }));
    link.download = link.textContent = "record.json";
    return link;
  };
  const recomputed = (metrics, nav) => {
    const percent = (value) => `${(100 * value).toFixed(2).replace("-", "\u2212")}%`;
    const sharpe = typeof metrics.sharpe === "number" ? metrics.sharpe.toFixed(2).replace("-", "\u2212") : "undefined";
    const share = (value) => (typeof value === "number" ? percent(value) : "undefined");
    const last = nav.at(-1), result = `final NAV ${last.toPrecision(6)}, return ${percent(last - 1)}`;
    return `${result}; Sharpe ratio ${sharpe}, max drawdown ${share(metrics.max_drawdown)}, annual cost ${share(metrics.cost)}`;
  };
  // One run of a record as a separate, unsigned record.
  const alone = (engine, { runs, signature, ...rest }, place) => {
    const one = engine.canonicalize(JSON.stringify({ ...rest, runs: [runs[place]] }));
    return engine.join_records(rest.agent_id, [one], BigInt(rest.in_sample_trials));
  };
  const measured = (engine, record, markets, held) => {
    const draws = { draws: { replicates: 20 } };
    try {
      const [score] = JSON.parse(engine.score([record], markets, JSON.stringify(held), JSON.stringify(draws))).scores;
      return { ...score.metrics, delayed_sharpe: score.diagnostics.delayed_sharpe };
    } catch (error) {
      throw new Unable(`The replay equals the record, but its metrics could not be recomputed: ${messageOf(error)}`);
    }
  };

  const verify = async () => {
    const started = performance.now(), wanted = read();
    const engine = await load(wanted.engine);
    await step(`Engine ${engine.engine_version()}, contract ${engine.contract_version()}: unpacked.`);
    const markets = [];
    for (const [place, one] of wanted.markets.entries()) markets.push(await market(engine, one, place));
    const text = await recorded();
    const replayed = replay(engine, text, markets, wanted.held);
    compareSteps(replayed);
    if (replayed.digest !== wanted.digest) {
      throw new Differs("The digest stated by this page is not that of its record.", [
        ["Digest stated", wanted.digest], ["Digest computed", replayed.digest],
      ]);
    }
    await step(`Record of ${replayed.agent_id}: ${count(replayed.n_runs, "run")}, ${count(replayed.n_steps, "step")} replayed, identical bit for bit.`);
    const record = JSON.parse(text), run = record.runs[wanted.run];
    if (!run) throw new Unable(`This page shows run ${wanted.run} of a record with ${count(record.runs.length, "run")}.`);
    const place = markets.findIndex((one) => one.fingerprint === run.header.dataset.fingerprint);
    const { dates } = markets[place], nav = navs(run);
    await compareNav(run, dates, nav);
    compareCurves(run.header.window, dates, nav);
    const single = record.runs.length === 1 ? text : alone(engine, record, wanted.run);
    // The last use of the markets: the engine takes ownership of them.
    const metrics = measured(engine, single, markets, wanted.held), compared = compareMetrics(metrics);
    const page = new TextEncoder().encode(content);
    if (((await sha256(page)) ?? engine.sha256(page)) !== part("page")) {
      throw new Differs("This page was changed after it was written: in the file, by a browser extension, or by a browser that saved it again.");
    }
    await step(`Page: its equity curve, its NAV bar by bar and ${count(compared, "number")} follow from the replay; the rest of the page has the stated SHA-256.`);
    rows([
      // Written by this script, because the author of a page controls everything around this box.
      ["Recomputed", recomputed(metrics, nav)],
      ["Agent", `${replayed.agent_id}, ${count(record.in_sample_trials, "trial")} declared`],
      ["Digest", replayed.digest],
      ...wanted.markets.map(({ name, fingerprint }) => [`Market ${name}`, fingerprint]),
      ["Engine SHA-256", wanted.engine],
      ...(replayed.signed_by ? [["Signed by", replayed.signed_by]] : []),
      ["To replay elsewhere", saved(text)],
    ]);
    return `in this browser, in ${((performance.now() - started) / 1000).toFixed(1)} seconds`;
  };

  const verification = async () => {
    if (button.disabled) return;
    button.disabled = true;
    steps.replaceChildren();
    found.replaceChildren();
    show("busy", "");
    await pause();
    try {
      show("verified", await verify());
    } catch (error) {
      if (error instanceof Differs) {
        show("differs", error.message);
        rows(error.rows);
      } else {
        show("idle", error instanceof Unable ? error.message : `The verification failed: ${messageOf(error)}`);
      }
    }
    button.disabled = false;
  };

  show("idle", "Nothing has been recomputed yet.");
  button.disabled = false;
  button.addEventListener("click", verification);
  if (files) {
    files.disabled = false;
    files.addEventListener("change", verification);
  }
})();
