"""How the leaderboard looks: by day, by night, on a phone, on paper."""

from __future__ import annotations

from barrow.corpus import page_style

# Marks in charts stand out from the ground by 3 to 1 at least, words by 4.5 to 1, on every shade.
LIGHT = page_style.LIGHT | {
    "mark-circle": "#0072b2",
    "mark-square": "#b34700",
    "mark-diamond": "#9a4a7f",
    "mark-triangle": "#007a59",
    "mark-cross": "#5b636d",
    "mark-ring": "#8a6500",
    "edge": "#8a8f96",
    **{f"shade-{k}": c for k, c in enumerate(("#9ccbe9", "#b9d9ee", "#d2e5f1", "#e4edf3"))},
    "shade-4": "#f1f2f2",
    "shade-5": "#fdfcfa",
}
DARK = page_style.DARK | {
    "mark-circle": "#3a9bdc",
    "mark-square": "#e8762b",
    "mark-diamond": "#d78fb6",
    "mark-triangle": "#1fb98c",
    "mark-cross": "#a3abb5",
    "mark-ring": "#e8ab25",
    "edge": "#6d7682",
    **{f"shade-{k}": c for k, c in enumerate(("#175580", "#19476a", "#1b3a54", "#1c2f40"))},
    "shade-4": "#1c252e",
    "shade-5": "#14171b",
}

_CHOSEN = f"""
:root[data-theme="light"] {{ color-scheme: light; {page_style.variables(LIGHT)} }}
:root[data-theme="dark"] {{ color-scheme: dark; {page_style.variables(DARK)} }}
"""

_MARKS = "\n".join(
    f".mark.{shape} {{ fill: var(--mark-{shape}); stroke: var(--mark-{shape}); }}"
    for shape in ("circle", "square", "diamond", "triangle", "cross", "ring")
)
_SHADES = "\n".join(f".shade-{k} {{ background: var(--shade-{k}); }}" for k in range(6))

