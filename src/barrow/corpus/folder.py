"""The folder of a corpus: which archives it has."""

from __future__ import annotations

from pathlib import Path

from barrow.config import parse_json
from barrow.corpus.mixture import SPLITS
from barrow.errors import ConfigError, NotFound
from barrow.files import sha256_of

RECIPE = "recipe.json"
REJECTS = "rejects"
WORK = ".work"


def archive_folders(corpus: Path) -> dict[str, Path]:
    """The archives of documents that exist, by split."""
    folders = {split: corpus if split == "train" else corpus / split for split in SPLITS}
    return {
        split: folder for split, folder in folders.items() if (folder / "archive.json").exists()
    }


def rejects_folder(corpus: Path) -> Path | None:
    """The archive of rejects, if there is one."""
    folder = corpus / REJECTS
    return folder if (folder / "archive.json").exists() else None


def refuse_changed_recipe(recipe: Path) -> None:
    """Raise unless a recipe is the one that the manifest beside it names, if it names one."""
    manifest = recipe.with_name("manifest.json")
    table = parse_json(manifest.read_bytes(), manifest) if manifest.is_file() else None
    known = table.get("recipe_sha256") if isinstance(table, dict) else None
    if known is not None and not (recipe.is_file() and sha256_of(recipe) == known):
        raise ConfigError(
            f"{recipe} is not the recipe that {manifest.name} names: it was changed, or a build "
            "was interrupted; copy it elsewhere to build from it as it is"
        )


def refuse_other_folders(corpus: Path) -> None:
    """Raise unless a folder is a finished corpus."""
    for name in ("manifest.json", "archive.json"):
        if not (corpus / name).is_file():
            raise NotFound(
                f"{corpus} is not a corpus: it has no {name}; was it made by barrow build?"
            )
