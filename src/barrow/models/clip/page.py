"""An HTML page: images with their likeliest classes and similarities."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barrow.images.decode import decode
from barrow.images.square import has_alpha, smooth
from barrow.pages import frame
from barrow.pages.frame import static
from barrow.pages.markup import Markup, element, paragraph

_SIDE = 224
_JPEG: dict[str, Any] = {"quality": 85}


@dataclass(frozen=True)
class Shown:
    """An image's name and file, and its best classes or texts: name, probability, similarity."""

    name: str
    data: bytes
    best: Sequence[tuple[str, float, float]]


def page(title: str, about: str, images: Sequence[Shown]) -> str:
    """Self-contained HTML; bars are as long as probabilities."""
    return frame.page(
        title,
        element("h1", title),
        paragraph(about, class_="soft"),
        element("main", *(_figure(image) for image in images)),
        style=static("barrow.models.clip", "pictures.css"),
    )


def _figure(image: Shown) -> Markup:
    rows = (
        element(
            "tr",
            element("td", name, _bar(share), class_="name"),
            element("td", f"{share:.1%}", class_="number", title="probability"),
            element("td", f"{similarity:.2f}", class_="number", title="scale times cosine"),
        )
        for name, share, similarity in image.best
    )
    return element(
        "figure",
        element("img", src=_thumbnail(image), alt=image.name),
        element("figcaption", image.name),
        element("table", element("tbody", *rows)),
    )


def _bar(share: float) -> Markup:
    part = element("rect", width=f"{100 * share:.1f}", height="1")
    return element("svg", part, viewBox="0 0 100 1", preserveAspectRatio="none", aria_hidden="true")


def _thumbnail(image: Shown) -> str:
    """A small JPEG, or a PNG if transparent, so that pages of many photographs are small.

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
