"""One of two processes of a run; a test starts it twice."""

from __future__ import annotations

import sys
from pathlib import Path

import jax

jax.config.update("jax_cpu_collectives_implementation", "gloo")


def main(port: str, process: int, settings: Path, out: Path) -> None:
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, process, initialization_timeout=240)

    from barrow import config
    from barrow.train import Run, fit

    state = fit(config.from_json(Run, settings.read_text()), out)
    assert len(jax.local_devices()) == 4
    assert len(jax.devices()) == 8
    sys.stdout.write(f"done {int(state.step)}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
