"""Compress a model: open, calibrate, quantize, write, and measure what it costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from barrow.compress.card import Card, Speed, hardware, made_with, speeds_of, write_card
from barrow.compress.observe import Rows
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme
from barrow.compress.texts import Texts, sample_texts, token_rows
from barrow.files import atomic_path, new_path
from barrow.models.architecture import Model
from barrow.models.decoder.generate import for_decoding
from barrow.models.decoder.model import Decoder
from barrow.models.load import Loaded, load
from barrow.models.open_model import open_model
from barrow.models.quantized import is_quantized_tree, save_quantized
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta
from barrow.models.tokenizer_files import TokenizerFiles
from barrow.score.diff import Comparison, compare
from barrow.score.models.model import Model as Scorer
from barrow.score.models.open import ModelOptions
from barrow.score.models.open import open_model as open_scorer
from barrow.score.result import Result
from barrow.score.scored_corpus import ScoredCorpus
from barrow.score.scoring import score
from barrow.weights.gguf.tensors import open_gguf

# Pseudo-likelihood runs a row for every token.
_MASKED_BYTES = 384
_CAUSAL_BYTES = 16_384


@dataclass(frozen=True)
class Measuring:
    """What a card is measured on.

    `corpus` is another corpus than that of calibration; `documents` of each domain; `rows` of
    `length` tokens calibrate. `labels` is a file of labelled rows, for a model with a head of
    labels. `speeds`: whether speed is measured.
    """

    corpus: str | None = None
    documents: int = 64
    rows: int = 64
    length: int = 512
    labels: str | None = None
    speeds: bool = True
    text_key: str = "text"


def compress(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    scheme: Scheme,
    calibrate: str | os.PathLike[str],
    *,
    measuring: Measuring | None = None,
    tokenizer: str | None = None,
    trust: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Card:
    """Write a smaller model to the folder `out`, with its card, and return the card."""
    measuring, out = measuring or Measuring(), new_path(out)
    opened = open_original(path, tokenizer=tokenizer, trust=trust)
    texts = texts_for(opened.loaded, calibrate, measuring)
    say(f"calibrating on {sum(map(len, texts.calibration.values())):,} documents")
    rows = rows_for(opened, texts, measuring) if scheme.needs_calibration else None
    small = quantized(opened.model, opened.params, scheme, rows)
    say("measuring")
    return finished(opened, small, out, str(scheme), texts, measuring)


def as_stored(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    calibrate: str | os.PathLike[str],
    *,
    measuring: Measuring | None = None,
    tokenizer: str | None = None,
    trust: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Card:
    """Write the model of a GGUF file with its tensors of Q8_0 and Q4_0 as they are.

    Tensors of other types are expanded. The card compares with all of them expanded.
    """
    measuring, out = measuring or Measuring(), new_path(out)
    if Path(path).suffix != ".gguf":
        raise ValueError(f"stored integers are those of a .gguf file, got {path}")
    opened = open_original(path, tokenizer=tokenizer, trust=trust)
    params = load(path, dtype="float32", unstack=True, packed=True).params
    if not is_quantized_tree(params):
        raise ValueError(f"{path} has no kernels of Q8_0 or Q4_0; compress it with --to int4")
    texts = texts_for(opened.loaded, calibrate, measuring)
    say("measuring")
    kept = replace(opened, note=None)
    return finished(kept, params, out, "as stored in GGUF", texts, measuring)


@dataclass(frozen=True)
class Original:
    """A model to compress: as it was opened, and with its layers as a tuple.

    Code outside barrow that it needs may be imported from the modules `trust`. `note` is for the
    card.
    """

    path: Path
    loaded: Loaded
    model: Any
    params: Any
    tokenizer: Any
    trust: tuple[str, ...] = ()
    note: str | None = None


def open_original(
    path: str | os.PathLike[str], *, tokenizer: str | None = None, trust: Collection[str] = ()
) -> Original:
    """The model of a run, a checkpoint, a folder or a file, in float32."""
    loaded = open_model(path, dtype="float32", trust=trust)
    if not isinstance(loaded.model, Decoder | Roberta | RobertaWithHead):
        kind = type(loaded.model).__name__
        raise ValueError(f"{path} is a {kind}; compress takes decoders and RoBERTa's encoders")
    if is_quantized_tree(loaded.params):
        raise ValueError(f"{path} is quantized already; pass the model that it was made from")
    model: Any = loaded.model
    if isinstance(model, RobertaWithHead):
        model = replace(model, body=replace(model.body, unroll=True))
    else:
        model = replace(model, unroll=True)
    if tokenizer is not None:
        words = TokenizerFiles(tokenizer, begin=loaded.begin, stops=loaded.stops)
        loaded = replace(loaded, words=words)
    reader, params = loaded.words.open(), for_decoding(loaded.params)
    return Original(Path(path), loaded, model, params, reader, tuple(trust), _expanded(Path(path)))


def _expanded(path: Path) -> str | None:
    """What to say of a GGUF file whose tensors are integers."""
    if path.suffix != ".gguf":
        return None
    kinds = sorted({*open_gguf(path).types.values()} - {"F64", "F32", "F16", "BF16"})
    if not kinds:
        return None
    return f"the original is quantized ({', '.join(kinds)}): it was expanded, and is rounded twice"


def texts_for(loaded: Loaded, calibrate: str | os.PathLike[str], measuring: Measuring) -> Texts:
    """Text to calibrate with and to measure on."""
    is_causal = isinstance(loaded.model, Decoder)
    return sample_texts(
        calibrate,
        measuring.corpus,
        documents=measuring.documents,
        most_bytes=_CAUSAL_BYTES if is_causal else _MASKED_BYTES,
        text_key=measuring.text_key,
    )


def rows_for(opened: Original, texts: Texts, measuring: Measuring) -> Rows:
    """Tokens to calibrate with [rows, length]."""
    length = min(measuring.length, opened.model.config.context)
    return token_rows(texts.calibration, opened.tokenizer, rows=measuring.rows, length=length)


def finished(
    opened: Original, params: Any, out: Path, scheme: str, texts: Texts, measuring: Measuring
) -> Card:
    """Write quantized parameters of a model and their card; `out` appears when both are there."""
    with atomic_path(out) as part:
        save_small(part, opened, params, scheme)
        card = measured_card(opened, part, scheme, texts, measuring)
        write_card(part, card)
    return card


def save_small(out: Path, opened: Original, params: Any, scheme: str) -> None:
    """Write quantized parameters of a model."""
    loaded = opened.loaded
    model: Model = opened.model
    save_quantized(
        out,
        model,
        params,
        scheme=scheme,
        tokenizer=loaded.words,
        labels=loaded.labels,
    )


def measured_card(
    opened: Original, out: Path, scheme: str, texts: Texts, measuring: Measuring
) -> Card:
    """Measure what was written to `out` beside the original."""
    again = open_model(out, dtype="float32", unstack=True)
    notes = [note for note in (opened.note, texts.note) if note is not None]
    speeds: tuple[Speed, ...] = ()
    if measuring.speeds:
        speeds = speeds_of((opened.model, opened.params), (again.model, again.params))
        slow = [speed for speed in speeds if speed.ratio < 1]
        if slow:
            worst = min(slow, key=lambda speed: speed.ratio)
            notes.append(
                f"not faster on this machine: {worst.what} at {worst.ratio:.2f}× the speed of the "
                "original; it is smaller"
            )
    comparison = None
    if opened.loaded.family.scoring and not opened.loaded.labels:
        named = opened.loaded.tokenizer
        comparison = compared(opened.path, out, texts.measured, named, opened.trust)
    labels = measuring.labels
    task = {} if labels is None else _task(opened.path, out, labels)
    return Card(
        original=opened.path.resolve().name,
        scheme=scheme,
        bytes_before=_num_bytes(opened.params),
        bytes_after=_num_bytes(again.params),
        speeds=speeds,
        comparison=comparison,
        task=task,
        calibration={domain: len(held) for domain, held in texts.calibration.items()},
        notes=tuple(notes),
        hardware=hardware(),
        versions=made_with(),
    )


def compared(
    before: Path,
    after: Path,
    documents: ScoredCorpus,
    tokenizer: Any,
    trust: Collection[str] = (),
) -> Comparison:
    """Bits per byte of the second less those of the first, by domain."""
    named = tokenizer if isinstance(tokenizer, str) else None
    options = ModelOptions(dtype="float32", trust=tuple(trust), tokenizer=named)
    results: list[Result] = []
    for path in (after, before):
        scorer = open_scorer(os.fspath(path), options)
        assert isinstance(scorer, Scorer)
        found = score(scorer, documents)
        assert found is not None
        results.append(found)
    return compare(results[0], results[1], num_worst=0)


def _task(before: Path, after: Path, labels: str) -> dict[str, tuple[float, float]]:
    from barrow.stream.labelled.examples import TAG_KEYS, Keys, read_examples
    from barrow.train.finetune.folder import finetuned_folder
    from barrow.train.finetune.predict import Tally, open_finetuned, predictions

    found = []
    for path in (finetuned_folder(before), after):
        opened = open_finetuned(path)
        tally = Tally(opened.kind, opened.labels)
        keys = TAG_KEYS if opened.kind == "tag" else Keys()
        for _ in predictions(opened, read_examples(labels, opened.kind, keys=keys), tally=tally):
            pass
        found.append(tally.metrics())
    return {name: (found[0][name], found[1][name]) for name in found[0]}


def _num_bytes(params: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(params))
