"""How a report looks: on a phone, on a wide screen, in the dark, on paper.

Colours are those of Okabe and Ito, which people who see fewer colours tell apart, made darker or
lighter where the ground needs it.
"""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #fdfcfa; --raised: #fff; --ink: #1d2126; --soft: #5b636d; --line: #e2e0da;
  --track: #efede7; --link: #00598c;
  --blue: #0072b2; --orange: #e69f00; --green: #009e73;
  --red: #d55e00; --pink: #cc79a7; --sky: #56b4e9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --raised: #1b1f25; --ink: #e6e4df; --soft: #a3abb5; --line: #2f353d;
    --track: #262b32; --link: #7cc4f5;
    --blue: #3a9bdc; --orange: #e8ab25; --green: #1fb98c;
    --red: #e8762b; --pink: #d78fb6; --sky: #7cc4f5;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.1rem 4rem;
  background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: break-word;
}
a { color: var(--link); }
h1 { font-size: clamp(1.9rem, 6vw, 3rem); line-height: 1.1; margin: .2rem 0 .6rem;
  letter-spacing: -.02em; }
h2 { font-size: 1.45rem; line-height: 1.25; margin: 3.2rem 0 .4rem; letter-spacing: -.01em; }
h3 { font-size: 1.05rem; margin: 2rem 0 .3rem; }
p { margin: .4rem 0 .9rem; max-width: 44rem; }
.eyebrow { text-transform: uppercase; letter-spacing: .09em; font-size: .78rem;
  color: var(--soft); margin: 0; }
.lead { font-size: 1.13rem; }
.soft, caption, .share { color: var(--soft); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: .7rem 0;
  margin: 1.4rem 0 0; border-block: 1px solid var(--line); font-size: .93rem; }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.4rem, 1fr));
  gap: .7rem; margin: 1.4rem 0 0; }
.tiles div { background: var(--raised); border: 1px solid var(--line); border-radius: .6rem;
  padding: .7rem .85rem; }
.tiles dt { font-size: .82rem; color: var(--soft); }
.tiles dd { margin: 0; font-size: 1.55rem; line-height: 1.25; font-weight: 600;
  font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tiles .share { color: inherit; }
.tiles dd small { display: block; font-size: .8rem; font-weight: 400; letter-spacing: 0;
  color: var(--soft); }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; padding: 0;
  margin: .6rem 0 .4rem; font-size: .88rem; }
.legend svg { width: .8rem; height: .8rem; margin-right: .4rem; vertical-align: -.06rem; }
.scroll { overflow-x: auto; margin: .4rem 0 1rem; }
.scroll:focus-visible, summary:focus-visible, a:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; font-size: .82rem; padding: .2rem 0 .4rem; caption-side: bottom; }
th, td { padding: .34rem 0 .34rem 1rem; text-align: left; vertical-align: baseline;
  border-bottom: 1px solid var(--line); }
th:first-child { padding-left: 0; }
th { font-weight: 500; }
thead th { font-size: .8rem; color: var(--soft); font-weight: 500; vertical-align: bottom; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tfoot th, tfoot td { font-weight: 650; border-bottom: 0; }
th.text, td.text, .labelled > bdi, figcaption, .tiles dd { overflow-wrap: anywhere; }
.bars th.text { width: 99%; }
.bars .number { min-width: 4.3rem; }
.labelled { display: flex; align-items: center; gap: .3rem .9rem; }
.labelled > bdi { flex: 0 0 11.5rem; }
.labelled > svg { flex: 1 1 8rem; }
svg.bar { display: block; width: 100%; min-width: 3rem; height: .8rem; border-radius: 2px; }
svg.histogram { display: block; width: 100%; height: 4.2rem; border-bottom: 1px solid var(--soft); }
svg.histogram.tall { height: 9rem; }
.bed { position: relative; min-height: 4.8rem; }
svg.river { position: absolute; inset: 0; width: 100%; height: calc(100% + 1px); }
.track { fill: var(--track); } .area { fill: transparent; } g:hover > .area { fill: var(--track); }
.column, .kept, .train { fill: var(--blue); }
.validation, .lost-read { fill: var(--orange); }
.test { fill: var(--green); }
.lost-filter { fill: var(--red); } .lost-deduplicate, .near { fill: var(--pink); }
.lost-mix { fill: var(--sky); } .exact { fill: var(--red); }
ol.flow { list-style: none; padding: 0; margin: 1rem 0; }
.flow li { display: grid; grid-template-columns: 11.5rem 1fr 17rem; gap: 0 1.2rem; }
.flow .stage { padding: .2rem 0 .9rem; }
.flow .cost { padding: .9rem 0 .9rem; font-size: .88rem; }
.flow strong { display: block; font-size: 1.02rem; }
.flow .end { padding: .2rem 0; }
.small { font-size: .88rem; }
.axis { display: flex; justify-content: space-between; font-size: .74rem; color: var(--soft);
  margin-top: .15rem; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr));
  gap: 1rem 1.4rem; margin: 1.2rem 0; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .86rem; line-height: 1.35; margin-bottom: .35rem; }
figcaption strong { display: block; font-weight: 600; }
details { border-top: 1px solid var(--line); }
details + details { margin-top: 0; }
details:last-of-type { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; padding: .5rem 0; font-size: .95rem; }
summary .labelled { display: inline-flex; width: calc(100% - 1.3rem); vertical-align: middle; }
summary .labelled > .number { flex: 0 0 4.5rem; }
summary .labelled > .kind { flex: 0 0 8.5rem; font-size: .84rem; color: var(--soft); }
.sample { margin: .5rem 0 1.3rem; padding-left: .9rem; border-left: 3px solid var(--line); }
.sample p { margin: 0 0 .3rem; font-size: .86rem; max-width: none; }
blockquote { margin: .3rem 0 0; padding: .7rem .9rem; background: var(--raised);
  border: 1px solid var(--line); border-radius: .5rem; max-height: 16rem; overflow: auto; }
pre, code, .hash { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono",
  "Noto Sans Mono", monospace; font-size: .8rem; line-height: 1.45; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate;
  tab-size: 4; }
pre.recipe { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem;
  padding: .8rem; margin-bottom: 1rem; }
th.text, td.text { min-width: 8rem; }
.limits li { margin: .35rem 0; max-width: 46rem; }
footer { margin-top: 3.5rem; border-top: 1px solid var(--line); padding-top: .8rem;
  font-size: .86rem; color: var(--soft); }
@media (max-width: 44rem) {
  body { padding: 1rem .9rem 3rem; }
  .labelled { flex-wrap: wrap; }
  .labelled > bdi { flex: 1 1 100%; }
  th, td { padding-left: .6rem; }
  .bars .number { min-width: 3.4rem; }
  .bars .extra { display: none; }
  .flow li { grid-template-columns: 1fr; }
  .flow .stage { padding: .7rem 0 .3rem; }
  .flow .cost { padding: .3rem 0 .2rem; }
  .bed { min-height: 3.6rem; }
  summary .labelled { display: flex; width: 100%; }
  summary .labelled > bdi, summary .labelled > .number, summary .labelled > .kind {
    flex: 0 1 auto; }
  summary .labelled > svg { flex: 1 1 100%; }
}
@media print {
  :root { --ground: #fff; --raised: #fff; --ink: #000; --soft: #444; --line: #bbb; --track: #eee; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  nav { display: none; }
  h2 { break-after: avoid; }
  tr, figure, .sample, .flow li, .tiles div { break-inside: avoid; }
  .scroll, blockquote { overflow: visible; max-height: none; }
  tfoot { display: table-row-group; }
  svg, .legend svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
"""
