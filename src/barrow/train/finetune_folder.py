"""The folder of a fine-tuning run.

run.json       the settings, and a hash of the data
log.jsonl      one line for each step that was logged
best/          the model of the best epoch, as transformers opens it, with metrics.json
checkpoints/   the whole state, to go on from
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from barrow import config
from barrow.errors import ConfigError
from barrow.files import (
    hidden_beside,
    make_folder,
    publish_folder,
    remove_unfinished,
    write_bytes,
)
from barrow.models.load import Loaded
from barrow.models.roberta_heads import RobertaWithHead
from barrow.models.save import save
from barrow.nn.repeat import put_together
from barrow.train.finetune_run import FREE, FinetuneRun


@dataclass(frozen=True)
class FinetuneFolder:
    """Where the parts of a run lie."""

    path: Path

    @property
    def settings(self) -> Path:
        """The settings."""
        return self.path / "run.json"

    @property
    def log(self) -> Path:
        """What was logged."""
        return self.path / "log.jsonl"

    @property
    def best(self) -> Path:
        """The model of the best epoch."""
        return self.path / "best"

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    def write(self, run: FinetuneRun, fingerprint: str) -> None:
        """Write the settings; places by whole paths."""
        make_folder(self.path)
        told = {"fingerprint": fingerprint, "run": config.to_dict(_whole(run))}
        write_bytes(self.settings, json.dumps(told, indent=1, ensure_ascii=False).encode())

    def check(self, run: FinetuneRun, fingerprint: str) -> None:
        """Raise unless a run would go on with the same numbers as the one that lies here."""
        if not self.settings.is_file():
            raise ConfigError(f"{self.path} has checkpoints and no run.json: give another folder")
        told = json.loads(self.settings.read_bytes())
        if not _is_finetuned(told):
            raise ConfigError(f"{self.path} has a run of `barrow train`: give another folder")
        now, before = config.to_dict(run), told["run"]
        changed = [
            f"{key}: {before.get(key)!r} → {now.get(key)!r}"
            for key in now
            if key not in FREE and before.get(key) != now.get(key)
        ]
        if told["fingerprint"] != fingerprint:
            changed.append("the data or the tokenizer")
        if changed:
            raise ConfigError(
                f"{self.path} has a run with other settings ({'; '.join(changed)}): give them as "
                "they were to go on with it, or another folder to begin anew"
            )

    def write_best(
        self,
        model: RobertaWithHead,
        params: Mapping[str, Any],
        labels: tuple[str, ...],
        told: Mapping[str, Any],
        *,
        loaded: Loaded,
    ) -> None:
        """Put a model, whole, in the place of the one before."""
        remove_unfinished(self.path)
        part = hidden_beside(self.best)
        save(
            part,
            replace(model, body=replace(model.body, unroll=False)),
            put_together(params, "layers"),
            tokenizer=loaded.tokenizer,
            begin=loaded.begin,
            stops=loaded.stops,
            labels=labels,
        )
        write_bytes(part / "metrics.json", json.dumps(told, indent=1, allow_nan=False).encode())
        publish_folder(part, self.best)


def finetuned_folder(path: str | Path) -> Path:
    """The folder of a model: that of a run's best epoch, or the folder itself."""
    folder = FinetuneFolder(Path(path))
    if folder.best.is_dir():
        return folder.best
    if folder.settings.is_file():
        if not _is_finetuned(json.loads(folder.settings.read_bytes())):
            raise ConfigError(
                f"{path} is a run of `barrow train`, whose model has no head of labels: "
                f"`barrow finetune … --model {path}` makes one that has"
            )
        raise ConfigError(f"{path} has no best/ yet: no epoch is done")
    return folder.path


def _is_finetuned(told: Any) -> bool:
    """Whether a run.json is one that `FinetuneFolder.write` wrote."""
    return isinstance(told, dict) and {"run", "fingerprint"} <= told.keys()


def _whole(run: FinetuneRun) -> FinetuneRun:
    places: dict[str, Any] = {
        name: str(Path(place).resolve())
        for name in ("data", "model", "validation")
        if isinstance(place := getattr(run, name), str) and Path(place).exists()
    }
    return replace(run, **places)
