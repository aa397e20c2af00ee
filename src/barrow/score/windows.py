"""Which tokens of a document are in which window, and which of them it scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.score.card import Window

_Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Windows:
    """Window i holds tokens[begin[i]:end[i]], after a prefix if `prefixed[i]`.

    It scores tokens[first[i]:end[i]]. `num_unseen` tokens at the beginning (one, without a prefix)
    are scored by no window: nothing precedes them.
    """

    begin: _Places
    end: _Places
    first: _Places
    prefixed: npt.NDArray[np.bool_]
    num_unseen: int

    def __len__(self) -> int:
        return len(self.end)


def windows(num_tokens: int, window: Window) -> Windows:
    """The windows of a document of so many tokens; every token is scored once.

    A model sees `context` tokens, prefix included, and predicts one more. The first window scores
    all it holds. Each later one scores the next `stride` tokens and holds as many before them as
    fit, even if fewer are left at the end of the document. With the prefix in the first window only
    and disjoint windows these are lm_eval's rolling windows.
    """
    has_prefix = window.prefix != "none"
    num_unseen = 0 if has_prefix else min(1, num_tokens)
    head = min(num_tokens, window.context + num_unseen)
    num_later = -(-(num_tokens - head) // window.stride)
    num = num_later + (head > num_unseen)
    end = head + window.stride * np.arange(num, dtype=np.int64)
    first = end - window.stride
    room = window.context if has_prefix and window.prefix_in == "every" else window.context + 1
    begin = np.maximum(0, np.minimum(end, num_tokens) - room)
    prefixed = np.full(num, has_prefix and window.prefix_in == "every")
    if num:
        end[-1] = min(int(end[-1]), num_tokens)
        first[0], begin[0], prefixed[0] = num_unseen, 0, has_prefix
    return Windows(begin, end, first, prefixed, num_unseen)
