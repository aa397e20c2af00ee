"""Fused attention where XLA shall be deterministic."""

from __future__ import annotations

import itertools
import os
import re

import numpy as np

_ASKED = re.compile(
    r"--xla_gpu_(?:deterministic_ops|exclude_nondeterministic_ops)(?:=(?:true|1))?(?:\s|$)", re.I
)
_CALLS = itertools.count(1)


def told_apart(scale: float) -> float:
    """The scale; where XLA shall be deterministic, a number of its own for each call.

    XLA then notes so in the settings of a kernel's backward pass, but only in the first of several
    that are alike, and finds no program for the others when it runs them (IndexError). In float32,
    in which kernels compute, all these numbers are one.
    """
    if not _ASKED.search(os.environ.get("XLA_FLAGS", "")):
        return scale
    return float(np.float32(scale)) * (1 + next(_CALLS) % 2**12 * 2.0**-44)
