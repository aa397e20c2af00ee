// Models by domains, shaded by how far each is behind the best of a domain.
const STEPS = [[1.02, "within 2% of the best"], [1.1, "within 10%"], [1.25, "within 25%"],
  [1.6, "within 60%"], [2.5, "within 2.5 times"], [Infinity, "further"]];
const shade = (value, best) => STEPS.findIndex(([most]) => value / best <= most);
const drawHeat = (results) => {
  const domains = group().domains;
  byId("heat").hidden = domains.length === 0;
  const best = new Map();
  for (const domain of domains) {
    const values = results.map((result) => (result.domains[domain] || {}).bpb).filter(known);
    best.set(domain, Math.min(...values));
  }
  const cell = (result, domain) => {
    const value = (result.domains[domain] || {}).bpb;
    if (!known(value)) return html("td", { class: "number" }, NONE);
    const first = value === best.get(domain);
    return html("td", { class: `number shade-${shade(value, best.get(domain))}`
      + (first ? " best" : "") + (domain === state.domain ? " chosen" : ""),
      title: `${result.name}, ${domain}: ${bits(value)}, 95% ${span(result.domains[domain])}` },
      value.toFixed(2), first ? html("span", { class: "unseen" }, " best") : "");
  };
  byId("heat-table").replaceChildren(html("table", {},
    html("caption", {}, html("span", {},
      "Bits per byte by model and domain; the best of each domain is underlined.")),
    html("thead", {}, html("tr", {}, html("th", { scope: "col", class: "text" }, "Model"),
      domains.map((domain) => html("th", { scope: "col",
        class: "upright" + (domain === state.domain ? " chosen" : "") },
        html("span", {}, name(domain)))))),
    html("tbody", {}, results.map((result) =>
      html("tr", {}, html("th", { scope: "row", class: "text" }, name(result.name)),
        domains.map((domain) => cell(result, domain)))))));
  byId("heat-legend").replaceChildren(...STEPS.map(([, words], step) =>
    html("li", {}, html("span", { class: `swatch shade-${step}`, "aria-hidden": "true" }), words)));
};
