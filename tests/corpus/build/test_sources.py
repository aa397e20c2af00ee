from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from barrow.corpus import PlainText, Recipe
from barrow.corpus.build.raw_files import HashCache
from barrow.corpus.build.read import read_tasks
from barrow.corpus.build.sources import Source, find_sources
from barrow.engine import Progress


def sources_of(recipe: Recipe, root: Path) -> list[Source]:
    cache = HashCache(root / ".hashes.json")
    return find_sources(recipe, root, cache, Progress(), apart_from=root / "out")[0]


def test_small_files_are_read_together(root: Path, recipe: Recipe) -> None:
    letters, notes = sources_of(recipe, root)
    (task,) = read_tasks(letters, recipe)
    assert len(task.settings.names) == 31
    assert list(task.settings.names) == sorted(task.settings.names)
    assert [len(group) for group in task.inputs.groups] == [1] * 31
    assert len(read_tasks(notes, recipe)) == 1


def test_the_key_is_of_all_that_decides(root: Path, recipe: Recipe) -> None:
    def key(changed: Recipe) -> str:
        return read_tasks(sources_of(changed, root)[0], changed)[0].key

    def with_letters(**changes: object) -> Recipe:
        letters = replace(recipe.domains["letters"], **changes)  # type: ignore[arg-type]
        return replace(recipe, domains={**recipe.domains, "letters": letters})

    first = key(recipe)
    assert key(replace(recipe, name="other", seed=7)) == first
    assert key(with_letters(licence="MIT")) != first
    assert key(with_letters(reader=PlainText(max_bytes=9))) != first
    assert key(replace(recipe, max_text=99)) != first
    (root / "letters" / "00.txt").write_text("another text")
    assert key(recipe) != first


def test_hidden_files_and_those_of_crawlers_are_no_documents(root: Path, recipe: Recipe) -> None:
    before = [[file.name for group in s.groups for file in group] for s in sources_of(recipe, root)]
    others = ("robots.txt", "site/robots.txt", ".notes.txt", ".cache/page.txt", "hts-log.txt")
    others += ("2024-01.crawl.log.txt", "wget-log")
    for name in others:
        (root / "notes" / name).parent.mkdir(exist_ok=True)
        (root / "notes" / name).write_text("User-agent: *")
    (root / "notes" / "crawling.txt").write_text("A text about robots.txt.")
    letters, notes = sources_of(recipe, root)
    names = [file.name for group in notes.groups for file in group]
    assert sorted(names) == sorted([*before[1], "notes/crawling.txt"])
    assert sorted(notes.unread) == sorted(f"notes/{name}" for name in others)
    assert [file.name for group in letters.groups for file in group] == before[0]


def test_files_that_are_named_are_read_and_nothing_else_is_counted(
    root: Path, recipe: Recipe
) -> None:
    (root / "notes" / ".draft.txt").write_text("A draft.")
    notes = replace(recipe.domains["notes"], paths=(".draft.txt", "00.txt"))
    (source,) = sources_of(replace(recipe, domains={"notes": notes}), root)
    assert [group[0].name for group in source.groups] == ["notes/.draft.txt", "notes/00.txt"]
    assert source.unread == []
