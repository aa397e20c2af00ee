"""Whether every mesh of eight devices gives the loss and the gradients of one device.

    python benchmarks/check_meshes.py [--workers 12] [--only TEXT] [--optimized]

The cases of the soak test in tests/parallel/test_axes.py: every way to spread eight virtual devices
of the CPU over the six axes, for each small model that admits it. They are divided over processes,
and compiled with little optimization, as `make test` does, unless `--optimized` is given. `--only`
takes cases whose name contains a text, as "experts" or "stage=4". Exits with 1 where one differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def found(number: int) -> tuple[str, list[str]]:
    """A case's name, and what differs in it or how it failed. Runs in a worker."""
    from tests.parallel.meshes import every_case

    case = every_case()[number]
    try:
        return str(case), case.apart()
    except Exception:
        return str(case), [traceback.format_exc()]


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1) * 3 // 4))
    parser.add_argument("--only", default="")
    parser.add_argument("--optimized", action="store_true")
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "0" if given.optimized else "1"
    import jax
    from tests.parallel.meshes import every_case

    numbers = [n for n, case in enumerate(every_case()) if given.only in str(case)]
    if not numbers:
        sys.exit(f"no case has {given.only!r} in its name; the first is {every_case()[0]}")
    begun, failed = time.perf_counter(), 0
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, mp_context=spawned) as pool:
        for done, (name, apart) in enumerate(pool.map(found, numbers), start=1):
            if apart:
                failed += 1
                print(f"{name} DIFFERS", *apart, sep="\n    ", flush=True)
            if done % 25 == 0:
                seconds = time.perf_counter() - begun
                print(f"{done} of {len(numbers)} in {seconds:.0f} s, {failed} differ", flush=True)
    seconds = time.perf_counter() - begun
    print(
        f"{len(numbers) - failed} of {len(numbers)} cases equal one device, {failed} differ; "
        f"{seconds:.0f} s in {given.workers} processes, JAX {jax.__version__}"
    )
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
