"""Processes of a run that stop after the same step, whichever of them is asked, and when.

A scheduler's signal comes to processes at different steps, or to one of them alone. A process that
stopped by itself would save, and wait for others that wait for its part of their next step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import jax

# A process that looks after step k has read the loss of step k − 1, to which all have given their
# part. So when one says after step k that all shall stop, the others have done step k + 1 at most,
# and whoever looks after step k + 2 finds what was said.
_AHEAD = 2


class AgreedStop(Protocol):
    """Asked after every step, once its predecessor's loss was read."""

    def is_now(self, step: int, *, is_asked: bool) -> bool:
        """Whether all stop after this step; `is_asked` is whether this process was told to."""


@dataclass(frozen=True)
class Alone:
    """A single process stops when it is asked."""

    def is_now(self, step: int, *, is_asked: bool) -> bool:
        """As `AgreedStop` says."""
        del step
        return is_asked


@dataclass
class Together:
    """Several processes; `client` is that of JAX's coordination service, `key` the run's own."""

    client: Any
    key: str
    _last: int | None = field(default=None, init=False)

    def is_now(self, step: int, *, is_asked: bool) -> bool:
        """As `AgreedStop` says."""
        if self._last is None and is_asked:
            try:
                self.client.key_value_set(self.key, str(step + _AHEAD))
            except jax.errors.JaxRuntimeError as error:
                if "ALREADY_EXISTS" not in str(error):  # another process was asked first
                    raise
        if self._last is None:
            try:
                self._last = int(self.client.key_value_try_get(self.key))
            except jax.errors.JaxRuntimeError as error:
                if "NOT_FOUND" not in str(error):
                    raise
        return self._last is not None and step >= self._last


def agreed_stop(folder: Path) -> AgreedStop:
    """How the processes of the run in a folder agree; each of them calls this once a run."""
    if jax.process_count() == 1:
        return Alone()
    # As for checkpoints: words, not a collective, for which all would have to be asked at once.
    from jax._src import distributed

    client: Any = distributed.global_state.client
    room = f"barrow/stop/{folder}"
    attempt = client.key_value_increment(f"{room}/attempts-of-{jax.process_index()}", 1)
    return Together(client, f"{room}/{attempt}")
