"""Document ids as numbers: 16 and 8 hexadecimal digits, as the corpus writes them into meta."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

_FORM = re.compile(r"([0-9a-f]{16})-([0-9a-f]{8})")


def identity_of(value: Any) -> tuple[int, int]:
    """The two halves of an id; zeros for anything else."""
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    return (0, 0) if match is None else (int(match[1], 16), int(match[2], 16))


def name_of(identity: npt.NDArray[np.uint64]) -> str:
    """The id of two halves; "" for zeros, which mean a document without an id."""
    high, low = identity.tolist()
    return f"{high:016x}-{low:08x}" if high or low else ""
