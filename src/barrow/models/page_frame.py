"""The frame of pages about models: one HTML file that fetches nothing, by day and by night.

Its policy allows the one program in it, by hash, and nothing else, for texts and names come from
anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import html

# The colours of our other pages, which people who see fewer colours tell apart.
STYLE = """
:root { color-scheme: light dark;
  --ground: #fdfcfa; --raised: #fff; --ink: #1d2126; --soft: #5b636d; --line: #e2e0da;
  --none: #f4f2ec; --full: #00365a; --mid: #3a9bdc; --mark: #d55e00; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #14171b; --raised: #1b1f25; --ink: #e6e4df; --soft: #a3abb5; --line: #2f353d;
  --none: #1f242b; --full: #f3e9c9; --mid: #3a9bdc; --mark: #ff9a4d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 1.4rem 1.1rem 4rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  sans-serif; overflow-wrap: break-word; }
h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.1; margin: 0 0 .4rem;
  letter-spacing: -.02em; }
h2 { font-size: 1.15rem; margin: 0 0 .5rem; }
p { margin: .3rem 0 .8rem; max-width: 48rem; }
.soft { color: var(--soft); }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .88rem; }
"""


def framed(title: str, body: str, *, style: str, script: str = "") -> str:
    """A page with a body of HTML, and a program that runs behind it."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    policy += f"script-src 'sha256-{digest}'; " if script else ""
    policy += "base-uri 'none'; form-action 'none'"
    program = f"<script>{script}</script>" if script else ""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{html.escape(title)}</title>
<style>{STYLE}{style}</style></head>
<body>{body}{program}</body></html>
"""
