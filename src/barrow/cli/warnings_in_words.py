"""Warnings as sentences, as they come."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def warnings_in_words() -> Iterator[None]:
    """Say warnings on stderr as sentences, without the line of code that they are from."""

    def say(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"barrow: {message}", file=sys.stderr, flush=True)  # noqa: T201

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = say
        yield