_OWN = """
[hidden] { display: none; }
html { scroll-behavior: auto; }
body { max-width: 82rem; padding-inline: clamp(.9rem, 3vw, 2.4rem); }
h1 { margin-top: .6rem; }
h2 { margin-top: 4rem; }
.top { display: flex; justify-content: space-between; align-items: center; }
.lead { max-width: 46rem; }
.live { font-size: .88rem; color: var(--soft); min-height: 1.4rem; margin: 0; }
caption span { display: block; position: sticky; left: 0; width: fit-content;
  max-width: min(100%, calc(100vw - 2rem)); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--raised); padding: .3rem .7rem; z-index: 3; }
button, select { font: inherit; color: inherit; }
button { cursor: pointer; }
#theme, #turn, #reset, .close { background: none; border: 1px solid var(--edge);
  border-radius: .4rem; padding: .25rem .8rem; font-size: .88rem; min-height: 2rem; }
#theme[aria-pressed="true"] { background: var(--track); }
#theme:hover, #turn:hover, #reset:hover, .close:hover { background: var(--track); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.choices { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 2.2rem 0 0; align-items: end; }
.field { display: grid; grid-template-columns: minmax(0, 1fr); gap: .3rem; min-width: 0;
  max-width: 100%; }
label, legend, .sorting { font-size: .82rem; color: var(--soft); }
select { font-size: .93rem; padding: .38rem .6rem; border: 1px solid var(--edge);
  border-radius: .4rem; background: var(--raised); color: var(--ink); max-width: 100%;
  min-height: 2.3rem; }
fieldset { border: 0; padding: 0; margin: 0; min-width: 0; }
legend { padding: 0; margin-bottom: .3rem; }
.checks { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; min-height: 2.3rem;
  align-items: center; }
.checks label { display: inline-flex; align-items: center; gap: .45rem; font-size: .93rem;
  color: var(--ink); min-height: 1.8rem; cursor: pointer; }
input { accent-color: var(--blue); width: 1rem; height: 1rem; margin: 0; }
.kind { display: inline-flex; align-items: center; gap: .4rem; white-space: nowrap; }
.kind svg { width: .8rem; height: .8rem; flex: none; }
.ground { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; margin: 1.6rem 0 0; padding: .9rem 0;
  border-block: 1px solid var(--line); font-size: .9rem; }
.ground dt { font-size: .78rem; color: var(--soft); }
.ground dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.empty { margin: 2.5rem 0; padding: 1.6rem; border: 1px dashed var(--edge); border-radius: .6rem; }
.empty h2 { margin-top: 0; }
.sorting { display: none; align-items: center; gap: .6rem; margin: .8rem 0; }
.scroll { position: relative; }
thead th { line-height: 1.3; }
th, td { padding-block: .5rem; }
th.text { overflow-wrap: anywhere; }
.ranking th, .ranking td { padding-left: .95rem; }
.ranking tbody > tr > * { vertical-align: middle; }
.ranking table { font-size: .9rem; }
th bdi { font-weight: 500; }
th button { background: none; border: 0; padding: .2rem 0; text-align: inherit; font-weight: 500; }
thead th button { color: var(--soft); line-height: 1.3; min-height: 1.5rem; }
thead th button:hover, th[aria-sort$="ending"] button { color: var(--ink); }
th[aria-sort$="ending"] button { font-weight: 650; }
.arrow { display: inline-block; width: 1em; text-align: center; }
.open { color: var(--link); text-decoration: underline; text-decoration-color: transparent;
  text-underline-offset: .2em; font-size: .98rem; }
.open:hover, .open:focus-visible { text-decoration-color: currentColor; }
.ranking th.text { min-width: 13rem; }
.ranking thead th.of-kind { min-width: 0; }
.ranking thead th.of-bpb { min-width: 5.4rem; }
.ranking thead th { white-space: normal; }
.ranking td { white-space: nowrap; }
.ranking tbody tr:hover { background: var(--raised); }
.ranking .of-rank { padding-left: 0; width: 4rem; }
.below { display: none; }
.tie { color: var(--soft); margin-right: .3rem; }
.main { font-weight: 650; font-size: 1.02rem; }
.interval span { font-size: .84rem; color: var(--soft); margin-left: .6rem; }
.strip { width: clamp(4.5rem, 7vw, 11rem); height: .75rem; vertical-align: -.06rem; }
.rail { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.range { fill: var(--blue); opacity: .55; } .point { fill: var(--ink); }
.beyond { fill: none; stroke: var(--soft); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.matrix table { width: auto; border-collapse: separate; border-spacing: 2px; }
.matrix th, .matrix td { border-bottom: 0; padding: .4rem .3rem; }
.matrix td { text-align: right; min-width: 2.5rem; border-radius: 3px; font-size: .84rem; }
.matrix th.text { position: sticky; left: 0; background: var(--ground); z-index: 1;
  padding-left: 0; padding-right: .8rem; min-width: 11rem; max-width: 16rem;
  font-size: .88rem; }
.upright { vertical-align: bottom; height: 1px; text-align: center; }
.upright span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap;
  max-height: 12rem; overflow: hidden; text-overflow: ellipsis; font-size: .84rem; }
.upright span bdi { writing-mode: inherit; }
.upright.chosen { color: var(--ink); font-weight: 650; }
.best { font-weight: 650; text-decoration: underline; text-underline-offset: .2em; }
td.chosen { outline: 2px solid var(--edge); outline-offset: -1px; }
td.mean { font-weight: 650; }
#published th.text { white-space: nowrap; }
.swatch { display: inline-block; width: 1.1rem; height: .8rem; margin-right: .45rem;
  border: 1px solid var(--edge); border-radius: 2px; vertical-align: -.06rem; }
.tag { font-size: .72rem; color: var(--soft); border: 1px solid var(--line); border-radius: .3rem;
  padding: 0 .35rem; margin-left: .5rem; white-space: nowrap; }
#chart { margin-top: .6rem; }
#chart svg { display: block; max-width: 100%; font-size: 12px; font-variant-numeric: tabular-nums; }
#chart text { fill: var(--soft); } #chart .label { fill: var(--ink); }
#chart .axis-name { font-size: 12.5px; }
.grid { stroke: var(--line); stroke-width: 1; }
.reference { stroke: var(--edge); stroke-width: 1.2; stroke-dasharray: 5 4; }
.whisker { stroke: var(--edge); stroke-width: 1.6; }
.mark { stroke-width: 1.4; }
.mark.cross { stroke-width: 2; fill: none; } .mark.ring { fill: none; stroke-width: 2; }
.reach { fill: transparent; }
.dot, .line-of { cursor: pointer; outline: none; }
.dot:hover .reach, .dot:focus-visible .reach { fill: var(--track); stroke: var(--link);
  stroke-width: 2; }
.line-of:focus-visible .reference, .line-of:hover .reference { stroke: var(--link);
  stroke-width: 2.4; }
.label { paint-order: stroke; stroke: var(--ground); stroke-width: 3px; }
.crowded { visibility: hidden; }
:is(.dot, .line-of):is(:hover, :focus-visible) .crowded { visibility: visible; }
dialog { width: min(46rem, calc(100vw - 1.5rem)); max-height: calc(100dvh - 2rem);
  padding: 0 1.5rem 1.8rem; border: 1px solid var(--line); border-radius: .7rem;
  background: var(--ground); color: var(--ink); overflow-y: auto; }
dialog::backdrop { background: rgb(10 12 15 / .55); }
dialog header { position: sticky; top: 0; display: flex; gap: 1rem; padding: 1.1rem 0 .6rem;
  justify-content: space-between; align-items: start; background: var(--ground); z-index: 2; }
dialog h2 { margin: 0; overflow-wrap: anywhere; }
dialog h3 { margin-top: 1.8rem; }
.figures strong { font-size: 1.7rem; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.figures .kind { margin-left: 1.2rem; font-size: .9rem; }
.cite { display: grid; gap: .2rem; font-size: .82rem; max-width: none; }
.cite code { background: var(--raised); border: 1px solid var(--line); border-radius: .4rem;
  padding: .5rem .7rem; overflow-wrap: anywhere; }
.pairs { margin: .4rem 0; font-size: .9rem; }
.pairs div { display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; padding: .26rem 0;
  border-bottom: 1px solid var(--line); }
.pairs dt { color: var(--soft); } .pairs dd { margin: 0; overflow-wrap: anywhere; min-width: 0;
  font-variant-numeric: tabular-nums; }
tr.all > * { font-weight: 650; }
#left-out-list { padding-left: 1.1rem; font-size: .92rem; overflow-wrap: anywhere; }
@media (max-width: 44rem) {
  body { padding: 1rem .9rem 3rem; }
  h2 { margin-top: 3rem; }
  .sorting { display: flex; flex-wrap: wrap; }
  .choices { display: grid; grid-template-columns: minmax(0, 1fr); }
  .ranking .extra { display: none; }
  .ranking th, .ranking td { padding-left: .55rem; }
  .ranking .of-rank { padding-left: 0; width: 3.4rem; }
  .ranking th.text { min-width: 5rem; }
  .ranking .of-low { display: none; }
  .below { display: block; font-size: .8rem; font-weight: 400; color: var(--soft); }
  .matrix th.text { min-width: 6rem; max-width: 7.5rem; }
  .tag { margin-left: 0; display: table; }
  .pairs div { grid-template-columns: 1fr; gap: 0; }
  dialog { padding-inline: 1rem; }
}
@media print {
  :root { --ground: #fff; --raised: #fff; --ink: #000; --soft: #444; --line: #bbb; --track: #eee; }
  body { max-width: none; padding: 0; font-size: 9pt; }
  #theme, .choices, .sorting, .live, fieldset { display: none; }
  .scroll { overflow: visible; }
  td { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""

STYLE = page_style.themes(LIGHT, DARK) + _CHOSEN + page_style.BASE + _MARKS + _OWN + _SHADES + "\n"
