// Verifies a submission in the browser with WebCrypto: its record, its inclusion proof, the signature of the root and
// the commitments of its revealed decisions. The pages work without it.

const encode = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (each) => parseInt(each, 16));
const fromBase64 = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));

class Invalid extends Error {}

function need(is, why) {
  if (!is) throw new Invalid(why);
}

async function sha256(...parts) {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let place = 0;
  for (const part of parts) {
    joined.set(part, place);
    place += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joined));
}

// RFC 9162: the root of an inclusion proof.
async function rootOf(index, size, leaf, proof) {
  need(index >= 0 && index < size && (size === 1) === (proof.length === 0), "the proof has the wrong length");
  if (size === 1) return leaf;
  let middle = 1;
  while (2 * middle < size) middle *= 2;
  const last = proof.at(-1);
  const rest = proof.slice(0, -1);
  if (index < middle) return sha256([1], await rootOf(index, middle, leaf, rest), last);
  return sha256([1], last, await rootOf(index - middle, size - middle, leaf, rest));
}

// C2SP signed note: origin, size and root, a blank line, signatures.
function parts(note) {
  const cut = note.lastIndexOf("\n\n");
  const [origin, size, root] = note.slice(0, cut).split("\n");
  need(cut > 0 && /^(0|[1-9][0-9]{0,15})$/.test(size) && root, "the checkpoint is malformed");
  return { text: note.slice(0, cut + 1), lines: note.slice(cut + 2).split("\n"), origin, size: Number(size), root };
}

async function isSigned(note, vkey) {
  const [, name, id, content] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? [];
  need(content, "the key is malformed");
  const key = fromBase64(content);
  const expected = hex((await sha256(encode(`${name}\n`), key)).slice(0, 4));
  need(expected === id && key.length === 33 && key[0] === 1, "the id of the key does not match its content");
  need(note.origin === name, "the checkpoint belongs to another log");
  const own = note.lines.map((line) => /^— (\S+) (\S+)$/.exec(line)).filter((line) => line && line[1] === name);
  const signatures = own.map((line) => fromBase64(line[2])).filter((each) => hex(each.slice(0, 4)) === id);
  need(signatures.length > 0, "the key has not signed the checkpoint");
  const known = await crypto.subtle.importKey("raw", key.slice(1), { name: "Ed25519" }, false, ["verify"]);
  for (const each of signatures) {
    const holds = await crypto.subtle.verify({ name: "Ed25519" }, known, each.slice(4), encode(note.text));
    need(holds, "the signature does not match the checkpoint");
  }
}

// RFC 8785 of an object of texts, whole numbers and null.
const canonical = (body) => JSON.stringify(Object.fromEntries(Object.keys(body).sort().map((key) => [key, body[key]])));

async function isOpened(bodies, commitments) {
  const found = await Promise.all(bodies.map(async (body) => hex(await sha256(encode(canonical(body))))));
  need(new Set(found).size === found.length, "a decision is duplicated");
  need(found.every((each) => commitments.includes(each)), "a decision does not match its commitment");
}

/** Verify a proof and return the checks, each with the result `yes`, `no` or `unknown`. */
export async function check(proof, vkey, id, digest) {
  const record = encode(proof.record);
  const members = JSON.parse(proof.record);
  const note = parts(proof.checkpoint);
  const checks = [
    ["The record has the SHA-256 of this page", async () => {
      need(hex(await sha256(record)) === digest, "its hash differs");
      need(members.submission_id === id && members.seq === proof.leaf_index, "it belongs to another submission");
    }],
    ["The log contains the record", async () => {
      need(note.size === proof.tree_size, "the checkpoint has another size");
      const leaf = await sha256([0], record);
      const root = await rootOf(proof.leaf_index, note.size, leaf, proof.proof.map(fromHex));
      need(hex(root) === hex(fromBase64(note.root)), "the proof gives another root");
    }],
    ["The key of the log has signed the checkpoint", () => isSigned(note, vkey)],
    ["The revealed decisions match their commitments", () => isOpened(proof.salts, members.commitments)],
  ];
  const found = [];
  for (const [what, holds] of checks) {
    try {
      await holds();
      found.push({ what, is: "yes", why: "" });
    } catch (error) {
      const cannot = error.name === "NotSupportedError";
      const why = cannot ? "this browser does not support Ed25519; use the command" : error.message;
      found.push({ what, is: cannot ? "unknown" : "no", why });
    }
  }
  return found;
}

function createElement(name, more = {}, ...inside) {
  const found = Object.assign(document.createElement(name), more);
  found.append(...inside);
  return found;
}

async function run(button, outcome, list) {
  button.disabled = true;
  outcome.textContent = "Checking";
  outcome.dataset.is = "";
  const { check: id, sha256: digest } = button.closest("[data-check]").dataset;
  let found;
  try {
    const response = await fetch(`/registry/proof/${id}`, { headers: { Accept: "application/json" } });
    need(response.ok, `the server responded with status ${response.status}`);
    found = await check(await response.json(), document.querySelector("#vkey").value.trim(), id, digest);
  } catch (error) {
    found = [{ what: "The proof is readable", is: "no", why: error.message }];
  }
  const wrong = found.find((each) => each.is === "no") ?? found.find((each) => each.is === "unknown");
  outcome.dataset.is = wrong ? wrong.is : "yes";
  outcome.textContent = !wrong ? "Valid" : wrong.is === "no" ? `Invalid: ${wrong.why}` : wrong.why;
  list?.replaceChildren(...found.map((each) => {
    const line = createElement("li", {}, each.why ? `${each.what}: ${each.why}` : each.what);
    line.dataset.is = each.is;
    return line;
  }));
  button.disabled = false;
}

function addChecks() {
  const panel = document.querySelector(".verify");
  if (!panel) return;
  if (!globalThis.crypto?.subtle) {
    panel.append(createElement("p", {}, "This browser can verify signatures only on https pages. Use the command below."));
    return;
  }
  const label = createElement("label", { htmlFor: "vkey" }, "Key of the log. Enter the key that you stored, if you have one.");
  panel.append(label, createElement("input", { id: "vkey", value: panel.dataset.vkey, spellcheck: false, autocomplete: "off" }));
  for (const place of document.querySelectorAll("[data-check]")) {
    const isRow = place !== panel;
    const outcome = createElement(isRow ? "span" : "p", { className: "outcome" });
    outcome.setAttribute("role", "status");
    const list = isRow ? null : createElement("ul", { className: "checks" });
    const button = createElement("button", { type: "button" }, isRow ? "Check" : "Check in this browser");
    if (isRow) button.setAttribute("aria-label", `Check ${place.dataset.check}`);
    button.addEventListener("click", () => run(button, outcome, list));
    place.replaceChildren(...(isRow ? [button, outcome] : [...place.childNodes, button, outcome, list]));
  }
}

function addCopies() {
  if (!navigator.clipboard) return;
  for (const place of document.querySelectorAll("[data-copy]")) {
    const button = createElement("button", { type: "button" }, "Copy");
    button.setAttribute("aria-label", `Copy: ${place.dataset.copy}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(place.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    place.append(button);
  }
}

addChecks();
addCopies();
