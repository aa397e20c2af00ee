"""Words between the processes of a run, through the store of JAX's coordination service.

Not through collectives of devices: for those all would have to come at the same time, and from a
thread beside the step they could fall between the step's own, in another order in each process.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Room:
    """Where the processes of a run tell one another words, anything that JSON holds but null.

    A key is told once. `client` is that of the service, `name` the same in all processes. A service
    that is gone is an error of JAX (`jax.errors.JaxRuntimeError`).
    """

    client: Any
    name: str
    process: int
    num_processes: int

    def tell(self, key: str, words: Any) -> bool:
        """Tell all who look; False where somebody has told this before."""
        try:
            self.client.key_value_set(f"{self.name}/{key}", json.dumps(words))
        except jax.errors.JaxRuntimeError as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            return False
        return True

    def look(self, key: str) -> Any:
        """What was told; None while nothing was."""
        try:
            return json.loads(self.client.key_value_try_get(f"{self.name}/{key}"))
        except jax.errors.JaxRuntimeError as error:
            if "NOT_FOUND" not in str(error):
                raise
            return None

    def hear(self, key: str, *, seconds: float) -> Any:
        """What was told, or is within some seconds; an error of JAX if nothing is."""
        text = self.client.blocking_key_value_get(f"{self.name}/{key}", int(seconds * 1000))
        return json.loads(text)


def open_room(subject: str) -> Room | None:
    """A new room of a subject; None for a single process.

    Every process opens it as often as the others do: each counts, and the same number is the same
    room.
    """
    # The only way to the store. And jax.process_count() would wait for the devices of all.
    from jax._src import distributed

    state = distributed.global_state
    if state.client is None or state.num_processes == 1:
        return None
    client: Any = state.client
    number = client.key_value_increment(f"barrow/{subject}/rooms-of-{state.process_id}", 1)
    return Room(client, f"barrow/{subject}/{number}", state.process_id, state.num_processes)
