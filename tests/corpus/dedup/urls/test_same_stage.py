"""Of documents with the same URL one stays (PILE-12)."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.takedown_corpora import remove, sentence, write_raw

import barrow
from barrow import config
from barrow.corpus import Domain, Recipe, Records, build
from barrow.corpus.dedup import deduplicate as deduplicate_module
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.verify import verify_corpus
from barrow.engine import Engine
from barrow.errors import BudgetExceeded, ConfigError

INLINE = Engine(num_workers=0)
NEWEST = Deduplication(url="newest", budget=None)
RECIPE = Recipe("test", {"a": Domain("", Records())}, deduplication=NEWEST)


def row(text: str, url: str | None = None, date: str | None = None) -> dict[str, Any]:
    meta = {"pile_set_name": "A"} | {
        key: value for key, value in (("url", url), ("date", date)) if value is not None
    }
    return {"text": text, "meta": meta}


def built(
    tmp_path: Path, rows: list[dict[str, Any]], *, name: str = "out", **settings: Any
) -> tuple[set[str], dict[str, Any]]:
    """The texts that are kept, and the manifest."""
    root = write_raw(tmp_path / f"raw-{name}", {"a": rows})
    recipe = replace(RECIPE, deduplication=replace(NEWEST, **settings))
    manifest = build(recipe, root=root, out=tmp_path / name, engine=INLINE)
    assert verify_corpus(tmp_path / name, deep=True).ok
    return {document.text for document in barrow.archive.open(tmp_path / name)}, manifest


OLD, NEW, LONG = sentence("old"), sentence("new"), sentence("long", 60)
ROWS = [
    row(LONG, "http://www.example.org/a/", "2020-01-01"),
    row(NEW, "https://example.org/a?utm_source=mail", "2024-05-06"),
    row(OLD, "https://example.org/a#top", "2019"),
    row(sentence("other page"), "https://example.org/b", "2001"),
    row(sentence("no url")),
    row(sentence("no url either")),
    row(sentence("not a page"), "mailto:me@example.org"),
    row(sentence("nor this"), "mailto:me@example.org"),
]


@pytest.mark.parametrize(("url", "kept"), [("newest", NEW), ("longest", LONG)])
def test_the_newest_or_the_longest_stays(tmp_path: Path, url: str, kept: str) -> None:
    texts, manifest = built(tmp_path, ROWS, url=url)
    assert {LONG, NEW, OLD} & texts == {kept}
    assert len(texts) == len(ROWS) - 2
    assert manifest["stages"]["A"]["deduplicate"]["rejects"] == {"same-url": 2}
    (keeper,) = [d for d in barrow.archive.open(tmp_path / "out") if d.text == kept]
    rejects = list(barrow.archive.open(tmp_path / "out" / "rejects"))
    assert len(rejects) == 2
    for reject in rejects:
        assert reject.meta["reason"] == "same-url"
        assert reject.meta["cause"] == f"at the URL of {keeper.meta['id']}"
        assert reject.meta["url"].partition("example.org/a")[1]


def test_a_document_that_was_removed_is_not_the_original_of_a_copy(tmp_path: Path) -> None:
    """The copy at another URL stays, although the removed one comes first in the order."""
    longer = row(f"{LONG} ", "http://www.example.org/a/", "2020-01-01")
    rows = [longer, ROWS[1], row(LONG, "https://mirror.example.org/a")]
    texts, manifest = built(tmp_path, rows)
    assert texts == {NEW, LONG}
    assert manifest["stages"]["A"]["deduplicate"]["rejects"] == {"same-url": 1}


def test_without_dates_the_id_decides_whatever_the_order_and_the_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)
    rows = [row(sentence(f"{k}"), f"https://example.org/{k % 7}") for k in range(40)]
    first, _ = built(tmp_path, rows, near=False)
    assert len(first) == 7
    rng.shuffle(rows)
    monkeypatch.setattr(deduplicate_module, "_PARTITION_DOCUMENTS", 3)
    assert built(tmp_path, rows, near=False, name="again")[0] == first
    by_id = {d.meta["url"]: d.meta["id"] for d in barrow.archive.open(tmp_path / "out")}
    for reject in barrow.archive.open(tmp_path / "out" / "rejects"):
        assert by_id[reject.meta["url"]] < reject.meta["id"]


def test_finished_corpora_come_first(tmp_path: Path) -> None:
    built(tmp_path, ROWS[2:3], name="before")
    against = (str(tmp_path / "before"),)
    texts, _ = built(tmp_path, ROWS[1:4], against=against)
    assert texts == {ROWS[3]["text"]}


def test_what_was_removed_for_a_url_does_not_come_back_after_a_takedown(tmp_path: Path) -> None:
    built(tmp_path, ROWS)
    out = tmp_path / "out"
    (keeper,) = [d.meta["id"] for d in barrow.archive.open(out) if d.text == NEW]
    remove(out, Rules(ids=(keeper,)), and_copies=True)
    assert verify_corpus(out, deep=True).ok
    assert [d.meta["reason"] for d in barrow.archive.open(out / "rejects")] == []
    build(RECIPE, root=tmp_path / "raw-out", out=out, engine=INLINE)
    assert verify_corpus(out, deep=True).ok
    assert not {LONG, NEW, OLD} & {document.text for document in barrow.archive.open(out)}


def test_the_budget_holds_and_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded, match=r"is at the URL of [0-9a-f-]+(.|\n)*url unset"):
        built(tmp_path, ROWS[:3], budget=0.5)


def test_settings() -> None:
    assert config.from_json(Recipe, config.to_json(RECIPE)) == RECIPE
    with pytest.raises(ConfigError, match="url must be 'newest', 'longest' or None, got 'oldest'"):
        Deduplication(url="oldest")  # type: ignore[arg-type]
