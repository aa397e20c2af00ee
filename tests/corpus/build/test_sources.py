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
