"""One of two processes of a run that saves together; a test starts it twice."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_cpu_collectives_implementation", "gloo")


def main(port: str, process: int, folder: Path) -> None:
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, process, initialization_timeout=240)

    from tests.checkpoint.runs import batch, make_run, placement, say

    from barrow.checkpoint import Checkpoints
    from barrow.checkpoint.leaves import as_stored
    from barrow.errors import PeerFailed

    place = placement(8)
    state, step = make_run(devices=8)
    rows = {
        name: jax.make_array_from_callback(
            array.shape, place.rows(), lambda index, array=array: array[index]
        )
        for name, array in batch(0).items()
    }
    state, _ = step(state, rows)
    checkpoints = Checkpoints(folder, timeout=200)
    checkpoints.save(state, {"from": "both"}, wait=True)
    like = jax.eval_shape(lambda s: s, state)
    back = checkpoints.restore(1, like, shardings=place.of_state(like))
    for ours, theirs in zip(jax.tree.leaves(state), jax.tree.leaves(back), strict=True):
        assert ours.sharding == theirs.sharding
        pairs = zip(
            as_stored(ours).addressable_shards, as_stored(theirs).addressable_shards, strict=True
        )
        for a, b in pairs:
            assert np.array_equal(a.data, b.data), (a, b)
    say("same")

    # One that only the first process saves: no silent waiting.
    if process == 0:
        hasty = Checkpoints(folder.with_name("alone"), timeout=0.5)
        try:
            hasty.save(state, {}, wait=True)
        except PeerFailed as error:
            say(f"timeout {error}")
        assert hasty.steps() == []

    # One whose second process cannot write: both hear of it, and nothing is committed.
    if process == 1:
        from barrow.checkpoint import write as module

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        module._write_part = fail  # type: ignore[assignment]
    failing = Checkpoints(folder.with_name("failing"), timeout=200)
    try:
        failing.save(state, {}, wait=True)
    except (PeerFailed, OSError) as error:
        say(f"heard {error}")
    assert failing.steps() == []


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
