"""Charts as SVG: bars, histograms, and a flow diagram.

Every chart is stretched to its width and has no text: labels are HTML beside it, readable on any
screen. Colours are classes of the style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence

from barrow.pages.markup import Markup, element

_LEAST = 0.6  # of 100: the least that is visible
_GAP = 0.3
_HEIGHT = 60


def bar(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
    """Parts of a whole side by side, as (class, value); its labels are beside it."""
    shapes = []
    at = 0.0
    for kind, value in parts:
        if value <= 0 or whole <= 0:
            continue
        width = max(_LEAST, 100 * value / whole)
        start = min(at, 100 - _LEAST)
        shapes.append(_rect(kind, start, 0, min(width, 100 - start), 10))
        at = start + width + _GAP
    track = _rect("track", 0, 0, 100, 10)
    return element(
        "svg",
        track,
        *shapes,
        class_="bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def histogram(
    heights: Sequence[float], titles: Sequence[str], label: str, *, class_: str | None = None
) -> Markup:
    """Columns, the highest of full height; `titles` describe each, `label` the whole."""
    top = max(heights, default=0) or 1
    columns = []
    for k, (height, title) in enumerate(zip(heights, titles, strict=True)):
        tall = max(1.5, _HEIGHT * height / top) if height else 0.0
        shape = _rect("column", 10 * k + 0.5, _HEIGHT - tall, 9, tall) if tall else ""
        # The whole height answers to the pointer, however low the column is.
        area = _rect("area", 10 * k, 0, 10, _HEIGHT)
        columns.append(element("g", element("title", title), area, shape))
    return element(
        "svg",
        element("title", label),
        *columns,
        class_="histogram" if class_ is None else f"histogram {class_}",
        viewBox=f"0 0 {10 * max(1, len(heights))} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def river(kind: str, came: float, stayed: float, whole: float) -> Markup:
    """A segment of the flow, as wide as what comes in, with a branch for what is dropped."""
    whole = whole or 1
    right, left = 100 * came / whole, 100 * stayed / whole
    shapes = [_rect("kept", 0, 0, left, _HEIGHT)]
    if came > stayed:
        left = min(left, right - _LEAST)
        thick = max(2.0, min(24.0, 0.5 * (right - left)))
        path = (
            f"M{_number(left + _GAP)} 0L{_number(right)} 0"
            f"C{_number(right)} 18 {_number(right)} 26 100 26"
            f"L100 {_number(26 + thick)}"
            f"C{_number(left + _GAP)} {_number(26 + thick)} {_number(left + _GAP)} 24 "
            f"{_number(left + _GAP)} 0Z"
        )
        shapes.append(element("path", d=path, class_=kind))
    return element(
        "svg",
        *shapes,
        class_="river",
        viewBox=f"0 0 100 {_HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    return element(
        "rect",
        x=_number(x),
        y=_number(y),
        width=_number(width),
        height=_number(height),
        class_=kind,
    )


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
