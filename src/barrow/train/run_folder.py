"""The folder of a run: its settings, its stream, its log, its checkpoints.

run.json       the settings
stream.json    the stream, for `barrow explain`
log.jsonl      one line for each step that was logged
checkpoints/   step-000001000/ …
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from barrow import config
from barrow.errors import ConfigError, NotFound
from barrow.stream import Stream
from barrow.stream.saved import check_store, read_saved, saved_stream
from barrow.train.run import Run, differences
from barrow.weights.atomic_file import write_bytes


@dataclass(frozen=True)
class RunFolder:
    """Where the parts of a run lie."""

    path: Path

    @property
    def settings(self) -> Path:
        """The settings."""
        return self.path / "run.json"

    @property
    def stream(self) -> Path:
        """The stream."""
        return self.path / "stream.json"

    @property
    def log(self) -> Path:
        """What was logged."""
        return self.path / "log.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    def read(self) -> Run:
        """The settings of the run that lies here."""
        if not self.settings.is_file():
            raise NotFound(f"{self.path} is no folder of a run: it has no run.json")
        return config.from_json(Run, self.settings.read_text(encoding="utf-8"))

    def write(self, run: Run, stream: Stream) -> None:
        """Write settings and stream; stores by whole paths, so that a run goes on from anywhere."""
        self.path.mkdir(parents=True, exist_ok=True)
        held_out = None if run.held_out is None else str(Path(run.held_out).resolve())
        run = replace(run, store=str(Path(run.store).resolve()), held_out=held_out)
        write_bytes(self.settings, config.to_json(run).encode())
        stream.save(self.stream)

    def check(self, run: Run, stream: Stream) -> None:
        """Raise unless a run would go on with the same numbers as the one that lies here."""
        changed = differences(self.read(), run)
        if changed:
            raise ConfigError(
                f"{self.path} has a run with other settings ({'; '.join(changed)}): give them as "
                "they were to go on with it, or another folder to begin anew"
            )
        check_store(read_saved(self.stream), stream.store, name=str(self.stream))


def about(run: Run, stream: Stream, **more: Any) -> dict[str, Any]:
    """What a checkpoint says about itself: enough to go on, to explain and to load the model."""
    return {
        "run": config.to_dict(run),
        "model": config.to_dict(run.model),
        "tokenizer": str(stream.store.folder.resolve() / "tokenizer"),
        "stream": config.to_dict(saved_stream(stream.store, stream.settings)),
        "begin": stream.store.begin,
        "end": stream.store.end,
        **more,
    }
