"""What is computed beside the engine: embeddings of inputs, and bits per byte of texts."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from barrow.score.models.model import TextScore
from barrow.serve.http.body import EMBEDDINGS, SCORE, BadBody, checked, is_id
from barrow.serve.http.served import Embedder

_MOST_INPUTS = 2048


def embeddings(body: Any, embedder: Embedder, *, model: str) -> dict[str, Any]:
    """The answer to a body of /v1/embeddings: vectors of length 1."""
    given = checked(body, EMBEDDINGS, model=model)
    inputs = given.get("input")
    if isinstance(inputs, str | dict) or (inputs and all(map(is_id, inputs))):
        inputs = [inputs]
    if not inputs or len(inputs) > _MOST_INPUTS:
        raise BadBody(
            f"input must be a string, tokens, or a list of up to {_MOST_INPUTS} of them", "input"
        )
    form = given.get("encoding_format", "float")
    if form not in ("float", "base64"):
        raise BadBody(
            f"encoding_format must be float or base64, got {form[:60]!r}", "encoding_format"
        )
    try:
        read = [embedder.read(one) for one in inputs]
        vectors = embedder.vectors([one for one, _ in read])
    except ValueError as error:
        raise BadBody(str(error), "input") from None
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    if given.get("dimensions", vectors.shape[1]) != vectors.shape[1]:
        raise BadBody(f"dimensions must be {vectors.shape[1]}, those of the model", "dimensions")
    data = [
        {
            "object": "embedding",
            "index": number,
            "embedding": vector.tolist()
            if form == "float"
            else base64.b64encode(vector.astype("<f4").tobytes()).decode(),
        }
        for number, vector in enumerate(vectors)
    ]
    num = sum(size for _, size in read)
    usage = {"prompt_tokens": num, "total_tokens": num}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def scores(
    body: Any, score: Callable[[Sequence[bytes]], Sequence[TextScore]], *, model: str
) -> dict[str, Any]:
    """The answer to a body of /score: the bits of each text, by byte; and of all together."""
    given = checked(body, SCORE, model=model)
    texts = given.get("text")
    texts = [texts] if isinstance(texts, str) else texts
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise BadBody("text must be a string or a list of strings, none of them empty", "text")
    try:
        raw = [text.encode() for text in texts]
    except UnicodeEncodeError:
        raise BadBody("text has half of a surrogate pair", "text") from None
    found = score(raw)
    sizes = [len(text) for text in raw]
    data = [
        {"index": number, **_bits(one.nats, size), "tokens": one.tokens}
        for number, (one, size) in enumerate(zip(found, sizes, strict=True))
    ]
    whole = _bits(sum(one.nats for one in found), sum(sizes))
    return {"object": "score", "model": model, "data": data, **whole}


def _bits(nats: float, size: int) -> dict[str, float]:
    bits = nats / math.log(2)
    return {"bits_per_byte": bits / size, "bits": bits, "bytes": size}
