"""`barrow align sft`, `reward` and `dpo`: runs on data that exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from barrow.cli.align.arguments import (
    Corpus,
    DataFile,
    Init,
    Out,
    Validation,
    overridden,
    show_keys,
    train,
)
from barrow.cli.options import Overrides, Show, Trust

if TYPE_CHECKING:
    from barrow.train import Run


def sft(
    model: Init,
    data: DataFile,
    overrides: Overrides = None,
    validation: Validation = "",
    out: Out = "",
    corpus: Corpus = "",
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Fine-tune a decoder on chats, or on prompts and completions: only answers are learned.

    lora.rank=16 trains adapters instead of all parameters. --show lists every KEY of KEY=VALUE.
    """
    from barrow.align.runs import sft_settings

    _run(sft_settings, model, data, overrides, validation, out, trust, corpus=corpus, show=show)


def reward(
    model: Init,
    data: DataFile,
    overrides: Overrides = None,
    validation: Validation = "",
    out: Out = "",
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Train a reward model on pairs of answers, one of them chosen (Bradley–Terry)."""
    from barrow.align.runs import reward_settings

    _run(reward_settings, model, data, overrides, validation, out, trust, show=show)


def dpo(
    model: Init,
    data: DataFile,
    overrides: Overrides = None,
    validation: Validation = "",
    out: Out = "",
    corpus: Corpus = "",
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Train on pairs of answers without a reward model: DPO, with loss=ipo or loss=kto the others.

    The model it starts from is the reference.
    """
    from barrow.align.runs import preference_settings

    _run(
        preference_settings,
        model,
        data,
        overrides,
        validation,
        out,
        trust,
        corpus=corpus,
        show=show,
    )


def _run(
    make: Callable[[str], Any],
    model: str,
    data: str,
    overrides: list[str] | None,
    validation: str,
    out: str,
    trust: list[str] | None,
    *,
    corpus: str = "",
    show: bool,
) -> None:
    settings = make(data)
    settings = replace(settings, data=replace(settings.data, validation=validation))
    settings = overridden(settings, overrides, trust)
    if show:
        show_keys(settings)
        return
    from barrow.align.runs import align_run

    train(lambda init: align_run(settings, init), model, out, summary=_summary, corpus=corpus)


def _summary(run: Run) -> list[str]:
    from barrow.align.tasks.static import open_data

    data: Any = run.data
    found, bad = open_data(run, data.path)
    records = sum(len(places) for places in found.places)
    return [f"{records:,} records in {len(found.places):,} rows, {run.steps:,} steps", *bad.lines()]
