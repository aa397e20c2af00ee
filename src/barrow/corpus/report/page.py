"""A report: one HTML file that shows a corpus to people.

It needs no network, scripts or fonts, and its content security policy forbids them, as its texts
are untrusted. The same manifest, recipe and samples give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barrow.corpus.recipe import Recipe
from barrow.corpus.report.composition import composition, languages, licences
from barrow.corpus.report.flow import duplicates, flow
from barrow.corpus.report.known_limits import known_limits
from barrow.corpus.report.lengths import lengths
from barrow.corpus.report.portable_recipe import portable_json, recipe_hash
from barrow.corpus.report.reject_samples import Samples
from barrow.corpus.report.rejects import found_inside, rejects
from barrow.corpus.report.totals import NOT_STATED, Survey, survey
from barrow.corpus.times import TIMES_PAGE
from barrow.pages.escape import one_line
from barrow.pages.frame import page, static
from barrow.pages.markup import (
    Markup,
    count,
    element,
    folded,
    name,
    paragraph,
    section,
    share,
    size,
    table,
)
from barrow.pages.numbers import readable_count, readable_size

REPORT = "report.html"

_MANY_SHARDS = 12


def report(
    manifest: Mapping[str, Any], recipe: Recipe, samples: Samples, *, has_times: bool = False
) -> str:
    """The report of a corpus, with samples of its rejects.

    With `has_times` it links to the page of times beside it; they are not in it, so that the same
    recipe and raw files give the same report.
    """
    totals = survey(manifest)
    sections = {
        ("composition", "Composition"): composition(totals),
        ("flow", "Flow"): flow(totals),
        ("lengths", "Lengths"): lengths(totals),
        ("languages", "Languages"): languages(totals),
        ("licences", "Licences"): licences(totals),
        ("duplicates", "Duplicates"): duplicates(totals, recipe),
        ("inside", "Found in texts"): found_inside(totals),
        ("rejects", "Dropped"): rejects(totals, samples),
        ("limits", "Limits"): _limits(totals, recipe),
        ("files", "Files"): _files(totals),
        ("recipe", "Recipe"): _recipe(manifest, recipe),
    }
    links = (
        element("li", element("a", words, href=f"#{identity}"))
        for (identity, words), part in sections.items()
        if part
    )
    title = one_line(manifest["recipe"])
    return page(
        f"{title}: report of a corpus",
        element("header", _heading(title, manifest, totals)),
        element("nav", element("ul", *links), aria_label="Parts of this report"),
        element("main", *sections.values()),
        element(
            "footer",
            f"Made by barrow {one_line(manifest['barrow'])} from manifest.json and the rejects; "
            "figures are of texts in UTF-8, rounded, in decimal units where none is named. ",
            element("a", "What each stage took", href=TIMES_PAGE) if has_times else "",
        ),
        style=static("barrow.corpus.report", "report.css"),
    )


def _heading(title: str, manifest: Mapping[str, Any], totals: Survey) -> Markup:
    total = totals.total
    here = [domain for domain in totals.domains if domain.total.documents]
    found, kept = totals.steps[0].came, totals.steps[-1].stayed
    rest = sum(amount.bytes for split, amount in totals.splits.items() if split != "train")
    stated = [value for value in totals.languages if value != NOT_STATED]
    tiles = [
        ("Text", size(total.bytes), f"{readable_count(total.bytes)} bytes"),
        ("Documents", count(total.documents), _mean_words(total.documents, total.bytes)),
        ("Domains", count(len(here)), f"{len(totals.missing)} left out" if totals.missing else ""),
        ("Languages", count(len(stated)), "as stated"),
        ("Validation and test", share(rest, total.bytes), "of the text"),
        ("Dropped", share(found - kept, found), f"of {readable_count(found)} found"),
    ]
    largest = [one_line(domain.name) for domain in here[:3]]
    sentence = "No document is left."
    if here:
        sentence = (
            f"{readable_size(total.bytes)} of text in {readable_count(total.documents)} "
            f"documents. The largest of {len(here)} domains: {', '.join(largest)}."
            if len(here) > 1
            else f"{readable_size(total.bytes)} of text in {readable_count(total.documents)} "
            f"documents of one domain, {largest[0]}."
        )
    return element(
        "div",
        paragraph(f"Report of a corpus, version {manifest['version']}", class_="eyebrow"),
        element("h1", name(title)),
        paragraph(sentence, class_="lead"),
        element(
            "dl",
            *(
                element("div", element("dt", what), element("dd", figure, element("small", more)))
                for what, figure, more in tiles
            ),
            class_="tiles",
        ),
    )


def _mean_words(documents: int, num_bytes: int) -> str:
    return f"{readable_size(num_bytes // documents)} each, on average" if documents else ""


def _limits(totals: Survey, recipe: Recipe) -> Markup:
    items = (element("li", limit) for limit in known_limits(totals, recipe))
    return section("limits", "Known limits", element("ul", *items, class_="limits"))


def _files(totals: Survey) -> Markup:
    rows = [
        (
            element("code", shard["name"]),
            split,
            count(shard["documents"]),
            size(shard["bytes"]),
            size(shard["content_bytes"]),
            element("span", shard["sha256"], class_="hash"),
        )
        for split, shards in totals.shards.items()
        for shard in shards
    ]
    if not rows:
        return section("files", "Files", paragraph("There are no shards."))
    header = ("Shard", "Split", "Documents", "On disk", "As lines", "sha256")
    shards = table("Shards and their checksums", header, rows, text=(0, 1, 5))
    return section(
        "files",
        "Files",
        paragraph(
            "The training split is in the folder of the corpus, validation and test in folders "
            "inside it. ",
            element("code", "barrow verify CORPUS --deep"),
            " checks every byte.",
        ),
        shards if len(rows) <= _MANY_SHARDS else folded(f"{len(rows)} shards", shards),
    )


def _recipe(manifest: Mapping[str, Any], recipe: Recipe) -> Markup:
    return section(
        "recipe",
        "Recipe",
        paragraph(
            "The same recipe and raw files give the same bytes: ",
            element("code", "barrow build CORPUS/recipe.json --root RAW --out AGAIN"),
            f", with barrow {one_line(manifest['barrow'])}. The file's sha256 is ",
            element("span", recipe_hash(recipe), class_="hash"),
            ".",
        ),
        folded(
            f"The whole recipe: {readable_count(len(recipe.domains))} domains, seed {recipe.seed}",
            element("pre", portable_json(recipe), class_="recipe"),
        ),
    )
