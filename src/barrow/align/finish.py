"""What is written after a run: adapters for PEFT, the merged model, and the next steps in words."""

from __future__ import annotations

import os
from pathlib import Path

from barrow.align.card.card import PAGE, make_card
from barrow.align.card.card import lines as card_lines
from barrow.align.model import AlignedConfig, numbered
from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import read_index
from barrow.checkpoint.params import load_params
from barrow.errors import ConfigError
from barrow.files import atomic_path, new_path
from barrow.models.decoder.model import Decoder
from barrow.models.family import described_family
from barrow.models.huggingface.adapters import Adapter, save_adapter
from barrow.models.open_model import of_kind, open_model
from barrow.models.save import save
from barrow.nn.layers.repeat import put_together
from barrow.nn.tree import Tree
from barrow.train.run import Run
from barrow.train.run_folder import RunFolder
from barrow.train.trackers import read_log


def write_adapter(run: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Write the adapters of a run's newest checkpoint as PEFT's files."""
    folder = find_checkpoint(Path(run))
    about = read_index(folder).about
    family = described_family(about, folder)
    if not isinstance(family, AlignedConfig) or family.lora is None:
        raise ConfigError(f"{run} has no adapters; `barrow align merge` writes its model")
    params = numbered(load_params(folder))
    if isinstance(params["layers"], tuple):
        params = put_together(params, "layers")
    adapter = Adapter(
        family.lora.rank,
        family.lora.alpha,
        Tree({"layers": params["layers"]}),
        about["run"]["init"],
    )
    save_adapter(out, family.body, adapter)


def write_model(path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Write the decoder of a run, or of adapters, as a folder that `transformers` opens."""
    out = new_path(out)
    loaded = open_model(path, dtype="float32")
    decoder = of_kind(loaded, path, Decoder)
    with atomic_path(out) as part:
        save(part, decoder, loaded.params, tokenizer=loaded.words)


def finish(run: Run, folder: Path, *, corpus: str = "") -> list[str]:
    """Write the card of a finished run; say what it learned, what it cost and what to type next."""
    family = run.model
    assert isinstance(family, AlignedConfig)
    logged = read_log(RunFolder(folder).log)
    lines = []
    for key in ("loss", "accuracy", "reward", "validation_loss", "validation_accuracy"):
        last = [line[key] for line in logged if key in line][-1:]
        lines += [f"{key.replace('_', ' ')}: {value:.4f}" for value in last]
    if family.head != "reward":
        lines += card_lines(make_card(run, folder, corpus=corpus))
        lines.append(f"the card: {folder / PAGE}")
    lines.append(
        f"Next: {family.usage.format(run=folder)}   ·   barrow tokens lineage {folder} --step 0"
    )
    return lines
