// A result's score card and provenance, in a dialog.
const pairs = (entries) => html("dl", { class: "pairs" }, entries
  .filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([term, value]) => html("div", {}, html("dt", {}, term), html("dd", {}, value))));
const plain = (value) => {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return name(String(value));
  if (Object.keys(value).length === 0) return null;
  return html("pre", {}, JSON.stringify(value, null, 1));
};
const code = (value) => (value === null || value === undefined ? null
  : html("code", {}, String(value)));
const told = (values) => pairs(Object.entries(values || {}).map(([key, value]) =>
  [name(key.replaceAll("_", " ")), plain(value)]));
const part = (title, ...children) => [html("h3", {}, title), ...children];
const domainTable = (result) => html("div", { class: "scroll", tabindex: 0, role: "region",
  "aria-label": "Scores by domain" }, html("table", {},
  html("thead", {}, html("tr", {}, ["Domain", "Bits per byte", "95% interval", "Documents", "Bytes",
    "Tokens / byte"].map((label, k) =>
    html("th", { scope: "col", class: k ? "number" : "text" }, label)))),
  html("tbody", {}, [...Object.entries(result.domains), ["All", result.overall]].map(([key, one]) =>
    html("tr", { class: key === "All" && one === result.overall ? "all" : null },
      html("th", { scope: "row", class: "text" }, name(key)),
      [finely(one.bpb), span(one, finely), whole(one.documents), size(one.bytes),
        fixed(3)(one.tokens_per_byte)].map((text) => html("td", { class: "number" }, text)))))));
const citation = (result) => {
  const ground = result.detail.card.ground || {};
  const where = [ground.corpus, ground.split].filter(Boolean).join(", ");
  return `${result.name}: ${finely(result.overall.bpb)} bits per byte `
    + `(95% ${span(result.overall, finely)}) on ${where}; score card ${result.card}`;
};
const openCard = (id) => {
  const result = data.results.find((one) => one.id === id);
  if (!result) return;
  const { card, about, contamination, versions, settings } = result.detail;
  const ground = card.ground || {};
  const window_ = card.window || {};
  const dialog = byId("card");
  dialog.replaceChildren(
    html("header", {}, html("h2", { id: "card-title" }, name(result.name)),
      html("button", { type: "button", class: "close", autofocus: true,
        onclick: () => dialog.close() }, "Close")),
    html("p", { class: "figures" }, html("strong", {}, finely(result.overall.bpb)),
      " bits per byte ", html("span", { class: "soft" }, "95% " + span(result.overall, finely)),
      badge(result.kind)),
    html("p", { class: "cite" }, html("span", { class: "soft" }, "Cite as"),
      html("code", {}, citation(result))),
    ...part("Score card", pairs([
      ["Card", code(result.card)],
      ["Ground", name([ground.corpus, ground.split].filter(Boolean).join(", "))],
      ["Documents", whole(ground.documents)],
      ["Bytes", whole(ground.bytes) + (ground.unit ? ` (${ground.unit})` : "")],
      ["Digest", code(ground.digest)],
      ["Likelihood", card.likelihood],
      ["Protocol", window_.protocol ? name(String(window_.protocol)) : null],
      ["Windows", result.windows],
      ["Ranks", result.is_paired ? null : "none is settled: documents.safetensors is not there"],
      ["Version of the card", String(card.version)],
    ])),
    ...part("By domain", domainTable(result)),
    ...part("Model", pairs([
      ["Parameters", known(result.params) ? whole(result.params) : null],
      ["Size", known(result.size) ? size(result.size) : null],
      ["Trained on", known(result.train_tokens) ? whole(result.train_tokens) + " tokens" : null],
      ["Numbers", result.dtype], ["Identity", code(result.identity)],
    ]), told(about)),
    ...(contamination ? part("Overlap with the training corpus", pairs([
      ["Measured by", `shared ${contamination.ngram}-grams`],
      ["Against", plain(contamination.train)],
      ["Documents", whole(contamination.documents)],
      ["Share", percent(contamination.share)],
    ])) : part("Overlap with the training corpus",
      html("p", { class: "soft" }, "Not measured: the training corpus is not known."))),
    ...part("Provenance", pairs([["File", code(result.file)], ["Time", seconds(result.seconds)]]),
      told(versions), told(settings)));
  state.open = id;
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
};
const setUpCard = () => {
  const dialog = byId("card");
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    // The browser gives the focus back, unless new results have taken the opener's place.
    const lost = document.activeElement === document.body
      || dialog.contains(document.activeElement);
    const opener = document.querySelector(`[data-key="open-${state.open}"]`);
    state.open = null;
    if (lost && opener) opener.focus();
  });
};
