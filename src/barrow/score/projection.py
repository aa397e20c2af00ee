"""Nats of tokens projected on the bytes of the raw text.

Two models with different tokenizers can be compared on the same span of text only by its bytes. The
nats of a token are spread evenly over its bytes; a token without bytes adds to its neighbour. Where
a tokenizer changes the text (it lowers case, drops spaces, has a token for what it does not know),
its tokens' bytes are not the text's: then the offsets that the library reports are used, and else
the whole document. Such a model does not encode what the tokenizer dropped, so its bits per byte
leave it out; results count those documents.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from barrow.errors import TokenizerError
from barrow.tokens import Tokenizer

How = Literal["bytes", "offsets", "document"]

# Tokens projected at a time, to bound memory.
_PIECE = 1 << 20


def project(
    text: bytes,
    ids: npt.NDArray[np.integer],
    nats: npt.NDArray[np.float64],
    tokenizer: Tokenizer,
) -> tuple[npt.NDArray[np.float64], How]:
    """Nats of every byte of a text, with the sum of its tokens' nats; and the projection used."""
    if not text:
        return np.zeros(0), "bytes"
    sizes = _sizes_by_bytes(text, ids, tokenizer)
    if sizes is not None:
        return spread(nats, sizes), "bytes"
    spans = tokenizer.spans(text.decode())
    if spans is not None and len(spans) == len(ids) and len(ids):
        return spread(nats, _sizes_by_spans(spans, len(text))), "offsets"
    return np.full(len(text), nats.sum() / len(text)), "document"


def spread(
    nats: npt.NDArray[np.float64], sizes: npt.NDArray[np.integer]
) -> npt.NDArray[np.float64]:
    """The nats of each token divided by its size, so many times.

    Those of a token of size 0 go to the next one that has a size, at the end to the last.
    """
    out = np.empty(int(sizes.sum()))
    at, last, passed_on = 0, 1, 0.0
    for start in range(0, len(sizes), _PIECE):
        own = sizes[start : start + _PIECE]
        held = np.flatnonzero(own)
        owner = np.searchsorted(held, np.arange(len(own)))
        sums = np.bincount(owner, nats[start : start + _PIECE], len(held) + 1)
        sums[0] += passed_on
        passed_on = float(sums[-1])
        if len(held):
            kept = own[held].astype(np.int64)
            stop = at + int(kept.sum())
            out[at:stop] = np.repeat(sums[:-1] / kept, kept)
            at, last = stop, int(kept[-1])
    out[at - last : at] += passed_on / last
    return out


def _sizes_by_bytes(
    text: bytes, ids: npt.NDArray[np.integer], tokenizer: Tokenizer
) -> npt.NDArray[np.integer] | None:
    """How many bytes of the text each token is, if together they are the text."""
    try:
        sizes: npt.NDArray[np.integer] = tokenizer.num_bytes[ids]
        same = tokenizer.decode_bytes(ids) == text
    except TokenizerError:
        return None
    extra = int(sizes.sum()) - len(text)
    if not same or extra not in (0, 1):
        return None
    if extra:
        # The space that is put before every text is not part of it.
        sizes[np.flatnonzero(sizes)[0]] -= 1
    return sizes


def _sizes_by_spans(spans: npt.NDArray[np.int64], num_bytes: int) -> npt.NDArray[np.int64]:
    """Bytes from the end of one token's place to the end of the next: gaps go to what follows."""
    ends = np.maximum.accumulate(spans[:, 1])
    ends[-1] = num_bytes
    sizes: npt.NDArray[np.int64] = np.diff(ends, prepend=0)
    return sizes
