"""The folder of a run: its settings, its stream, its log, its checkpoints.

run.json       the settings
stream.json    the stream, for `barrow tokens lineage`
SHA256SUMS     of these two
log.jsonl      one line for each step that was logged
checkpoints/   step-000001000/ …
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from barrow import config
from barrow.errors import ConfigError, NotFound
from barrow.files import inside, make_folder, remove, sha256_of, write_bytes
from barrow.train.run import Run, differences
from barrow.train.tasks.task import Data


@dataclass(frozen=True)
class RunFolder:
    """Paths of the parts of a run."""

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

    @property
    def sums(self) -> Path:
        """SHA-256 of settings and stream, as `sha256sum` has them; older runs have none."""
        return self.path / "SHA256SUMS"

    def read(self, *, trust: Collection[str] | None = ()) -> Run:
        """The settings of the run in this folder."""
        if not self.settings.is_file():
            raise NotFound(f"{self.path} is not a run folder: it has no run.json")
        return read_run(self.settings, trust=trust)

    def write(self, run: Run, data: Data) -> None:
        """Write settings and stream; data by absolute paths, so that a run resumes anywhere."""
        make_folder(self.path)
        run = _anywhere(run)
        remove(self.sums)  # a kill before the new ones leaves none
        write_bytes(self.settings, config.to_json(run).encode())
        data.save(self.stream)
        files = [file for file in (self.settings, self.stream) if file.is_file()]
        lines = [f"{sha256_of(file)}  {file.name}\n" for file in files]
        write_bytes(self.sums, "".join(lines).encode())

    def refuse_changes(self) -> None:
        """Raise if settings or stream are not as they were written."""
        lines = self.sums.read_text("utf-8").splitlines() if self.sums.is_file() else []
        for digest, _, name in (line.partition("  ") for line in lines):
            file = inside(self.path, name)
            if not file.is_file() or sha256_of(file) != digest:
                raise ConfigError(
                    f"{file} was changed after it was written: pass changes as KEY=VALUE, or "
                    f"remove {self.sums} to use it as it is"
                )

    def check(self, run: Run, data: Data, start: int) -> None:
        """Raise unless a run would resume at `start` with the same numbers as the one here."""
        before = self.read(trust=config.outside(run))
        changed = differences(before, run)
        if changed:
            raise ConfigError(
                f"{self.path} has a run with other settings ({'; '.join(changed)}): to "
                "resume it, pass the same settings; to start again, pass another folder"
            )
        if before.steps != run.steps:
            self._refuse_other_length(before, run, start)
        data.check(self.stream)

    def _refuse_other_length(self, before: Run, run: Run, start: int) -> None:
        """Raise if the finished steps would have had other learning rates."""
        if start > run.steps:
            raise ConfigError(
                f"{self.path} has done {start} steps: steps must be more, got {run.steps}"
            )
        old, new = (
            [
                float(one.optimizer.schedule.rate(np.float32(step), one.steps))
                for step in range(start)
            ]
            for one in (before, run)
        )
        if old == new:
            return
        first = next(step for step in range(start) if old[step] != new[step])
        raise ConfigError(
            f"{self.path} was planned for {before.steps} steps; with {run.steps}, its "
            f"learning rate would have differed from step {first} on ({new[first]:.4g} "
            f"instead of {old[first]:.4g}). Start a new run from its weights with "
            f"init={self.path} and another out=; or resume from a checkpoint of an earlier "
            "step, in a copy without the later ones. A run with Constant, or with "
            "WarmupStableDecay before its decay, can be lengthened"
        )


def read_run(path: Path, *, trust: Collection[str] | None = ()) -> Run:
    """The settings in a JSON file; an error names the file. `trust` as in `config.from_dict`."""
    if path == RunFolder(path.parent).settings:
        RunFolder(path.parent).refuse_changes()
    try:
        return config.from_json(Run, path.read_text(encoding="utf-8"), trust=trust)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None


def about(run: Run, data: Data, **more: Any) -> dict[str, Any]:
    """The `about` of a checkpoint: enough to resume, to explain and to load the model."""
    settings = config.to_dict(_anywhere(run))
    return {"run": settings, "model": settings["model"], **data.about(), **more}


def _anywhere(run: Run) -> Run:
    """The run with its data by absolute paths."""
    return replace(
        run,
        store=_whole(run.store),
        pairs=_whole(run.pairs),
        validation=None if run.validation is None else _whole(run.validation),
        init=_whole(run.init),
    )


def _whole(place: str) -> str:
    return str(Path(place).resolve()) if place else place
