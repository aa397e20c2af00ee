"""The page of times: what each stage of a build took."""

from __future__ import annotations

from typing import Any

from barrow.corpus.times import table_of
from barrow.pages.frame import page, static
from barrow.pages.markup import element, paragraph, table

_HEADER = ("Stage", "Tasks", "From cache", "MB", "Seconds", "CPU seconds", "MB/s")


def times_page(times: dict[str, Any]) -> str:
    """What the stages took, as a page."""
    *rows, total = table_of(times)
    return page(
        "Times of a build",
        element("header", element("h1", "Times of a build")),
        element(
            "main",
            paragraph(
                f"{times['seconds']:,.1f} s with {times['workers']} workers (engine "
                f"{times['engine']}). MB are those of the tasks that were done in this build; the "
                "others were in the cache. CPU seconds are those of all workers. The total has "
                "what is between stages, too."
            ),
            table("By stage", _HEADER, rows, total=total),
        ),
        style=static("barrow.corpus.report", "report.css"),
    )
