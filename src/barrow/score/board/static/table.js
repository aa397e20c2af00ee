// The ranked table, sortable by every column.
const stat = (result) => (state.domain === "" ? result.overall : result.domains[state.domain]);
const rankOf = (result) => (group().places[state.domain] || {})[result.id];
const fromBest = (result) => (group().from_best[state.domain] || {})[result.id];
const statColumn = (key, label, text, title) => ({
  key, label, title, text: (result) => text((stat(result) || {})[key]),
  value: (result) => (stat(result) || {})[key], extra: true,
});
const modelColumn = (key, label, text, title) => ({
  key, label, title, text: (result) => text(result[key]), value: (result) => result[key],
  extra: true,
});
const COLUMNS = [
  { key: "rank", label: "Rank", value: (result) => (rankOf(result) || [])[0],
    title: "A range where the comparison of documents leaves the order open" },
  { key: "name", label: "Model", words: true, value: (result) => result.name.toLowerCase() },
  { key: "kind", label: "Kind", words: true, extra: true, value: (result) => result.kind },
  { key: "bpb", label: "Bits per byte", value: (result) => (stat(result) || {}).bpb },
  { key: "low", label: "95% interval", value: (result) => (stat(result) || {}).low,
    title: "Bootstrap over documents; sorted by its lower end" },
  { key: "from_best", label: "From the best", extra: true,
    value: (result) => (fromBest(result) || [])[0],
    title: "Bits per byte more than the best, and the 95% interval, document by document" },
  modelColumn("weighted", "Weighted", bits, "Mean over domains by the recipe's weights"),
  modelColumn("params", "Parameters", amount),
  modelColumn("size", "Size", size, "Bytes of the weights"),
  modelColumn("train_tokens", "Train tokens", amount, "Tokens seen in training"),
  statColumn("tokens_per_byte", "Tokens / byte", fixed(3)),
  statColumn("token_perplexity", "Perplexity / token", figure),
  modelColumn("overlap", "Overlap", percent, "Scored documents that share 13-grams with the "
    + "training corpus, by bytes; stated where that corpus is known"),
  statColumn("seconds", "Time", seconds),
];
const ALWAYS = new Set(["rank", "name", "kind", "bpb", "low"]);
const ordered = (results) => {
  const column = COLUMNS.find((one) => one.key === state.sort) || COLUMNS[3];
  const sign = state.down ? -1 : 1;
  const second = (one) => (stat(one) || {}).bpb ?? Infinity;
  return [...results].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    const [lost, gone] = [x === null || x === undefined, y === null || y === undefined];
    if (lost || gone) return lost - gone || second(a) - second(b);
    const order = column.words ? x.localeCompare(y, "en") : x - y;
    return sign * order || second(a) - second(b) || a.id.localeCompare(b.id);
  });
};
const sortBy = (key) => {
  state.down = state.sort === key ? !state.down : false;
  state.sort = key;
  draw();
};
// The best and what is up to twice as bad share one scale; what is worse lies at its end.
const strip = (one, low, high) => {
  const at = (value) => (low === high ? 50
    : 2 + 96 * Math.min(1, Math.log(value / low) / Math.log(high / low)));
  const [from, to] = [at(one.low), at(one.high)];
  if (one.bpb > high) {
    return svg("svg", { class: "strip", viewBox: "0 0 100 12", preserveAspectRatio: "none",
      "aria-hidden": "true" }, svg("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "rail" }),
      svg("path", { d: "M95 1.5L99 6L95 10.5", class: "beyond" }));
  }
  return svg("svg", { class: "strip", viewBox: "0 0 100 12", preserveAspectRatio: "none",
    "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "rail" }),
    svg("rect", { x: from, y: 3.5, width: Math.max(0.8, to - from), height: 5, class: "range" }),
    svg("rect", { x: at(one.bpb) - 0.5, y: 1, width: 1, height: 10, class: "point" }));
};
const rankCell = (result) => {
  const range = rankOf(result);
  const tied = range && range[0] !== range[1];
  return html("td", { class: "number of-rank" },
    tied ? html("span", { class: "tie", title: result.is_paired
      ? "Not settled: the difference may be chance"
      : "Not settled: the result has no figures of documents" },
      html("span", { "aria-hidden": "true" }, "="),
      html("span", { class: "unseen" }, "tied ")) : "",
    place(range));
};
const nameCell = (result) =>
  html("th", { scope: "row", class: "text" },
    html("button", { type: "button", class: "open", "data-key": "open-" + result.id,
      "aria-haspopup": "dialog", onclick: () => openCard(result.id) }, name(result.name)));
const arrow = (here) => html("span", { class: "arrow", "aria-hidden": "true" },
  here ? (state.down ? "↓" : "↑") : "");
const drawTable = (results) => {
  const columns = COLUMNS.filter((column) => ALWAYS.has(column.key)
    || (results.some((result) => known(column.value(result)))
      && !(column.key === "weighted" && state.domain !== "")));
  const stats = results.map(stat).filter((one) => one && one.low > 0);
  const low = Math.min(...stats.map((one) => one.low));
  const high = Math.min(2 * low, Math.max(...stats.map((one) => one.high)));
  const head = columns.map((column) => {
    const here = column.key === state.sort;
    return html("th", { scope: "col", title: column.title,
      "aria-sort": here ? (state.down ? "descending" : "ascending") : "none",
      class: `${column.words ? "text" : "number"} of-${column.key}`
        + (column.extra ? " extra" : "") },
      html("button", { type: "button", "data-key": "sort-" + column.key,
        onclick: () => sortBy(column.key) }, column.words ? [column.label, arrow(here)]
        : [arrow(here), column.label]));
  });
  const cell = (column, result) => {
    const one = stat(result);
    if (column.key === "rank") return rankCell(result);
    if (column.key === "name") return nameCell(result);
    if (column.key === "kind") return html("td", { class: "extra" }, badge(result.kind));
    if (column.key === "bpb") {
      return html("td", { class: "number main" }, bits((one || {}).bpb),
        html("span", { class: "below" }, span(one)));
    }
    if (column.key === "low") {
      return html("td", { class: "number interval of-low" },
        one && one.low > 0 ? strip(one, low, high) : "", html("span", {}, span(one)));
    }
    if (column.key === "from_best") {
      const values = fromBest(result);
      return html("td", { class: "number extra of-from_best" }, values ? [changed(values[0]),
        html("span", {}, ` ${changed(values[1])} to ${changed(values[2])}`)] : NONE);
    }
    return html("td", { class: "number" + (column.extra ? " extra" : "") },
      column.text(result));
  };
  const rows = results.map((result) =>
    html("tr", { "data-id": result.id }, columns.map((column) => cell(column, result))));
  const where = state.domain === "" ? "all of the text" : state.domain;
  byId("ranking-table").replaceChildren(html("table", {},
    html("caption", {}, html("span", {}, "Bits per byte on ", name(where), ", lower is better; "
      + "“=” marks ranks that the comparison of documents leaves open.")),
    html("thead", {}, html("tr", {}, head)), html("tbody", {}, rows)));
  byId("sort").replaceChildren(...columns.map((column) =>
    html("option", { value: column.key, selected: column.key === state.sort }, column.label)));
  const turn = byId("turn");
  turn.textContent = state.down ? "↓ highest first" : "↑ lowest first";
};
