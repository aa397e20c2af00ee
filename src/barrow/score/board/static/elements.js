// Elements, and numbers as people read them.
//
// Names and texts come from outside. They reach the page as text nodes and attributes only; nothing in
// the script makes HTML of a string.
const maker = (space) => (tag, attributes, ...children) => {
  const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== ""));
  return node;
};
const html = maker(null);
const svg = maker("http://www.w3.org/2000/svg");
const byId = (id) => document.getElementById(id);
// A line may break after a slash or a blank; a long word breaks where it must.
const name = (text) => html("bdi", {}, text.split(/(?<=[/_])/).flatMap((part, k) =>
  (k ? [html("wbr"), part] : [part])));

const NONE = "–";
const known = (value) => typeof value === "number" && Number.isFinite(value);
const whole = (value) => (known(value) ? value.toLocaleString("en") : NONE);
const fixed = (digits) => (value) => (known(value) ? value.toFixed(digits) : NONE);
const bits = fixed(3);
const finely = fixed(4);
const scaled = (value, units) => {
  if (!known(value)) return NONE;
  let unit = 0;
  while (unit + 1 < units.length && Number(value.toPrecision(3)) >= 1000) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? Number(value.toFixed(0)) : Number(value.toPrecision(3));
  return digits.toLocaleString("en") + units[unit];
};
const amount = (value) => scaled(value, ["", "k", "M", "B", "T"]);
const size = (value) => scaled(value, [" B", " kB", " MB", " GB", " TB"]);
const figure = (value) => {
  if (!known(value)) return NONE;
  if (value >= 1e6) return value.toExponential(1);
  return value >= 1000 ? whole(Math.round(value)) : value.toFixed(value < 100 ? 2 : 0);
};
const seconds = (value) => {
  if (!known(value)) return NONE;
  if (value < 60) return value.toFixed(1) + " s";
  const minutes = Math.round(value / 60);
  return (minutes < 60 ? "" : Math.floor(minutes / 60) + " h ") + (minutes % 60) + " min";
};
const percent = (value) => {
  if (!known(value)) return NONE;
  if (value > 0 && value < 0.0005) return "<0.1%";
  return (100 * value).toFixed(1) + "%";
};
const span = (stat, text = bits) =>
  stat && known(stat.low) && known(stat.high) ? text(stat.low) + "–" + text(stat.high) : NONE;
const changed = (value) => (value < 0 ? "−" : "+") + finely(Math.abs(value));
const place = (range) =>
  !range ? NONE : range[0] === range[1] ? String(range[0]) : range[0] + "–" + range[1];
const KINDS = {
  barrow: "circle", transformers: "square", server: "diamond", baseline: "triangle",
  compressor: "cross",
};
const mark = (kind, x, y, radius) => {
  const shape = Object.hasOwn(KINDS, kind) ? KINDS[kind] : "ring";
  const r = radius;
  const d = 1.25 * r;
  const paths = {
    circle: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
    square: `M${x - r * 0.9} ${y - r * 0.9}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`,
    diamond: `M${x} ${y - d}l${d} ${d}l${-d} ${d}l${-d} ${-d}Z`,
    triangle: `M${x} ${y - 1.15 * r}l${1.15 * r} ${2 * r}h${-2.3 * r}Z`,
    cross: `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l${-2 * r} ${2 * r}`,
  };
  paths.ring = paths.circle;
  return svg("path", { d: paths[shape], class: `mark ${shape}` });
};
const badge = (kind) =>
  html("span", { class: "kind" },
    svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, mark(kind, 6, 6, 4)), kind);
