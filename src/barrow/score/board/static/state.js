// What is chosen, the theme, and results that arrive later.
//
// What is chosen is kept in the address after ``#``, so that a link leads to the same view.
let data = JSON.parse(byId("data").textContent);
const state = { card: "", domain: "", hidden: new Set(), sort: "bpb", down: false, x: "params",
  open: null };
const group = () => data.groups.find((one) => one.id === state.card);
const kinds = () => [...new Set(group().results.map((id) =>
  data.results.find((one) => one.id === id).kind))].sort();
const readAddress = () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  state.card = asked.get("card") || "";
  state.domain = asked.get("domain") || "";
  state.hidden = new Set((asked.get("hide") || "").split(",").filter(Boolean));
  state.sort = COLUMNS.some((one) => one.key === asked.get("sort")) ? asked.get("sort") : "bpb";
  state.down = asked.get("order") === "down";
  state.x = Object.hasOwn(AXES, asked.get("x")) ? asked.get("x") : "params";
};
const writeAddress = () => {
  const said = new URLSearchParams();
  if (state.card !== data.groups[0].id) said.set("card", state.card);
  if (state.domain) said.set("domain", state.domain);
  if (state.hidden.size) said.set("hide", [...state.hidden].sort().join(","));
  if (state.sort !== "bpb") said.set("sort", state.sort);
  if (state.down) said.set("order", "down");
  if (state.x !== "params") said.set("x", state.x);
  const wanted = said.size ? "#" + said : "";
  if (location.hash !== wanted)
    history.replaceState(null, "", wanted || location.pathname + location.search);
};
const options = (select, entries, chosen) => {
  select.replaceChildren(...entries.map(([value, words]) =>
    html("option", { value, selected: value === chosen }, words)));
  select.value = chosen;
};
const drawChoices = () => {
  options(byId("choose-card"), data.groups.map((one) => [one.id, one.label]), state.card);
  options(byId("choose-domain"), [["", "All of the text"],
    ...group().domains.map((domain) => [domain, domain])], state.domain);
  byId("choose-kinds").replaceChildren(...kinds().map((kind) => html("label", {},
    html("input", { type: "checkbox", value: kind, checked: !state.hidden.has(kind),
      "data-key": "kind-" + kind, onchange: (event) => {
        if (event.target.checked) state.hidden.delete(kind);
        else state.hidden.add(kind);
        draw();
      } }), badge(kind))));
  byId("ground").replaceChildren(...group().about.map(([term, value]) =>
    html("div", {}, html("dt", {}, term), html("dd", {}, name(value)))));
  for (const radio of document.querySelectorAll("[name=x]"))
    radio.checked = radio.value === state.x;
};
const draw = () => {
  const empty = data.groups.length === 0;
  byId("empty").hidden = !empty;
  byId("board").hidden = empty;
  byId("summary").textContent = data.summary;
  byId("left-out").hidden = data.left_out.length === 0;
  byId("left-out-list").replaceChildren(...data.left_out.map((one) =>
    html("li", {}, html("code", {}, one.file), ": ", one.reason)));
  if (empty) return;
  const focused = document.activeElement && document.activeElement.dataset.key;
  if (!group()) state.card = data.groups[0].id;
  if (!group().domains.includes(state.domain)) state.domain = "";
  writeAddress();
  drawChoices();
  const all = group().results.map((id) => data.results.find((one) => one.id === id));
  const shown = ordered(all.filter((result) => !state.hidden.has(result.kind)));
  byId("nothing").hidden = shown.length > 0;
  byId("views").hidden = shown.length === 0;
  byId("count").textContent = shown.length === all.length ? `${all.length} results`
    : `${shown.length} of ${all.length} results`;
  if (shown.length) {
    drawTable(shown);
    drawHeat(shown);
    drawChart(shown);
  }
  if (focused && document.activeElement.dataset.key !== focused) {
    const again = [...document.querySelectorAll("[data-key]")]
      .find((node) => node.dataset.key === focused);
    if (again) again.focus({ preventScroll: true });
  }
};
const setUpTheme = () => {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const stored = (change) => {
    try { return change(localStorage); } catch { return null; }
  };
  const show = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    button.setAttribute("aria-pressed", String(dark));
  };
  const saved = stored((store) => store.getItem("barrow-theme"));
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;
  button.addEventListener("click", () => {
    root.dataset.theme = button.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    stored((store) => store.setItem("barrow-theme", root.dataset.theme));
    show();
  });
  system.addEventListener("change", show);
  show();
};
const setUpLive = () => {
  const every = Number(document.documentElement.dataset.live);
  if (!every) return;
  const say = (words) => { byId("live").textContent = words; };
  const look = async () => {
    try {
      const version = await (await fetch("version", { cache: "no-store" })).text();
      if (version !== data.version) {
        const before = new Set(data.results.map((one) => one.id));
        const fresh = await (await fetch("board.json", { cache: "no-store" })).json();
        data = fresh;
        draw();
        const more = data.results.filter((one) => !before.has(one.id)).length;
        say(more ? `${more} new ${more === 1 ? "result" : "results"}` : "Up to date");
      } else if (byId("live").dataset.lost) say("Up to date");
      delete byId("live").dataset.lost;
    } catch {
      byId("live").dataset.lost = "yes";
      say("The server does not answer; this is what came last");
    }
    setTimeout(look, 1000 * every);
  };
  setTimeout(look, 1000 * every);
};
byId("choose-card").addEventListener("change", (event) => {
  state.card = event.target.value;
  draw();
});
byId("choose-domain").addEventListener("change", (event) => {
  state.domain = event.target.value;
  draw();
});
byId("sort").addEventListener("change", (event) => {
  state.sort = event.target.value;
  state.down = false;
  draw();
});
byId("turn").addEventListener("click", () => {
  state.down = !state.down;
  draw();
});
byId("reset").addEventListener("click", () => {
  state.hidden.clear();
  draw();
});
for (const radio of document.querySelectorAll("[name=x]"))
  radio.addEventListener("change", () => { state.x = radio.value; draw(); });
addEventListener("hashchange", () => { readAddress(); draw(); });
let width = 0;
new ResizeObserver(([entry]) => {
  if (Math.abs(entry.contentRect.width - width) < 1) return;
  width = entry.contentRect.width;
  draw();
}).observe(byId("chart-box"));
setUpTheme();
setUpCard();
readAddress();
draw();
setUpLive();
