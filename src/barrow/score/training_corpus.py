"""The training corpus of a run, and its overlap with the scored text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow.errors import BarrowError

if TYPE_CHECKING:
    from barrow.score import ModelInfo, ScoredCorpus

# Models whose training text may be available; that of a server is not.
_TRAINED = ("barrow", "transformers", "custom")


@dataclass(frozen=True)
class TrainingCorpus:
    """The documents that a model was trained on."""

    path: str
    text_key: str = "text"


def training_corpus(info: ModelInfo) -> TrainingCorpus | str:
    """The corpus of the run's token store, if it is unchanged; else why not."""
    from barrow.tokens.store.sources import find_sources, split_path
    from barrow.tokens.store.store_file import read_store_file

    run = info.about.get("run")
    store = run.get("store") if isinstance(run, Mapping) else None
    if not store:
        return "it is not known"
    if not Path(store).is_dir():
        return f"its token store {store} no longer exists"
    try:
        origin = read_store_file(Path(store)).corpus
        path = split_path(origin.path, origin.split)
        there = [source.sha256 for source in find_sources(path, text_key=origin.text_key)]
    except (BarrowError, OSError) as error:
        return f"the corpus of its token store cannot be read ({error})"
    if there != [source.sha256 for source in origin.sources]:
        return f"{path} changed after its token store was made"
    return TrainingCorpus(path, origin.text_key)


def receipt_or_hint(
    corpus: ScoredCorpus,
    info: ModelInfo,
    train: str | None,
    *,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[dict[str, Any] | None, str | None]:
    """The contamination receipt; or, for a model that was trained, why there is none.

    `train` names the training corpus where the model does not know it. `on_progress` is called
    with the bytes of text that were read.
    """
    found = training_corpus(info) if train is None else TrainingCorpus(train)
    if isinstance(found, TrainingCorpus):
        return _receipt(corpus, found, on_progress), None
    if info.kind not in _TRAINED:
        return None, None
    return None, (
        f"training corpus: {found}; --train CORPUS counts the overlap with the scored corpus"
    )


def _receipt(
    corpus: ScoredCorpus, train: TrainingCorpus, on_progress: Callable[[int], None] | None
) -> dict[str, Any]:
    import barrow.archive
    from barrow.score.contamination import contamination

    documents = ((text.domain, text.text.decode()) for text in corpus)
    archive = barrow.archive.open(train.path, text_key=train.text_key)

    def blocks() -> Any:
        for block in archive.blocks():
            yield block
            if on_progress is not None:
                on_progress(block.num_text_bytes)

    return contamination(documents, blocks, name=train.path)
