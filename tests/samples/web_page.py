"""A web page with what stands around the text on most of them."""

from __future__ import annotations

from html import escape

from tests.samples.people import full_name
from tests.samples.pieces import Article, spoken

SITE = "https://pocket.example.org"


def web_page(article: Article, number: int) -> str:
    """The article among menus, a side bar, scripts and a footer."""
    title = escape(article.title)
    body: list[str] = []
    for place, piece in enumerate(article.pieces):
        if place:
            body.append(f"<h2>{escape(spoken(piece.name))}</h2>")
        body += [f"<p>{escape(paragraph)}</p>" for paragraph in piece.paragraphs]
        if piece.code:
            body.append(f"<pre><code>{escape(piece.code)}</code></pre>")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} | The Pocket Handbook</title>
<link rel="canonical" href="{address_of(number)}">
<style>nav {{ float: left }} .note {{ display: none }}</style>
<script>window.visits = (window.visits || 0) + 1;</script>
</head>
<body>
<header class="site-header"><a href="/">The Pocket Handbook</a></header>
<nav><ul><li><a href="/">Home</a></li><li><a href="/all">All pages</a></li>
<li><a href="/search">Search</a></li><li><a href="/about">About us</a></li></ul></nav>
<article>
<h1>{title}</h1>
<p class="byline">By {full_name(number)}</p>
{chr(10).join(body)}
</article>
<aside class="sidebar"><h3>Read next</h3><ul><li><a href="{address_of(number + 1)}">The next
page</a></li><li><a href="{address_of(number + 2)}">The one after it</a></li></ul></aside>
<footer class="footer"><p>Made for a demonstration. <a href="/terms">Terms</a> &middot;
<a href="/privacy">Privacy</a></p></footer>
</body>
</html>
"""


def address_of(number: int) -> str:
    """Where a page would be."""
    return f"{SITE}/pages/{number}"
