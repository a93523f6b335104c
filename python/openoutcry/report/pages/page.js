"use strict";
// Optional: adds values under the pointer, and legends that toggle lines.
(() => {
  const SVG = document.querySelector("svg") && document.querySelector("svg").namespaceURI;
  const make = (tag, text, cls) => {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  const tip = make("div", "", "tip");
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);

  // Returns the edges of a path as lists of [x, y]. A line is "M x y l dx dy ..."; an area follows its outer edge and
  // returns along its inner one; columns are "h dx v dy ...", to the right along the outer edge and then back.
  const edges = (path) => {
    const d = path.getAttribute("d");
    const n = d.match(/-?\d+/g).map(Number);
    const outer = [], inner = [];
    let [x, y] = n;
    if (d.includes("h")) {
      for (const [, axis, step] of d.matchAll(/([hv])(-?\d+)/g)) {
        if (axis === "v") { y += Number(step); continue; }
        if (step > 0) outer.push([x, y]);
        x += Number(step);
        if (step < 0) inner.unshift([x, y]);
      }
      return { outer, inner, steps: true };
    }
    for (let i = 2; i < n.length; i += 2) { outer.push([x, y]); x += n[i]; y += n[i + 1]; }
    outer.push([x, y]);
    if (!path.classList.contains("oo-area")) return { outer };
    return { outer, inner: outer.splice(outer.length / 2).reverse() };
  };
  const nearest = (list, x, steps) => {
    let low = 0, high = list.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (list[middle][0] < x) low = middle; else high = middle;
    }
    if (steps) return list[high][0] <= x ? high : low;
    return x - list[low][0] < list[high][0] - x ? low : high;
  };

  const read = (chart) => {
    const [start, end, low, high, log, unit] = chart.dataset.axis.split(" ").map((v, i) => (i < 5 ? Number(v) : v));
    const marks = chart.querySelector(".oo-marks");
    const [, , width, height] = marks.getAttribute("viewBox").split(" ").map(Number);
    const at = (y) => (log ? high * Math.pow(low / high, y / height) : high - (high - low) * (y / height));
    const show = (v) => {
      const text = unit === "percent" ? Math.abs(v * 100).toFixed(Math.abs(v) < 0.1 ? 2 : 1) + "%" : v.toFixed(Math.abs(v) < 10 ? 3 : 1);
      return v < 0 && /[1-9]/.test(text) ? "\u2212" + text : text;
    };
    const series = [...marks.querySelectorAll("path")].filter((p) => p.dataset.name).map((path) => (
      { path, ...edges(path), colour: path.getAttribute("class").split(" ")[1] }
    ));
    // A line with gaps is several paths of one name; at most one of them covers x.
    const covers = ({ outer }, x) => outer[0][0] - 1 <= x && x <= outer[outer.length - 1][0] + 1;
    const values = (x) => series.filter((s) => !s.path.classList.contains("oo-hidden") && (s.steps || covers(s, x))).map((s) => {
      const edge = (list) => list[nearest(list, x, s.steps)];
      const value = at(edge(s.outer)[1]) - (s.inner ? at(edge(s.inner)[1]) : 0);
      return { name: s.path.dataset.name, value, text: show(value), colour: s.colour, x: s.steps ? Math.round(x) : edge(s.outer)[0], area: !!s.inner };
    });
    const date = (x) => {
      const iso = new Date(1000 * (start + (end - start) * (x / width))).toISOString();
      return end - start > 86400 * 7 ? iso.slice(0, 10) : iso.slice(0, 16).replace("T", " ");
    };
    return { marks, width, values, date };
  };

  const attach = (chart) => {
    let model = null, position = 0.5;
    const title = chart.querySelector("title");
    chart.setAttribute("aria-label", title.textContent);
    title.remove();
    chart.classList.add("live");
    const cursor = document.createElementNS(SVG, "line");
    cursor.setAttribute("class", "oo-cursor");
    cursor.setAttribute("y2", "100%");
    const hide = () => { tip.hidden = true; cursor.remove(); };
    const showAt = (fraction) => {
      model = model || read(chart);
      position = Math.min(1, Math.max(0, fraction));
      let rows = model.values(position * model.width);
      if (!rows.length) return hide();
      const x = rows[rows.length - 1].x;
      rows = rows.filter((r) => !r.area || Math.abs(r.value) > 1e-4);
      rows.sort((a, b) => b.value - a.value);
      tip.replaceChildren(make("b", model.date(x)), ...rows.map((r) => {
        const row = make("div");
        row.append(make("i", "", r.colour), make("em", r.name), make("span", r.text));
        return row;
      }));
      const percent = (100 * x) / model.width + "%";
      cursor.setAttribute("x1", percent);
      cursor.setAttribute("x2", percent);
      model.marks.before(cursor);
      tip.hidden = false;
      const box = model.marks.getBoundingClientRect();
      const left = box.left + (box.width * x) / model.width;
      const beside = left + 14 + tip.offsetWidth < document.documentElement.clientWidth ? left + 14 : left - 14 - tip.offsetWidth;
      tip.style.left = Math.max(4, beside) + window.scrollX + "px";
      tip.style.top = box.top + window.scrollY + 6 + "px";
    };
    const follow = (event) => {
      const box = chart.querySelector(".oo-marks").getBoundingClientRect();
      showAt((event.clientX - box.left) / box.width);
    };
    // The inspector, if present, shows the date under the cursor.
    const inspect = () => {
      const rows = (model = model || read(chart)).values(position * model.width);
      const x = rows.length ? rows[rows.length - 1].x : position * model.width;
      document.dispatchEvent(new CustomEvent("openoutcry:date", { detail: model.date(x) }));
    };
    chart.addEventListener("dblclick", inspect);
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", hide);
    chart.tabIndex = 0;
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
      if (event.key === "Escape") hide();
      if (event.key === "Enter") inspect();
      if (!step) return;
      event.preventDefault();
      showAt(position + step);
    });
  };
  for (const chart of document.querySelectorAll(".oo-chart[data-axis]")) attach(chart);

  for (const item of document.querySelectorAll(".legend li")) {
    const button = make("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const node of item.closest("figure").querySelectorAll("[data-name]"))
        if (node.dataset.name === item.dataset.for) node.classList.toggle("oo-hidden", !shown);
    });
  }

  // A link to a collapsed run expands it.
  const unfold = () => {
    let name;
    try { name = decodeURIComponent(location.hash.slice(1)); } catch (error) { return; } // Such as a bare percent sign.
    const target = name && document.getElementById(name);
    const fold = target && target.closest("details");
    if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
