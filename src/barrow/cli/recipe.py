"""A recipe as the command line describes it: its name, changes of settings, files and folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from barrow.cli.python_file import made_by

if TYPE_CHECKING:
    from barrow.corpus import Recipe


def load_recipe(name: str, *, trust: Collection[str] | None = ()) -> Recipe:
    """A recipe by its name, from a saved JSON file, or from a Python file.

    For a saved one, `trust` lists code outside barrow that may be imported (`config.from_dict`).
    """
    import importlib
    import pkgutil

    import barrow.recipes
    from barrow import config
    from barrow.corpus import Recipe
    from barrow.corpus.folder import RECIPE, refuse_changed_recipe
    from barrow.errors import nearest

    if name.endswith(".json"):
        if Path(name).name == RECIPE:
            refuse_changed_recipe(Path(name))
        return config.from_json(Recipe, Path(name).read_text(), trust=trust, where=name)
    if name.endswith(".py"):
        return made_by(Path(name), "recipe", Recipe)
    found = (module.name for module in pkgutil.iter_modules(barrow.recipes.__path__))
    homes = {one: f"barrow.recipes.{one}" for one in found if one not in barrow.recipes.TRAINING}
    homes["pocket"] = "barrow.demo.pocket"
    if name not in homes:
        raise typer.BadParameter(f"there is no recipe {name!r}; {nearest(name, sorted(homes))}")
    made = importlib.import_module(homes[name]).recipe()
    assert isinstance(made, Recipe)
    return made


def resolve(
    recipe: Recipe, changed: Collection[str], language: str | None, *, trust: Collection[str] = ()
) -> Recipe:
    """A recipe with changes of settings, then with the rules of a language.

    Of a recipe of one domain, the settings of the domain are named without ``domains.FOLDER``, and
    its name is ``domain``. With ``epochs`` or ``weight`` of a domain, the mixture is by them unless
    it is set.
    """
    from barrow import config
    from barrow.corpus.filters.by_language import recipe_by_language

    later = [one for one in changed if ".ByLanguage" in one.partition("=")[0]]
    made = _override(recipe, [one for one in changed if one not in later], trust=trust)
    if language is not None:
        made = recipe_by_language(made, language)
    made = _override(made, later, trust=trust)
    keys = [one.partition("=")[0] for one in changed]
    asked = [key.rpartition(".")[2] for key in keys]
    for by in ("weight", "epochs"):
        if by in asked and made.mixture.by == "once" and "mixture.by" not in keys:
            made = config.override(made, [f"mixture.by={by}"])
    return made


def _override(recipe: Recipe, changed: Collection[str], *, trust: Collection[str]) -> Recipe:
    from barrow import config
    from barrow.errors import ConfigError, nearest

    for one in changed:
        if "=" not in one and Path(one).exists():
            raise typer.BadParameter(
                f"{one} is not KEY=VALUE; name each file, as --source {one}, or quote a pattern"
            )
    if len(recipe.domains) != 1:
        return config.override(recipe, changed, trust=trust)
    ((folder, domain),) = recipe.domains.items()
    own = {field.name for field in fields(domain)}
    ours = {field.name for field in fields(recipe)}
    for one in changed:
        first = one.partition("=")[0].partition(".")[0]
        if first in ours:
            recipe = config.override(recipe, [one], trust=trust)
        elif first in own or first == "domain" or "=" not in one:
            ((folder, domain),) = recipe.domains.items()
            changed_one = f"name={one.partition('=')[2]}" if first == "domain" else one
            made = config.override(domain, [changed_one], trust=trust)
            recipe = replace(recipe, domains={folder: made})
        else:
            known = [key for key, *_ in keys_of(recipe)]
            raise ConfigError(f"{first}: no setting {first!r}; {nearest(first, known)}")
    return recipe


def keys_of(recipe: Recipe) -> Iterator[tuple[str, str, str]]:
    """Every key with its value and meaning; of a recipe of one domain, its own first."""
    from barrow.config import describe

    if len(recipe.domains) == 1:
        (domain,) = recipe.domains.values()
        for key, value, meaning in describe(domain):
            yield "domain" if key == "name" else key, value, meaning
    yield from (
        row
        for row in describe(recipe)
        if len(recipe.domains) > 1 or row[0].partition(".")[0] != "domains"
    )


def with_mixture(made: Recipe, path: Path) -> Recipe:
    """The recipe with the weights of a mixture, by name; domains that it does not name are 0."""
    from barrow.errors import ConfigError, nearest
    from barrow.mix import read_mixture

    weights = read_mixture(path)
    names = [domain.name for domain in made.domains.values()]
    for name in weights:
        if name not in names:
            raise ConfigError(f"{path}: the recipe has no domain {name!r}; {nearest(name, names)}")
    domains = {
        folder: replace(domain, weight=100 * weights.get(domain.name, 0.0), epochs=None)
        for folder, domain in made.domains.items()
    }
    return replace(made, domains=domains, mixture=replace(made.mixture, by="weight"))


def of_sources(made: Recipe, sources: list[str]) -> tuple[Recipe, Path]:
    """A recipe of one domain that reads some files and folders, and the root of them."""
    if len(made.domains) != 1:
        raise typer.BadParameter(
            f"--source is for a recipe of one domain, and {made.name!r} has {len(made.domains)}: "
            "pass --root DIR"
        )
    (domain,) = made.domains.values()
    found = dict.fromkeys(path.absolute() for source in sources for path in _expanded(source))
    folders = [path for path in found if path.is_dir() and not set(path.parents) & found.keys()]
    patterns = domain.paths or domain.reader.patterns
    inside = {path for folder in folders for one in patterns for path in folder.glob(one)}
    files = [path for path in found if not path.is_dir() and path not in inside]
    root = Path(os.path.commonpath([*folders, *(file.parent for file in files)]))
    domains = {}
    named = tuple(glob.escape(str(file.relative_to(root))) for file in files)
    if files:
        both = (*named, *patterns) if root in folders else named
        domains["."] = replace(domain, paths=both)
    for folder in [one for one in folders if not (files and one == root)]:
        # The shards of an archive, without its catalog and what a build wrote beside them.
        paths = ("*.jsonl.zst",) if (folder / "archive.json").is_file() else domain.paths
        domains[folder.relative_to(root).as_posix()] = replace(domain, paths=paths)
    return replace(made, domains=domains), root


def _expanded(source: str) -> list[Path]:
    """The files and folders that a path or a pattern names."""
    path = Path(source).expanduser()
    if path.exists():
        return [path]
    if not glob.has_magic(source):
        raise typer.BadParameter(
            f"{source} does not exist; --source takes files, folders, patterns"
        )
    found = sorted(glob.iglob(str(path), recursive=True), key=os.fsencode)  # noqa: PTH207 - it may be absolute
    if not found:
        raise typer.BadParameter(f"no file matches {source!r}; check the pattern of --source")
    return [Path(name) for name in found]
