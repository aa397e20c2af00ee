"""Writes the datasheet and the report of a corpus beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow import config
from barrow.corpus.build.publish import write_if_changed
from barrow.corpus.folder import RECIPE, REJECTS
from barrow.corpus.manifest import MANIFEST
from barrow.corpus.recipe import Recipe
from barrow.corpus.report.datasheet import DATASHEET, datasheet
from barrow.corpus.report.owner_sections import carry_over
from barrow.corpus.report.page import REPORT, report
from barrow.corpus.report.reject_samples import sample_rejects
from barrow.corpus.report.times import times_page
from barrow.corpus.times import TIMES, TIMES_PAGE, read_times
from barrow.errors import ConfigError, NotFound

_KEYS = frozenset(["recipe", "version", "barrow", "missing", "reading", "stages", "splits"])


def write_papers(corpus: Path, manifest: Mapping[str, Any], recipe: Recipe) -> None:
    """Write the datasheet and the report from the manifest and the rejects.

    The owner's sections of an existing datasheet are kept.
    """
    fresh = datasheet(manifest, recipe)
    path = corpus / DATASHEET
    if path.exists():
        try:
            fresh = carry_over(fresh, path.read_text())
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{path} is not UTF-8 ({error}); save it as UTF-8 to keep its owner's text"
            ) from None
    write_if_changed(path, fresh)
    if (corpus / TIMES).is_file():
        write_if_changed(corpus / TIMES_PAGE, times_page(read_times(corpus)))
    write_report(corpus, corpus / REPORT, manifest, recipe)


def renew_papers(corpus: Path) -> None:
    """Rewrite datasheet and report, if there are any: documents they show may be gone."""
    if (corpus / DATASHEET).exists() or (corpus / REPORT).exists():
        write_papers(corpus, *read_build(corpus))


def write_report(corpus: Path, path: Path, manifest: Mapping[str, Any], recipe: Recipe) -> None:
    """Write the report of a corpus to any file."""
    times = path.parent == corpus and (corpus / TIMES).is_file()
    made = report(manifest, recipe, sample_rejects(corpus / REJECTS), has_times=times)
    write_if_changed(path, made)


def read_build(corpus: Path) -> tuple[dict[str, Any], Recipe]:
    """The manifest and the recipe of a finished corpus."""
    for name in (MANIFEST, RECIPE):
        if not (corpus / name).is_file():
            raise NotFound(f"{corpus} has no {name}; was it made by barrow build?")
    manifest = config.parse_json((corpus / MANIFEST).read_bytes(), corpus / MANIFEST)
    if not isinstance(manifest, dict) or not manifest.keys() >= _KEYS:
        raise ConfigError(f"{corpus / MANIFEST} is not a manifest of this version of barrow")
    # Only shown: code that the recipe names is not imported.
    path = corpus / RECIPE
    return manifest, config.from_json(Recipe, path.read_text(), trust=None, where=path)
