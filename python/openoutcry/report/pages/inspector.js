// Shows any bar of the packed trace. Text of the agent is inserted as text, never as markup.
(() => {
  const root = document.querySelector(".inspector");
  if (!root) return;

  const node = (tag, cls, ...children) => {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    made.append(...children);
    return made;
  };
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  };
  // A column holds differences in units of its last digit; null is undefined and does not change the running sum.
  const column = ({ d, v }) => {
    let sum = 0;
    const whole = v.map((step) => (step === null ? null : (sum += step)));
    return { d, whole, values: whole.map((n) => (n === null ? null : n / 10 ** d)) };
  };
  const starts = (counts) => {
    let sum = 0;
    return [0, ...counts.map((n) => (sum += n))];
  };
  const write = (value, digits) => {
    if (value === null) return "\u2014";
    const text = Math.abs(value).toLocaleString("en", { minimumFractionDigits: Math.max(digits, 0), maximumFractionDigits: Math.max(digits, 0) });
    return value < 0 && /[1-9]/.test(text) ? "\u2212" + text : text;
  };
  const percent = (value, digits) => (value === null ? "\u2014" : write(value * 100, digits) + "%");
  const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const said = (text) => {
    const made = node("span", "words", text);
    made.dir = "auto";
    return made;
  };

  const table = (caption, head, rows) => {
    const made = node("table", head.at(-1) === "Why" ? "bar orders" : "bar", node("caption", "", node("span", "", caption)));
    const cell = (tag, scope, content) => {
      const one = node(tag, "", content);
      if (scope) one.scope = scope;
      return one;
    };
    made.append(node("thead", "", node("tr", "", ...head.map((name) => cell("th", "col", name)))));
    made.append(node("tbody", "", ...rows.map(([first, ...rest]) => (
      node("tr", "", cell("th", "row", first), ...rest.map((content) => cell("td", "", content)))
    ))));
    const box = node("div", "scroll", made);
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", caption);
    return box;
  };

  const open = (data) => {
    const { dates, symbols, texts, orders, fills, events, faults, reasoning, first } = data;
    const [cash, nav] = [data.cash, data.nav].map(column);
    const closes = data.closes.map(column), shares = data.shares.map(column);
    const from = { orders: starts(orders.n), fills: starts(fills.n), events: starts(events.n) };
    const rows = (kind, t) => {
      const made = [];
      for (let i = from[kind][t]; i < from[kind][t + 1]; i++) made.push(i);
      return made;
    };
    const isNotable = (t) => t in faults || events.n[t] > 0;

    const seen = (t) => {
      const part = node("section", "", node("p", "account", `NAV ${write(nav.values[t], nav.d)}, cash ${write(cash.values[t], cash.d)}`));
      const listed = symbols.map((_, i) => i).filter((i) => closes[i].values[t] !== null);
      part.append(table("Observed at the close", ["Symbol", "Last close", "Shares", "Of NAV"], listed.map((i) => {
        const held = shares[i].values[t], close = closes[i].values[t];
        const share = nav.values[t] > 0 ? (held * close) / nav.values[t] : null;
        return [symbols[i], write(close, closes[i].d), held ? write(held, shares[i].d) : "0", held ? percent(share, 1) : "0%"];
      })));
      return part;
    };
    const decided = (t) => {
      const part = node("section", "");
      if (t in faults) part.append(node("p", "fault", `Fault: ${texts[faults[t]]}`));
      if (t in reasoning) part.append(node("p", "", said(texts[reasoning[t]])));
      const given = rows("orders", t);
      if (t >= orders.n.length) part.append(node("p", "", t === dates.length - 1 ? "The run ends here." : "The account had ended."));
      else if (!given.length) part.append(node("p", "", "No order: all positions held."));
      else part.append(table("Decided", ["Symbol", "Action", "Weight", "Confidence", "Why"], given.map((i) => [
        texts[orders.symbol[i]], texts[orders.action[i]],
        orders.weight[i] === null ? "\u2014" : percent(orders.weight[i] / 1e4, 2),
        orders.confidence[i] === null ? "\u2014" : write(orders.confidence[i] / 1e3, 2),
        said(texts[orders.why[i]]),
      ])));
      return part;
    };
    const filled = (t) => {
      const part = node("section", "");
      const traded = rows("fills", t), happened = rows("events", t);
      if (traded.length) part.append(table(`Filled on ${dates[t + 1]}`, ["Symbol", "Shares", "Price"], traded.map((i) => {
        // Shares are stored less the change of the position, prices less the previous close.
        const s = fills.symbol[i], held = shares[s], close = closes[s];
        const traded = fills.shares[i] + held.whole[t + 1] - held.whole[t], price = fills.price[i] + (close.whole[t] ?? 0);
        return [symbols[s], write(traded / 10 ** held.d, held.d), write(price / 10 ** close.d, close.d)];
      })));
      else if (t < orders.n.length) part.append(node("p", "", "No fills."));
      if (happened.length) part.append(node("ul", "happened", ...happened.map((i) => {
        const reason = texts[events.reason[i]];
        return node("li", "", [texts[events.slug[i]], texts[events.symbol[i]], reason && `(${reason})`].filter(Boolean).join(" "));
      })));
      return part;
    };

    let bar = 0;
    const status = node("p", "status");
    status.setAttribute("role", "status");
    const panel = node("div", "panel");
    panel.tabIndex = 0;
    panel.setAttribute("role", "group");
    panel.setAttribute("aria-label", "The bar shown; arrow keys, page up and down, home and end change it");
    const slider = node("input", "");
    Object.assign(slider, { type: "range", min: 0, max: dates.length - 1, value: 0, ariaLabel: "Bar" });
    const field = node("input", "");
    const daily = dates[0].length === 10;
    Object.assign(field, { type: daily ? "date" : "text", value: dates[0] });
    if (daily) Object.assign(field, { min: dates[0], max: dates[dates.length - 1] });

    const buttons = {};
    const show = (t) => {
      bar = Math.min(dates.length - 1, Math.max(0, t));
      const parts = [`${dates[bar]}, bar ${(first + bar + 1).toLocaleString("en")} of ${(first + dates.length).toLocaleString("en")}`];
      if (bar < orders.n.length) parts.push(count(orders.n[bar], "order"), count(fills.n[bar], "fill"));
      if (events.n[bar]) parts.push(count(events.n[bar], "event"));
      if (bar in faults) parts.push("fault");
      status.textContent = parts.join(", ");
      slider.value = bar;
      slider.setAttribute("aria-valuetext", dates[bar]);
      field.value = dates[bar];
      panel.replaceChildren(seen(bar), decided(bar), filled(bar));
      for (const [name, target] of Object.entries(targets())) buttons[name].setAttribute("aria-disabled", String(target === null));
    };
    const notable = dates.map((_, t) => t).filter(isNotable);
    const targets = () => ({
      "Previous bar": bar > 0 ? bar - 1 : null,
      "Next bar": bar < dates.length - 1 ? bar + 1 : null,
      "Previous event": notable.filter((t) => t < bar).pop() ?? null,
      "Next event": notable.find((t) => t > bar) ?? null,
    });
    const bar_of = (text) => {
      let low = 0, high = dates.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (dates[middle].slice(0, text.length) <= text) low = middle + 1; else high = middle;
      }
      return low - 1;
    };

    const tools = node("div", "tools");
    for (const name of Object.keys(targets())) {
      buttons[name] = node("button", "", name);
      buttons[name].type = "button";
      buttons[name].addEventListener("click", () => { const t = targets()[name]; if (t !== null) show(t); });
      tools.append(buttons[name]);
    }
    const go = node("button", "", "Go");
    const form = node("form", "", node("label", "", "Date ", field), go);
    form.noValidate = true;
    form.addEventListener("submit", (event) => { event.preventDefault(); if (field.value) show(bar_of(field.value)); });
    tools.append(form);
    slider.addEventListener("input", () => show(Number(slider.value)));
    panel.addEventListener("keydown", (event) => {
      if (event.target !== panel || event.altKey || event.ctrlKey || event.metaKey) return;
      const moves = { ArrowLeft: bar - 1, ArrowRight: bar + 1, PageUp: bar - 20, PageDown: bar + 20, Home: 0, End: dates.length - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      show(moves[event.key]);
    });
    document.addEventListener("openoutcry:date", (event) => {
      show(bar_of(event.detail));
      root.scrollIntoView();
      panel.focus({ preventScroll: true });
    });
    show(notable.length ? notable[0] : Math.max(0, orders.n.findIndex((n) => n > 0)));
    const keys = "Enter or a double click on a chart shows its date here. When the bar has the focus, arrow keys, page up and"
      + " down, home and end change it.";
    root.replaceChildren(tools, slider, status, panel, node("p", "fine", keys));
  };

  unpack(root.querySelector("template").content.textContent).then(open).catch((error) => {
    root.prepend(node("p", "fault", `This browser could not display the bars: ${error.message}`));
  });
})();
