// Filters and pages of the list of trades, which is a complete table without this script.
(() => {
  const PAGE = 25;
  const make = (tag, text) => {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    return node;
  };
  const money = (value) => {
    const text = Math.abs(value).toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 100 ? 2 : 0 });
    return value < 0 && /[1-9]/.test(text) ? "\u2212" + text : text;
  };

  const attach = (box) => {
    const rows = [...box.querySelectorAll("tbody tr")];
    const symbolOf = (row) => row.cells[0].textContent, sideOf = (row) => row.cells[1].textContent;
    const state = { page: 0 };
    const bar = make("div");
    bar.className = "filters";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Filters of the trades");

    const choice = (label, options) => {
      const wrap = make("label", label);
      const select = make("select");
      for (const [value, text] of options) {
        const option = make("option", text);
        option.value = value;
        select.append(option);
      }
      select.addEventListener("change", () => { state.page = 0; show(); });
      wrap.append(select);
      bar.append(wrap);
      return select;
    };
    const names = [...new Set(rows.map(symbolOf))].sort();
    // A prefix keeps a symbol of the name "" or "all" apart from the choice of all.
    const symbol = choice("Symbol", [["all", "all"], ...names.map((name) => ["=" + name, name])]);
    const side = choice("Side", [["all", "all"], ["long", "long"], ["short", "short"]]);
    const outcome = choice("Outcome", [["all", "all"], ["won", "winners"], ["lost", "losers"]]);

    const turn = (text, step) => {
      const button = make("button", text);
      button.type = "button";
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") === "true") return;
        state.page += step;
        show();
      });
      bar.append(button);
      return button;
    };
    const before = turn("Previous", -1), after = turn("Next", 1);
    const summary = make("output");
    summary.setAttribute("aria-live", "polite");
    bar.append(summary);

    const fits = (row) => {
      const profit = Number(row.dataset.profit);
      if (symbol.value !== "all" && symbol.value !== "=" + symbolOf(row)) return false;
      if (side.value !== "all" && side.value !== sideOf(row)) return false;
      return outcome.value === "all" || (outcome.value === "won" ? profit > 0 : profit < 0);
    };
    const show = () => {
      const found = rows.filter(fits);
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      const shown = new Set(found.slice(state.page * PAGE, (state.page + 1) * PAGE));
      for (const row of rows) row.hidden = !shown.has(row);
      before.setAttribute("aria-disabled", String(state.page === 0));
      after.setAttribute("aria-disabled", String(state.page >= pages - 1));
      const profits = found.map((row) => Number(row.dataset.profit));
      const won = profits.filter((profit) => profit > 0).length;
      const rate = found.length ? ", " + ((100 * won) / found.length).toFixed(1) + "% won" : "";
      const total = money(profits.reduce((sum, profit) => sum + profit, 0));
      const place = pages > 1 ? "; page " + (state.page + 1) + " of " + pages : "";
      summary.textContent = found.length + " of " + rows.length + " listed trades" + rate + ", P&L " + total + place;
    };
    box.prepend(bar);
    box.querySelector(".scroll").classList.remove("tall");
    show();
  };
  for (const box of document.querySelectorAll(".trades")) attach(box);
})();
