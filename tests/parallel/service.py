"""A stand-in for JAX's coordination service: words in memory, for processes that are threads."""

from __future__ import annotations

import threading

import jax

from barrow.parallel.processes import Peers


class Service:
    """The store as JAX's client offers it; `is_gone` makes every call fail."""

    def __init__(self) -> None:
        self.table: dict[str, str] = {}
        self.is_gone = False
        self._told = threading.Condition()

    def peers(self, num: int, **seconds: float) -> list[Peers]:
        """Some processes, as each of them sees the others."""
        return [Peers(self, "run", number, num, **seconds) for number in range(num)]

    def key_value_set(self, key: str, value: str) -> None:
        with self._told:
            self._refuse_gone()
            if key in self.table:
                raise jax.errors.JaxRuntimeError(f"ALREADY_EXISTS: {key}")
            self.table[key] = value
            self._told.notify_all()

    def key_value_try_get(self, key: str) -> str:
        with self._told:
            self._refuse_gone()
            if key not in self.table:
                raise jax.errors.JaxRuntimeError(f"NOT_FOUND: {key}")
            return self.table[key]

    def blocking_key_value_get(self, key: str, milliseconds: int) -> str:
        with self._told:
            self._refuse_gone()
            if not self._told.wait_for(lambda: key in self.table, milliseconds / 1000):
                raise jax.errors.JaxRuntimeError(f"DEADLINE_EXCEEDED: {key}")
            return self.table[key]

    def _refuse_gone(self) -> None:
        if self.is_gone:
            raise jax.errors.JaxRuntimeError("UNAVAILABLE: the service is gone")
