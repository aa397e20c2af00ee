"""The page of a profile: parts of the step, advice, timeline, memory, modules, operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barrow.pages import frame
from barrow.pages.frame import static
from barrow.pages.markup import Markup, element, name, paragraph, section, share, size, table
from barrow.train.profile.split import KINDS

_MOST_DEVICES, _MOST_MODULES = 8, 30
_MEANING = {
    "compute": "operations of the program run",
    "communication": "devices exchange data, and nothing is computed meanwhile",
    "input": "the loop waits for a batch",
    "host": "the devices wait for the host: dispatch, logging, saving",
}


def profile_page(report: dict[str, Any]) -> str:
    """The page as one HTML file, without a script."""
    last = report["first_step"] + report["steps"] - 1
    return frame.page(
        "Profile of a run",
        element(
            "header",
            paragraph("Profile", class_="eyebrow"),
            element("h1", f"{1000 * report['step_seconds']:,.1f} ms a step"),
            paragraph(
                f"Mean of steps {report['first_step']} to {last} on {report['devices']} × ",
                name(report["device"]),
                f". {_speed(report)}",
                class_="lead",
            ),
        ),
        element("main", *(part(report) for part in _PARTS)),
        element("footer", "Made by barrow train --profile."),
        style=static("barrow.train.profile", "profile.css"),
    )


def _speed(report: dict[str, Any]) -> str:
    speed = report["speed"]
    words = f"{speed['flops_per_second'] / 1e12:,.3g} TFLOP/s"
    if speed["share"] is None:
        return f"{words}."
    source = {"measured": "was measured here", "vendor": "the vendor states"}
    return f"{words}, {speed['share']:.1%} of what {source[speed['ceiling_source']]}."


def _split(report: dict[str, Any]) -> Markup:
    whole, parts = report["step_seconds"], report["split"]
    rows = [
        (kind, f"{1000 * parts[kind]:,.2f}", share(parts[kind], whole), _MEANING[kind])
        for kind in KINDS
    ]
    total = ("sum", f"{1000 * sum(parts.values()):,.2f}", share(sum(parts.values()), whole), "")
    note = f"{1000 * report['hidden_communication']:,.2f} ms of communication is hidden by compute."
    return section(
        "split",
        "Where the time goes",
        _bar([(kind, parts[kind]) for kind in KINDS], whole, "split"),
        table(
            f"Of a step, the mean of the devices. {note}",
            ("Part", "ms", "Share", ""),
            rows,
            total=total,
            text=(0, 3),
        ),
    )


def _advice(report: dict[str, Any]) -> Markup:
    items = (element("li", words) for words in report["advice"])
    return section("advice", "What to change", element("ol", *items, class_="advice"))


def _timeline(report: dict[str, Any]) -> Markup:
    rows: list[Markup] = []
    for device, columns in list(report["timeline"].items())[:_MOST_DEVICES]:
        cells = []
        for number, parts in enumerate(columns):
            top = 0.0
            for kind, part in zip(KINDS, parts, strict=True):
                if part > 0:
                    cells.append(_rect(kind, number, top, 1.02, 10 * part))
                    top += 10 * part
        rows.append(paragraph(name(device), class_="device"))
        rows.append(_svg("line", cells, len(columns), 10, f"Timeline of {device}"))
    left = len(report["timeline"]) - _MOST_DEVICES
    more = [paragraph(f"And {left} more devices.", class_="soft")] if left > 0 else []
    legend = [element("li", _swatch(kind), kind) for kind in KINDS]
    return section(
        "timeline",
        f"Timeline of {report['steps']} steps",
        element("ul", *legend, class_="legend"),
        *rows,
        *more,
    )


def _memory(report: dict[str, Any]) -> Markup:
    memory = report["memory"]
    kinds = list(memory["by_kind"].items())
    whole = sum(value for _, value in kinds)
    rows: list[tuple[str, str, str]] = [
        (element("span", _swatch(f"k{number}"), kind), size(value), share(value, whole))
        for number, (kind, value) in enumerate(kinds)
    ]
    known = [("highest since the start", memory["peak"]), ("available", memory["limit"])]
    rows += [(words, size(value), "") for words, value in known if value]
    return section(
        "memory",
        "Memory of a device",
        _bar([(f"k{n}", value) for n, (_, value) in enumerate(kinds)], whole, "split"),
        table(
            "Parameters to batch: exact. Gradients to temporaries: what the compiled step "
            "allocates; activations by the equations, temporaries the rest.",
            ("Kind", "Size", "Share"),
            rows,
            total=("sum", size(whole), ""),
        ),
    )


def _modules(report: dict[str, Any]) -> Markup:
    rows = [
        (name(one["module"] or "–"), one["part"], f"{1000 * one['seconds']:,.3f}", _percent(one))
        for one in report["modules"][:_MOST_MODULES]
    ]
    header = ("Module", "Pass", "ms a step", "Share")
    return section("modules", "Modules", table("Time of operations.", header, rows, text=(0, 1)))


def _operations(report: dict[str, Any]) -> Markup:
    rows = [
        (
            name(one["name"]),
            name(one["module"] or "–"),
            one["part"],
            f"{1000 * one['seconds']:,.3f}",
            _percent(one),
            f"{one['times']:,.4g}",
        )
        for one in report["operations"]
    ]
    header = ("Operation", "Module", "Pass", "ms a step", "Share", "Times a step")
    return section(
        "operations",
        "Operations that take most",
        table("Names are of the compiled program.", header, rows, text=(0, 1, 2), extra=(5,)),
    )


_PARTS = (_split, _advice, _timeline, _memory, _modules, _operations)


def _percent(one: dict[str, Any]) -> str:
    return f"{one['share']:.1%}"


def _bar(parts: Sequence[tuple[str, float]], whole: float, kind: str) -> Markup:
    cells, at = [], 0.0
    for part, value in parts:
        width = 100 * value / whole if whole else 0.0
        cells.append(_rect(part, at, 0, width, 10))
        at += width
    return _svg(kind, cells, 100, 10, "Shares; the table has the numbers")


def _swatch(kind: str) -> Markup:
    return element("svg", _rect(kind, 0, 0, 1, 1), viewBox="0 0 1 1", aria_hidden="true")


def _svg(kind: str, shapes: Sequence[Markup], width: float, height: float, label: str) -> Markup:
    return element(
        "svg",
        *shapes,
        viewBox=f"0 0 {width:g} {height:g}",
        preserveAspectRatio="none",
        class_=kind,
        role="img",
        aria_label=label,
    )


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    places = {"x": x, "y": y, "width": width, "height": height}
    return element("rect", class_=kind, **{key: f"{value:.4g}" for key, value in places.items()})
