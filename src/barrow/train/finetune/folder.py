"""best/ of a fine-tuning run: the model of its best epoch, as transformers opens it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from barrow.errors import ConfigError
from barrow.files import atomic_path, write_bytes
from barrow.models.load import Loaded
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.save import save
from barrow.nn.layers.repeat import put_together


@dataclass(frozen=True)
class FinetuneFolder:
    """The folder of a run."""

    path: Path

    @property
    def best(self) -> Path:
        """The model of the best epoch, with metrics.json."""
        return self.path / "best"

    def write_best(
        self,
        model: RobertaWithHead,
        params: Mapping[str, Any],
        labels: tuple[str, ...],
        report: Mapping[str, Any],
        *,
        loaded: Loaded,
    ) -> None:
        """Replace the previous model atomically."""
        text = json.dumps(report, indent=1, allow_nan=False)
        with atomic_path(self.best, replace=True) as part:
            save(
                part,
                replace(model, body=replace(model.body, unroll=False)),
                put_together(params, "layers"),
                tokenizer=loaded.words,
                labels=labels,
            )
            write_bytes(part / "metrics.json", text.encode())


def finetuned_folder(path: str | Path) -> Path:
    """The folder of a model: that of a run's best epoch, or the folder itself."""
    folder, settings = FinetuneFolder(Path(path)), Path(path) / "run.json"
    if folder.best.is_dir():
        return folder.best
    if settings.is_file():
        if "LabelledRows" not in settings.read_text(encoding="utf-8"):
            raise ConfigError(
                f"{path} is a run of `barrow train`, whose model has no classification "
                f"head; to train one: `barrow finetune … --model {path}`"
            )
        raise ConfigError(f"{path} has no best/ yet: no epoch is complete")
    return folder.path
