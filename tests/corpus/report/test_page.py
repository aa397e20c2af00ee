from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.pages.chromium import Page
from tests.pages.test_hostile import HOSTILE, check, planted

from barrow.corpus import Domain, PlainText, Recipe
from barrow.corpus.mixture import Splits
from barrow.corpus.report.page import report
from barrow.corpus.report.portable_recipe import recipe_hash
from barrow.corpus.report.reject_samples import Sample
from barrow.pages.escape import one_line, shown

SAMPLES = {("read", "empty"): (Sample("Letters", "letters/a.txt 3", "no text", "what it said"),)}


def test_it_is_well_formed(
    told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable
) -> None:
    text = report(told_manifest, told_recipe, SAMPLES)
    page = read_page(text)
    assert page.tags["html"] == page.tags["h1"] == page.tags["main"] == 1
    # An independent and stricter parser: all of it is XML as well.
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    identities = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    assert len(identities) == len(set(identities))
    links = [node.attrib["href"] for node in root.iter("a")]
    assert len(links) == 11
    for link in links:
        assert link.removeprefix("#") in identities
    for node in root.iter("section"):
        assert node.attrib["aria-labelledby"] in identities


def check_closed(page: Any) -> None:
    """Nothing is fetched, and nothing runs."""
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(
        page.tags
    )
    for tag, key, value in page.attributes:
        assert key not in ("src", "srcset", "action", "style", "data", "xlink:href")
        assert not key.startswith("on")
        assert key != "href" or (tag == "a" and value.startswith("#"))
    (policy,) = [value for _, key, value in page.attributes if value.startswith("default-src")]
    assert policy.startswith("default-src 'none'; script-src 'none'; style-src 'sha256-")


def test_it_refers_to_nothing_outside(
    told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable
) -> None:
    text = report(told_manifest, told_recipe, SAMPLES)
    check_closed(read_page(text))
    assert "http" not in text.replace('http-equiv="', "")
    assert "/somewhere" not in text


def total(manifest: dict[str, Any], name: str, key: str, splits: str | None = None) -> str:
    """Straight from the manifest."""
    found = [
        split["domains"][name][key]
        for title, split in manifest["splits"].items()
        if name in split["domains"] and splits in (None, title)
    ]
    return str(sum(found))


def test_figures_are_those_of_the_manifest(
    told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable
) -> None:
    tables = read_page(report(told_manifest, told_recipe, SAMPLES)).tables
    composition = tables["Text, share of the text, documents and mean length by domain"]
    for row, name in zip(composition[1:], ("Letters", "Notes"), strict=False):
        assert row[:2] == [name, total(told_manifest, name, "bytes")]
        assert row[3] == total(told_manifest, name, "documents")
    assert composition[-1] == ["All", "66000", "100%", "85", "776"]
    by_split = tables["Documents and text by domain and split"]
    assert by_split[1] == ["Letters", "60", "60000", "2", "2000", "3", "3000"]
    assert by_split[2] == ["Notes", "20", "1000", "0", "0", "0", "0"]
    outcome = tables["Found, kept and dropped documents by domain"]
    assert outcome[1:] == [
        ["Letters", "130", "65", "50.0%"],
        ["Notes", "10", "10", "100%"],
        ["All", "140", "75", "53.6%"],
    ]
    shards = tables["Shards and their checksums"]
    assert [[row[0], row[2], row[3], row[5]] for row in shards[1:]] == [
        [shard["name"], str(shard["documents"]), str(shard["bytes"]), shard["sha256"]]
        for split in told_manifest["splits"].values()
        for shard in split["shards"]
    ]


def test_the_heading_says_it_in_short(
    told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable
) -> None:
    words = read_page(report(told_manifest, told_recipe, SAMPLES)).text
    assert "66.0 kB of text in 85 documents. The largest of 2 domains: Letters, Notes." in words
    assert "Validation and test7.6%of the text" in words
    assert "Dropped46.4%of 140 found" in words
    assert "1 left out" in words


def test_the_recipe_is_there(
    told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable
) -> None:
    text = report(told_manifest, told_recipe, SAMPLES)
    (block,) = re.findall(r'<pre class="recipe">(.*?)</pre>', text, re.DOTALL)
    saved = json.loads(ElementTree.fromstring(f"<p>{block}</p>").text or "")
    assert saved["decontamination"]["sets"] == ["quiz.jsonl"]
    assert saved["seed"] == 42
    assert recipe_hash(told_recipe) in read_page(text).text


def test_hostile_texts(
    told_manifest: dict[str, Any],
    told_recipe: Recipe,
    hostile: str,
    with_names: Callable[[dict[str, Any], str], dict[str, Any]],
    read_page: Callable,
) -> None:
    saved = hostile.replace("\ud800", "")  # which no file can hold
    domains = {"letters": Domain(saved, PlainText(), licence=saved)}
    recipe = replace(told_recipe, name=saved, domains=domains)
    sample = Sample(hostile, hostile, hostile, hostile)
    plain = read_page(report(told_manifest, told_recipe, {("filter", "x"): (sample,)}))
    text = report(with_names(told_manifest, hostile), recipe, {("filter", hostile): (sample,)})
    page = read_page(text)
    check_closed(page)
    ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    text.encode()
    assert set(page.tags) <= {*plain.tags, "blockquote", "code", "pre"}
    assert one_line(hostile) in page.text
    assert shown(hostile) in page.text


@pytest.mark.parametrize("num_domains", [1, 200])
def test_one_domain_and_very_many(
    num_domains: int, told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable
) -> None:
    notes = told_manifest["splits"]["train"]["domains"]["Notes"]
    names = [f"Domain {n}" for n in range(num_domains)]
    manifest = {
        **told_manifest,
        "reading": {},
        "stages": dict.fromkeys(names, told_manifest["stages"]["Notes"]),
        "splits": {"train": {"shards": [], "domains": dict.fromkeys(names, notes)}},
    }
    page = read_page(report(manifest, replace(told_recipe, splits=Splits()), {}))
    check_closed(page)
    (composition,) = [
        t for title, t in page.tables.items() if title.startswith("Text, share of t")
    ][:1]
    assert len(composition) == num_domains + 2
    if num_domains == 1:
        assert "20 documents of one domain, Domain 0." in page.text
    assert "no validation or test split" in page.text


def test_nothing_at_all(empty_manifest: dict[str, Any], read_page: Callable) -> None:
    recipe = Recipe("nothing", {"a": Domain("A", PlainText())})
    page = read_page(report(empty_manifest, recipe, {}))
    check_closed(page)
    assert "No document is left." in page.text
    assert "There are no shards." in page.text


def test_the_same_bytes(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    """PILE-1: the same manifest, recipe and samples give the same bytes."""
    again = json.loads(json.dumps(told_manifest))
    assert report(again, told_recipe, SAMPLES) == report(told_manifest, told_recipe, SAMPLES)


def test_many_shards_are_folded(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    train = told_manifest["splits"]["train"]
    train["shards"] *= 40
    assert "<summary>42 shards</summary>" in report(told_manifest, told_recipe, {})


def test_planted_scripts_are_inert_in_a_report(
    told_manifest: dict[str, Any], told_recipe: Recipe, tmp_path: Path, show: Callable[..., Page]
) -> None:
    samples = {("read", HOSTILE): (Sample(HOSTILE, HOSTILE, HOSTILE, HOSTILE),)}
    file = tmp_path / "report.html"
    file.write_text(report(planted(told_manifest), told_recipe, samples))
    check(show(file), scripts=0, images=False)
