"""One of several processes of a run; two, unless the environment says how many."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import jax

jax.config.update("jax_cpu_collectives_implementation", "gloo")


class Clock:
    """Sends the process a signal when it is read for the fifth time, if it is the one."""

    def __init__(self, *, is_asked: bool) -> None:
        self.is_asked, self.now = is_asked, 0
        self.signal = signal.Signals[os.environ.get("SIGNAL", "SIGTERM")]

    def __call__(self) -> float:
        self.now += 1
        if self.is_asked and self.now == 5:
            signal.raise_signal(self.signal)
        return self.now


def main(port: str, process: int, settings: Path, out: Path, asked: int | None = None) -> None:
    num = int(os.environ.get("PROCESSES", "2"))
    jax.distributed.initialize(
        *(f"127.0.0.1:{port}", num, process),
        initialization_timeout=240,
        heartbeat_timeout_seconds=30,
    )

    from barrow import config
    from barrow.train import Interrupted, Run, fit
    from barrow.train.tasks.token_data import TokenData

    run = config.from_json(Run, settings.read_text())
    read: set[tuple[str, ...]] = set()
    plain = TokenData.batch

    def batch(self: TokenData, step: int, *, rows: Any = None, columns: Any = None) -> Any:
        if rows.stop > rows.start:
            read.add((f"{rows.start}:{rows.stop}", f"{columns.start}:{columns.stop}"))
        return plain(self, step, rows=rows, columns=columns)

    TokenData.batch = batch  # type: ignore[method-assign]
    try:
        state = fit(run, out, clock=Clock(is_asked=process == asked))
    except Interrupted as stopped:
        sys.stdout.write(f"{stopped}\n")
        return
    assert len(jax.devices()) == num * len(jax.local_devices()) > len(jax.local_devices())
    sys.stdout.write(f"done {int(state.step)}; read {sorted(read)}\n")


if __name__ == "__main__":
    main(
        sys.argv[1],
        int(sys.argv[2]),
        Path(sys.argv[3]),
        Path(sys.argv[4]),
        *map(int, sys.argv[5:]),
    )
