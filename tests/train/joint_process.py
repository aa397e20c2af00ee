"""One of several processes of a run, the second of which is not as it should be."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

jax.config.update("jax_cpu_collectives_implementation", "gloo")


def main(port: str, process: int, num: int, settings: Path, out: Path) -> None:
    jax.distributed.initialize(f"127.0.0.1:{port}", num, process, initialization_timeout=240)

    from barrow import config
    from barrow.errors import BarrowError
    from barrow.parallel import processes
    from barrow.train import Run, fit
    from barrow.train.tasks import token_data

    run = config.from_json(Run, settings.read_text())

    def refused(run: Run, folder: Path = out) -> None:
        try:
            fit(run, folder)
        except (BarrowError, OSError) as error:
            sys.stdout.write(f"{type(error).__name__}: {error}\n")
            sys.stdout.flush()

    is_odd = process == 1
    refused(replace(run, seed=9) if is_odd else run)
    refused(replace(run, store="nowhere") if is_odd else run)
    refused(run, out.with_name("held"))  # somebody else trains there
    if is_odd:

        def batch(self: Any, step: int, **part: Any) -> Any:
            self._refuse(step, 7, 0, 300, "has")

        token_data.TokenData.batch = batch  # type: ignore[method-assign]
    # A test need not wait as long as a run does.
    processes.Peers = partial(processes.Peers, grace=1.0)  # type: ignore[assignment, misc]
    fit(run, out)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]))
