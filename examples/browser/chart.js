// The chart of NAV, starting at 1.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 280;

function element(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Draws lines over dates into a box; `lines` are `{ name, values, role }`. */
function draw(box, dates, lines, read) {
  const all = lines.flatMap(({ values }) => [Math.min(...extremes(values)), Math.max(...extremes(values))]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const span = high - low || 1;
  const y = (value) => HEIGHT - 12 - ((value - low) / span) * (HEIGHT - 24);
  const x = (index) => (1000 * index) / Math.max(dates.length - 1, 1);
  const plot = element("svg", { viewBox: `0 0 1000 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const tick of ticksOf(low, high)) {
    plot.append(element("line", { x1: 0, x2: 1000, y1: y(tick), y2: y(tick), class: tick === 1 ? "zero" : "grid" }));
  }
  for (const { values, role } of lines) plot.append(element("path", { d: pathOf(values, x, y), class: role }));
  const cursor = element("line", { y1: 0, y2: HEIGHT, class: "cursor", visibility: "hidden" });
  plot.append(cursor);
  const labels = ticksOf(low, high).map((tick) => {
    const label = document.createElement("span");
    label.textContent = tick.toLocaleString("en", { maximumFractionDigits: 3 });
    label.style.top = `${(100 * y(tick)) / HEIGHT}%`;
    return label;
  });
  box.replaceChildren(plot, ...labels);
  const point = (event) => {
    const frame = plot.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - frame.left) / frame.width, 0), 1);
    const index = Math.round(share * (dates.length - 1));
    cursor.setAttribute("x1", x(index));
    cursor.setAttribute("x2", x(index));
    cursor.setAttribute("visibility", "visible");
    read(index);
  };
  plot.onpointermove = point;
  plot.onpointerdown = point;
  plot.onpointerleave = () => {
    cursor.setAttribute("visibility", "hidden");
    read(dates.length - 1);
  };
  read(dates.length - 1);
}

function extremes(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

/** Returns the path of a line: the lowest and highest value if a pixel covers many bars. */
function pathOf(values, x, y) {
  const step = Math.max(1, Math.ceil(values.length / 1000));
  const parts = [];
  for (let from = 0; from < values.length; from += step) {
    const part = Array.from(values.slice(from, from + step));
    for (const value of step === 1 ? part : extremes(part)) {
      parts.push(`${parts.length ? "L" : "M"}${x(from).toFixed(2)} ${y(value).toFixed(2)}`);
    }
  }
  return parts.join("");
}

function ticksOf(low, high) {
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}
