"""How a report looks: on a phone, on a wide screen, in the dark, on paper."""

from __future__ import annotations

from barrow.corpus.page_style import BASE, DARK, LIGHT, themes

_OWN = """
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
.bars th.text { width: 99%; }
.bars .number { min-width: 4.3rem; }
.labelled > bdi, .tiles dd { overflow-wrap: anywhere; }
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
.axis { display: flex; justify-content: space-between; font-size: .74rem; color: var(--soft);
  margin-top: .15rem; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr));
  gap: 1rem 1.4rem; margin: 1.2rem 0; }
summary .labelled { display: inline-flex; width: calc(100% - 1.3rem); vertical-align: middle; }
summary .labelled > .number { flex: 0 0 4.5rem; }
summary .labelled > .kind { flex: 0 0 8.5rem; font-size: .84rem; color: var(--soft); }
.sample { margin: .5rem 0 1.3rem; padding-left: .9rem; border-left: 3px solid var(--line); }
.sample p { margin: 0 0 .3rem; font-size: .86rem; max-width: none; }
blockquote { margin: .3rem 0 0; padding: .7rem .9rem; background: var(--raised);
  border: 1px solid var(--line); border-radius: .5rem; max-height: 16rem; overflow: auto; }
pre.recipe { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem;
  padding: .8rem; margin-bottom: 1rem; }
.limits li { margin: .35rem 0; max-width: 46rem; }
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

STYLE = themes(LIGHT, DARK) + BASE + _OWN
