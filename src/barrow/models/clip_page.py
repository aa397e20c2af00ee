"""A page to look at: images with their likeliest classes and similarities."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barrow.images.decode import decode
from barrow.images.square import has_alpha, smooth
from barrow.models.page_frame import framed

_SIDE = 224
_JPEG: dict[str, Any] = {"quality": 85}
_STYLE = """
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%),
  1fr)); }
figure { background: var(--raised); border: 1px solid var(--line); border-radius: 8px; margin: 0;
  padding: .8rem; }
img { display: block; height: 14rem; margin: 0 auto .6rem; max-width: 100%; object-fit: contain; }
figcaption { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin-top: .4rem; width: 100%; }
td { padding: .16rem 0 .3rem; vertical-align: bottom; }
td.name { overflow-wrap: anywhere; }
td.name div { background: var(--line); border-radius: 2px; height: .3rem; margin-top: .15rem; }
td.name i { background: var(--mid); border-radius: 2px; display: block; height: 100%;
  min-width: 1px; }
td.number { font-variant-numeric: tabular-nums; padding-left: .8rem; text-align: right;
  white-space: nowrap; width: 1%; }
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
        f'<tr><td class="name">{html.escape(name)}'
        f'<div><i style="width: {100 * share:.1f}%"></i></div></td>'
        f'<td class="number" title="probability">{share:.1%}</td>'
        f'<td class="number" title="scale times cosine">{similarity:.2f}</td></tr>'
        for name, share, similarity in image.best
    )
    name = html.escape(image.name)
    return (
        f'<figure><img src="{_thumbnail(image)}" alt="{name}">\n'
        f"<figcaption>{name}</figcaption>\n<table>\n{rows}\n</table></figure>"
    )


def _thumbnail(image: Shown) -> str:
    """A small JPEG, or a PNG of what is transparent: pages of a thousand photographs stay small.

    Decoded as for the model, 16-bit grey and EXIF's orientation included; nothing else is carried
    over.
    """
    decoded = decode(image.data, name=image.name)
    small = smooth(decoded, name=image.name)
    small = small.convert("RGBA" if has_alpha(small) else "RGB")
    small.thumbnail((2 * _SIDE, 2 * _SIDE))
    is_clear = small.mode == "RGBA"
    out = io.BytesIO()
    small.save(out, "PNG" if is_clear else "JPEG", optimize=True, **({} if is_clear else _JPEG))
    kind = "png" if is_clear else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(out.getvalue()).decode()}"
