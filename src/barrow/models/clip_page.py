"""A page to look at: images with their likeliest classes and similarities."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass

from barrow.images.decode import pillow

_SIDE = 224
_STYLE = """
:root { color-scheme: light dark; --bar: #4c7bd9; --line: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; }
body { padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
p { margin: .2rem 0 1.2rem; opacity: .75; overflow-wrap: anywhere; }
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); }
figure { border: 1px solid var(--line); border-radius: 8px; margin: 0; padding: .8rem; }
img { display: block; height: 14rem; margin: 0 auto .6rem; max-width: 100%; object-fit: contain; }
figcaption { font-size: .85rem; opacity: .75; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin-top: .4rem; width: 100%; }
td { padding: .12rem .3rem; vertical-align: middle; }
td.name { overflow-wrap: anywhere; width: 38%; }
td.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
td.bar { width: 30%; }
td.bar div { background: var(--bar); border-radius: 2px; height: .7rem; min-width: 1px; }
"""


@dataclass(frozen=True)
class Shown:
    """An image's name and file, and its best classes or texts: name, probability, similarity."""

    name: str
    data: bytes
    best: Sequence[tuple[str, float, float]]


def page(title: str, about: str, images: Sequence[Shown]) -> str:
    """HTML that needs nothing but itself; bars are as long as probabilities."""
    figures = "\n".join(_figure(image) for image in images)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n"
        f"<h1>{html.escape(title)}</h1>\n<p>{html.escape(about)}</p>\n"
        f"<main>\n{figures}\n</main>\n</html>\n"
    )


def _figure(image: Shown) -> str:
    rows = "\n".join(
        f'<tr><td class="name">{html.escape(name)}</td>'
        f'<td class="bar"><div style="width: {100 * share:.1f}%"></div></td>'
        f'<td class="number">{share:.1%}</td>'
        f'<td class="number" title="scale times cosine">{similarity:.2f}</td></tr>'
        for name, share, similarity in image.best
    )
    name = html.escape(image.name)
    return (
        f'<figure><img src="data:image/png;base64,{_thumbnail(image.data)}" alt="{name}">\n'
        f"<figcaption>{name}</figcaption>\n<table>\n{rows}\n</table></figure>"
    )


def _thumbnail(data: bytes) -> str:
    """A small PNG: pages of a thousand photographs stay small, and nothing else is carried over."""
    from PIL import ImageOps

    with pillow("a page of images").open(io.BytesIO(data)) as opened:
        small = ImageOps.exif_transpose(opened).convert("RGBA")
        small.thumbnail((2 * _SIDE, 2 * _SIDE))
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()
