"""What all our pages share: colours by day and by night, type, tables.

Colours are those of Okabe and Ito, which people who see fewer colours tell apart, made darker or
lighter where the ground needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT = {
    "ground": "#fdfcfa",
    "raised": "#fff",
    "ink": "#1d2126",
    "soft": "#5b636d",
    "line": "#e2e0da",
    "track": "#efede7",
    "link": "#00598c",
    "blue": "#0072b2",
    "orange": "#e69f00",
    "green": "#009e73",
    "red": "#d55e00",
    "pink": "#cc79a7",
    "sky": "#56b4e9",
}
DARK = {
    "ground": "#14171b",
    "raised": "#1b1f25",
    "ink": "#e6e4df",
    "soft": "#a3abb5",
    "line": "#2f353d",
    "track": "#262b32",
    "link": "#7cc4f5",
    "blue": "#3a9bdc",
    "orange": "#e8ab25",
    "green": "#1fb98c",
    "red": "#e8762b",
    "pink": "#d78fb6",
    "sky": "#7cc4f5",
}


def variables(colours: Mapping[str, str]) -> str:
    """Colours as custom properties of CSS."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


def themes(light: Mapping[str, str], dark: Mapping[str, str]) -> str:
    """The colours of a page, as the reader's system asks for them."""
    return f"""
:root {{ color-scheme: light dark; {variables(light)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables(dark)} }} }}
"""


BASE = """
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
th.text, td.text, figcaption { overflow-wrap: anywhere; }
.small { font-size: .88rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .86rem; line-height: 1.35; margin-bottom: .35rem; }
figcaption strong { display: block; font-weight: 600; }
details { border-top: 1px solid var(--line); }
details + details { margin-top: 0; }
details:last-of-type { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; padding: .5rem 0; font-size: .95rem; }
pre, code, .hash { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono",
  "Noto Sans Mono", monospace; font-size: .8rem; line-height: 1.45; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate;
  tab-size: 4; }
th.text, td.text { min-width: 8rem; }
footer { margin-top: 3.5rem; border-top: 1px solid var(--line); padding-top: .8rem;
  font-size: .86rem; color: var(--soft); }
"""
