"""The folder of a corpus: which archives it has."""

from __future__ import annotations

from pathlib import Path

from barrow.corpus.mixture import SPLITS
from barrow.errors import NotFound

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


def refuse_other_folders(corpus: Path) -> None:
    """Raise unless a folder is a finished corpus."""
    for name in ("manifest.json", "archive.json"):
        if not (corpus / name).is_file():
            raise NotFound(
                f"{corpus} is not a corpus: it has no {name}; was it made by barrow build?"
            )
