"""Models with fewer parameters: pruned and recovered, or distilled; each with its card."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from barrow import config
from barrow.checkpoint.params import save_params
from barrow.compress.card import Card, write_card
from barrow.compress.compressed import (
    Measuring,
    Original,
    measured_card,
    open_original,
    rows_for,
    texts_for,
)
from barrow.compress.distil import Distil
from barrow.compress.prune import Pruning, pruned
from barrow.compress.student import distil_run
from barrow.files import atomic_path, new_path
from barrow.models.architecture import written_as
from barrow.models.family import family_table
from barrow.models.save import save
from barrow.nn.layers.repeat import put_together
from barrow.stream import StreamSettings
from barrow.stream.rows.masking import Mlm
from barrow.train.fit import fit
from barrow.train.optimizers import AdamW
from barrow.train.run import CheckpointSettings, Run
from barrow.train.schedules import Linear
from barrow.train.tasks.task import task_of
from barrow.train.trackers import Tracker

# Rows of a recovery's batch, and how many of its steps the rate grows for.
_BATCH, _WARMUP = 16, 0.05


def prune_model(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    pruning: Pruning,
    calibrate: str | os.PathLike[str],
    *,
    measuring: Measuring | None = None,
    recover: Run | None = None,
    overrides: Sequence[str] = (),
    trackers: Sequence[Tracker] = (),
    tokenizer: str | None = None,
    trust: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Card:
    """Write a pruned model to `out`, with its card.

    `recover` is a run (see `recovery`) that trains it again: `out` is then the folder of that run,
    which resumes if it was stopped, and its first parameters are in OUT/init.
    """
    measuring, out = measuring or Measuring(), new_path(out) if recover is None else Path(out)
    opened = open_original(path, tokenizer=tokenizer, trust=trust)
    texts = texts_for(opened.loaded, calibrate, measuring)
    where = out if recover is None else out / "init"
    if not where.exists():
        say("pruning")
        rows, mask = rows_for(opened, texts, measuring), opened.tokenizer.mask
        model, params = pruned(opened.model, opened.params, pruning, rows, mask=mask)
        _write(where, opened, model, params)
    scheme = str(pruning)
    if recover is not None:
        from barrow.train.start import initial_family

        family: Any = initial_family(str(where))
        objective = Distil(
            os.fspath(path), 1.0, 1.0, 1.0, 0.0, mask_documents=recover.mask_documents
        )
        run = replace(recover, model=family, init=str(where), objective=objective)
        run = config.override(run, list(overrides), trust=tuple(trust))
        say(f"recovering: {run.steps:,} steps")
        fit(run, out, trackers=trackers)
        scheme += f", recovered in {run.steps:,} steps"
    say("measuring")
    card = measured_card(opened, out, scheme, texts, measuring)
    write_card(out, card)
    return card


def recovery(model: Any, store: str, *, steps: int, seq_len: int = 512) -> Run:
    """The run that recovers a pruned model; `model` are the settings of the original."""
    is_masked = hasattr(model, "mlm_head")
    data = StreamSettings(
        seq_len=min(seq_len, model.context), batch=_BATCH, mlm=Mlm() if is_masked else None
    )
    if is_masked:
        data = replace(data, pad=model.pad)
    return Run(
        model=model,
        data=data,
        steps=steps,
        store=store,
        optimizer=AdamW(schedule=Linear(peak=3e-4, warmup=max(1, round(_WARMUP * steps)))),
        checkpoint=CheckpointSettings(every=max(1, steps // 4)),
    )


def distil_model(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    recipe: Run,
    *,
    calibrate: str | os.PathLike[str] | None = None,
    measuring: Measuring | None = None,
    overrides: Sequence[str] = (),
    trackers: Sequence[Tracker] = (),
    tokenizer: str | None = None,
    trust: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Card | None:
    """Train a student of the model at `path` in the folder `out`, which resumes if it was stopped.

    The card is measured on text of the corpus `calibrate`; there is none without it.
    """
    run = config.override(recipe, list(overrides), trust=tuple(trust))
    run = distil_run(path, run, out, trust=trust)
    task_of(run).data()  # what is missing is said before anything is opened
    say(f"distilling: {run.steps:,} steps")
    fit(run, out, trackers=trackers)
    if calibrate is None:
        return None
    measuring = measuring or Measuring()
    opened = open_original(path, tokenizer=tokenizer, trust=trust)
    texts = texts_for(opened.loaded, calibrate, measuring)
    layers = f"{run.model.layers} of {opened.model.config.layers} layers"  # type: ignore[attr-defined]
    scheme = f"distilled, {layers}, {run.steps:,} steps"
    say("measuring")
    card = measured_card(opened, Path(out), scheme, texts, measuring)
    write_card(Path(out), card)
    return card


def _write(where: Path, opened: Original, model: Any, params: Any) -> None:
    """A Hugging Face folder; where `transformers` has no such shape, a checkpoint of ours."""
    loaded = opened.loaded
    stacked, plain = put_together(params, "layers"), replace(model, unroll=False)
    try:
        written_as(plain)
    except ValueError:
        about = {"model": family_table(plain.config), **loaded.words.about()}
        save_params(where, stacked, about)
        return
    with atomic_path(where) as part:
        save(part, plain, stacked, tokenizer=loaded.words)
