"""Whether a folder is what was written to it: one function for every kind of folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.errors import BarrowError, StoreError
from barrow.files import sha256_of

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Verified:
    """The kind of folder that was checked, counts of its parts, and all problems.

    ``unchecked`` counts arrays without a checksum.
    """

    kind: str
    counts: Mapping[str, int]
    problems: Sequence[BarrowError]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(
    path: str | os.PathLike[str],
    *,
    deep: bool = False,
    text_key: str = "text",
    on_progress: Progress | None = None,
) -> Verified:
    """Check every byte that has a checksum, and that the parts of a folder fit each other.

    The folder is a corpus, an archive, a token store, an index of pairs, a run, a checkpoint, a
    model (compressed, exported, adapters), a result of scoring, or a search; its files decide.
    With `deep`, every record of an archive is parsed too. `on_progress` is called with bytes done.
    """
    say = on_progress or (lambda _: None)
    folder = Path(path)
    if (folder / "manifest.json").is_file():
        from barrow.corpus.verify import verify_corpus

        return _counted("corpus", verify_corpus(folder, deep=deep, on_progress=say), _ARCHIVE)
    if (folder / "store.json").is_file():
        from barrow.tokens.store.verify import verify_store

        return _counted("token store", verify_store(folder, on_progress=say), _STORE)
    for name, (kind, check) in _KINDS.items():
        if (folder / name).exists():
            return _collected(kind, check(folder))
    if folder.suffix == ".safetensors" or any(folder.glob("*.safetensors")):
        return _collected("model", _arrays(folder))
    if any(folder.glob("step-*/index.json")):
        return _collected("checkpoints", _checkpoints(folder))
    if folder.suffix in (".gguf", ".onnx") or (folder / "tokenizer.json").is_file():
        raise ValueError(
            f"{path} has no checksums to compare with: .gguf and .onnx files and tokenizers have "
            "none; compare it with a copy"
        )
    import barrow.archive

    found = barrow.archive.verify(path, deep=deep, text_key=text_key, on_progress=say)
    return _counted("archive", found, _ARCHIVE)


_ARCHIVE = ("shards", "frames", "documents", "bytes")
_STORE = ("files", "documents", "tokens", "bytes")
# What a check comes upon: so many of something, or a problem.
_Found = Iterable[tuple[str, int] | BarrowError]


def _counted(kind: str, found: Any, names: tuple[str, ...]) -> Verified:
    return Verified(kind, {name: getattr(found, f"num_{name}") for name in names}, found.problems)


def _collected(kind: str, found: _Found) -> Verified:
    """Collect what a check yields; an error that it ends with is the last problem."""
    counts: Counter[str] = Counter()
    problems: dict[str, BarrowError] = {}
    try:
        for one in found:
            if isinstance(one, BarrowError):
                problems[str(one)] = one
            else:
                counts[one[0]] += one[1]
    except BarrowError as error:
        problems[str(error)] = error
    return Verified(kind, counts, list(problems.values()))


def _run(folder: Path) -> _Found:
    from barrow.train.run_folder import RunFolder

    run = RunFolder(folder)
    if run.settings.is_file():  # a script of one's own has checkpoints alone
        try:
            run.read(trust=None)
        except BarrowError as error:
            yield error
    yield from _checkpoints(run.checkpoints)
    if (folder / "best").is_dir():  # of `finetune`
        yield from _arrays(folder / "best")


def _checkpoints(folder: Path) -> _Found:
    from barrow.checkpoint.folder import listed, locate

    for step in listed(folder):
        yield from _checkpoint(locate(folder, step))


def _checkpoint(folder: Path) -> _Found:
    from barrow.checkpoint.read import open_checkpoint

    try:
        checkpoint = open_checkpoint(folder)
        checkpoint.verify()
    except BarrowError as error:
        yield error
    else:
        yield "checkpoints", 1
        yield "files", len(checkpoint.index.files)
        yield "bytes", checkpoint.index.num_bytes


def _arrays(path: Path) -> _Found:
    """Files of safetensors in a folder, and the texts beside them."""
    from barrow.weights.safetensors_read import damage_of

    for file in [path] if path.is_file() else sorted(path.rglob("*.safetensors")):
        try:
            header, problems = damage_of(file)
        except BarrowError as error:
            yield error
            continue
        yield from problems
        yield "files", 1
        yield "tensors", len(header.spans)
        yield "bytes", file.stat().st_size
        if not header.sums.tensors:
            yield "unchecked", len(header.spans)


def _pairs(folder: Path) -> _Found:
    from barrow.stream.pairs import open_index
    from barrow.stream.pairs.index_file import TABLE, blob_name

    index = open_index(folder).manifest
    sizes = {blob_name(n): one.copied_bytes for n, one in enumerate(index.domains)}
    for name, size in sizes.items():
        file = folder / name
        if size != (file.stat().st_size if file.is_file() else 0):
            yield StoreError(f"expected {size:,} bytes", reason="wrong-size", file=name)
    if sha256_of(folder / TABLE) != index.sha256:
        cause = "its SHA-256 is not the one in pairs.json"
        yield StoreError(cause, reason="wrong-checksum", file=TABLE)
    yield "pairs", index.pairs
    if num := sum(map(bool, sizes.values())):
        yield "unchecked", num


def _result(folder: Path) -> _Found:
    from barrow.score.result import documents_path, read_documents, read_result

    try:
        result = read_result(folder)
        if documents_path(folder).is_file():
            read_documents(folder, result)
    except BarrowError as error:
        yield error
    else:
        yield "domains", len(result.domains)
    yield from _arrays(documents_path(folder))


def _search(folder: Path) -> _Found:
    from barrow.mix.plan import read_plan

    yield "runs", len(read_plan(folder).runs)
    yield from _arrays(folder / "runs")
    yield from _arrays(folder / "validation.safetensors")
    for run in sorted((folder / "confirmation").glob("*/run")):
        yield from _run(run)
        if (run.parent / "scores.json").is_file():  # else it is not done
            yield from _result(run.parent)


_KINDS: dict[str, tuple[str, Callable[[Path], _Found]]] = {
    "pairs.json": ("index of pairs", _pairs),
    "run.json": ("run", _run),
    "checkpoints": ("run", _run),
    "index.json": ("checkpoint", _checkpoint),
    "scores.json": ("result", _result),
    "search.json": ("search", _search),
}
