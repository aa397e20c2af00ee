from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from barrow.corpus import Domain, PlainText, Recipe
from barrow.corpus.report.datasheet import datasheet
from barrow.corpus.report.portable_recipe import recipe_hash
from barrow.pages.numbers import readable_count, readable_size


def parse(text: str) -> list[Token]:
    """By somebody else's parser; what it takes for HTML are comments only."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token in tokens:
        if token.type == "html_block":
            assert token.content.startswith("<!-- ")
        assert not any(child.type in ("link_open", "html_inline") for child in token.children or [])
    return tokens


def rows_under(text: str, heading: str) -> list[list[str]]:
    """Cells of the first table under a heading, its header apart."""
    rows: list[list[str]] = []
    here = False
    for token in parse(text.partition(f"# {heading}\n")[2]):
        here = here or token.type == "tbody_open"
        if here and token.type == "tr_open":
            rows.append([])
        elif here and token.type == "inline":
            rows[-1].append("".join(child.content for child in token.children or []))
        elif token.type == "table_close":
            break
    return rows


def test_the_questions_are_answered(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    """PILE-12: a datasheet."""
    text = datasheet(told_manifest, told_recipe)
    tokens = parse(text)
    titles = [
        following.content
        for token, following in pairwise(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    assert titles == [
        *("Motivation", "Composition", "Collection", "Preprocessing", "Known limits", "Uses"),
        "Distribution and maintenance",
    ]
    assert (
        "85 documents, 66.0 kB of text (66,000 bytes of UTF-8), from 2 domains; version 3" in text
    )
    for place in ("motivation", "collection", "uses", "maintenance"):
        assert f"<!-- owner: {place} -->" in text


def test_figures_are_those_of_the_manifest(
    told_manifest: dict[str, Any], told_recipe: Recipe
) -> None:
    text = datasheet(told_manifest, told_recipe)
    splits = told_manifest["splits"]
    expected = []
    for name in ("Letters", "Notes"):
        found = [split["domains"][name] for split in splits.values() if name in split["domains"]]
        documents, size = (sum(told[key] for told in found) for key in ("documents", "bytes"))
        expected.append(
            [
                name,
                readable_count(documents),
                readable_size(size),
                f"{size / 660:.1f}%",
                readable_size(size // documents),
            ]
        )
    assert rows_under(text, "Composition")[:-1] == expected
    assert rows_under(text, "Composition")[-1] == ["all", "85", "66.0 kB", "100%", "776 B"]
    assert rows_under(text, "Languages") == [["en", "85", "66.0 kB", "100%"]]
    assert rows_under(text, "Licences") == [
        ["CC0-1.0", "81", "63.0 kB", "95.4%"],
        ["not stated", "4", "3.0 kB", "4.6%"],
    ]
    assert rows_under(text, "Splits") == [
        ["train", "80", "61.0 kB", "92.4%", "the rest", "2"],
        ["validation", "2", "2.0 kB", "3.0%", "3.0%", "1"],
        ["test", "3", "3.0 kB", "4.5%", "4.0%", "1"],
    ]
    assert rows_under(text, "Collection")[0] == [
        *("Letters", "106", "4", "plain_text/2", "2024-05-06", "LicenseRef-unknown"),
    ]
    shards = rows_under(text, "How to rebuild")
    assert [(row[0], row[1], row[4]) for row in shards] == [
        (split, shard["name"], shard["sha256"])
        for split, told in splits.items()
        for shard in told["shards"]
    ]
    assert recipe_hash(told_recipe) in text


def test_by_domain_licences_have_shares_of_the_domain(
    told_manifest: dict[str, Any], told_recipe: Recipe
) -> None:
    text = datasheet(told_manifest, told_recipe).partition("By domain; shares")[2]
    assert rows_under("# x\n" + text, "x")[0] == ["Letters", "CC0-1.0", "62", "62.0 kB", "95.4%"]


def test_the_same_bytes_and_no_place(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    """PILE-1: the same manifest gives the same bytes, and nothing of when or where."""
    text = datasheet(told_manifest, told_recipe)
    assert datasheet(json.loads(json.dumps(told_manifest)), told_recipe) == text
    assert "/somewhere" not in text
    assert "quiz.jsonl" in text
    assert "older" in text


def test_hostile_names(
    told_manifest: dict[str, Any],
    told_recipe: Recipe,
    hostile: str,
    with_names: Callable[[dict[str, Any], str], dict[str, Any]],
) -> None:
    text = datasheet(with_names(told_manifest, hostile), replace(told_recipe, name="x"))
    text.encode()
    tables = [token for token in parse(text) if token.type == "table_open"]
    assert len(tables) == len(
        [t for t in parse(datasheet(told_manifest, told_recipe)) if t.type == "table_open"]
    )
    assert len(rows_under(text, "Composition")) == 3


def test_a_recipe_with_backticks() -> None:
    recipe = Recipe("a ``` b", {"a": Domain("```\n# no heading\n", PlainText())})
    split = {"shards": [], "domains": {}}
    told = {"recipe": "a", "version": 1, "barrow": "0", "missing": {}, "reading": {}}
    text = datasheet({**told, "stages": {}, "splits": {"train": split}}, recipe)
    (block,) = [t for t in parse(text) if t.type == "fence" and t.info == "json"]
    assert json.loads(block.content)["name"] == "a ``` b"
    assert block.content.endswith("}\n")


def test_nothing_at_all(empty_manifest: dict[str, Any]) -> None:
    recipe = Recipe("nothing", {"a": Domain("A", PlainText())})
    text = datasheet(empty_manifest, recipe)
    assert "0 documents, 0 B of text" in text
    assert rows_under(text, "Composition") == [["all", "0", "0 B", "–", "–"]]
