"""A page to look at: images with their likeliest classes and similarities."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass

from barrow.images.decode import pillow
from barrow.models.page_frame import framed

_SIDE = 224
_STYLE = """
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); }
figure { border: 1px solid var(--line); border-radius: 8px; margin: 0; padding: .8rem; }
img { display: block; height: 14rem; margin: 0 auto .6rem; max-width: 100%; object-fit: contain; }
figcaption { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin-top: .4rem; width: 100%; }
td { padding: .12rem .3rem; vertical-align: middle; }
td.name { overflow-wrap: anywhere; width: 38%; }
td.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
td.bar { width: 30%; }
td.bar div { background: var(--mid); border-radius: 2px; height: .7rem; min-width: 1px; }
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
    said = f'<h1>{html.escape(title)}</h1>\n<p class="soft">{html.escape(about)}</p>\n'
    return framed(title, f"{said}<main>\n{figures}\n</main>\n", style=_STYLE)


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
