"""Validation documents, ready to be scored by all proxies at once.

Windows and bits per byte are the scorer's (`barrow.score`), so a proxy has the same numbers and the
same card here and there.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError
from barrow.mix.runs import Array
from barrow.mix.swarm import mapped_model, over_proxies
from barrow.models.decoder.next_token_nats import next_token_nats
from barrow.models.family import CausalModule
from barrow.models.row_batches import batches
from barrow.score.card import Card, CorpusDigest, CorpusHash
from barrow.score.models.windowed import window_rows
from barrow.score.protocol import PROTOCOLS, prefix_token
from barrow.tokens.tokenizer import offsets_of
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import write_safetensors

if TYPE_CHECKING:
    from barrow.score.scored_corpus import Text
    from barrow.tokens import Tokenizer

_LOGITS_ON_CPU, _LOGITS = 1 << 26, 1 << 31  # held at a time, of all proxies
_ARRAYS = ("domain", "bytes", "unseen", "ids", "offsets", "scored", "document")


@dataclass(frozen=True, eq=False)
class Validation:
    """Documents by `domain`, with their `bytes` and the nats of what no window scores (`unseen`).

    Row r of the windows has ids[offsets[r]:offsets[r + 1]] and scores the last scored[r] of them,
    for document[r].
    """

    card: str
    domains: tuple[str, ...]
    context: int
    domain: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    unseen: Array
    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    scored: npt.NDArray[np.int64]
    document: npt.NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[Text], tokenizer: Tokenizer, *, context: int) -> Validation:
        """The windows of texts for models that see `context` tokens, by barrow's protocol."""
        found = list(texts)
        protocol = PROTOCOLS["barrow"]
        window = protocol.window(tokenizer, context)
        _, prefix = prefix_token(tokenizer, protocol.prefix)
        starts = offsets_of(np.array([len(text.text) for text in found], np.int64))
        joined = np.frombuffer(b"".join(text.text for text in found), np.uint8)
        encoded, places = tokenizer.encode_texts(joined, starts)
        unseen = np.zeros(len(found))
        rows, scored, document = [], [], []
        for row in window_rows(encoded.astype(np.int32), places, window, prefix):
            number = int(places.searchsorted(row.first, side="right")) - 1
            if row.ids is None:
                unseen[number] += (row.end - row.first) * math.log(tokenizer.vocab_size)
                continue
            rows.append(row.ids)
            scored.append(row.end - row.first)
            document.append(number)
        names = tuple(sorted({text.domain for text in found}))
        digest = CorpusHash()
        for text in found:
            digest.add(text.domain, hashlib.sha256(text.text).digest())
        ground = CorpusDigest("", None, len(found), len(joined), digest.hexdigest())
        return cls(
            Card(ground, "causal", window).hash,
            names,
            window.context,
            np.array([names.index(text.domain) for text in found], np.int64),
            np.diff(starts),
            unseen,
            np.concatenate([np.empty(0, np.int32), *rows]),
            offsets_of(np.array([len(row) for row in rows], np.int64)),
            np.array(scored, np.int64),
            np.array(document, np.int64),
        )

    def write(self, path: Path) -> None:
        """Write it to a safetensors file."""
        metadata = {"card": self.card, "context": str(self.context)}
        metadata |= {f"domain {k}": name for k, name in enumerate(self.domains)}
        write_safetensors(path, {n: getattr(self, n) for n in _ARRAYS}, metadata=metadata)

    @classmethod
    def read(cls, path: Path) -> Validation:
        """What `write` wrote."""
        tensors = open_safetensors(path)
        about = dict(tensors.metadata or {})
        names = tuple(about[f"domain {k}"] for k in range(len(about) - 2))
        arrays: dict[str, Any] = {name: np.array(tensors[name]) for name in _ARRAYS}
        return cls(about["card"], names, int(about["context"]), **arrays)

    def nats(self, model: CausalModule, params: Any, *, batch_tokens: int | None = None) -> Array:
        """Nats by proxy and document; `params` have a leading proxy axis."""
        num = len(jax.tree.leaves(params)[0])
        # The last proxy fills up the devices.
        added = -num % len(jax.devices())
        if added:
            params = jax.tree.map(lambda x: np.append(x, [x[-1]] * added, axis=0), params)
        if batch_tokens is None:
            logits = _LOGITS_ON_CPU if jax.default_backend() == "cpu" else _LOGITS
            batch_tokens = max(self.context, logits // (model.config.vocab_size * num))
        compute = _nats_of_rows(mapped_model(model))
        lengths = (np.diff(self.offsets) - 1).tolist()
        total = np.tile(self.unseen, (num, 1))
        made = batches(lengths, max_length=self.context, batch_tokens=batch_tokens)
        # All are dispatched before the first is awaited.
        computed = []
        for batch in made:
            ids = np.zeros((batch.num_rows, batch.length + 1), np.int32)
            first = np.full(batch.num_rows, batch.length, np.int32)
            last = np.zeros(batch.num_rows, np.int32)
            for k, row in enumerate(batch.rows):
                own = self.ids[self.offsets[row] : self.offsets[row + 1]]
                ids[k, : len(own)] = own
                last[k] = len(own) - 1
                first[k] = last[k] - self.scored[row]
            computed.append((batch.rows, compute(params, ids, first, last)))
        for rows, nats in computed:
            found = np.asarray(nats, np.float64)[:num, : len(rows)]
            np.add.at(total.T, self.document[list(rows)], found.T)
        return total

    def bits_per_byte(self, nats: Array) -> Array:
        """Bits per byte by proxy and domain: totals first, quotients last."""
        places = np.arange(len(self.domains)) == self.domain[:, None]
        return np.asarray(nats @ places / (self.bytes @ places * math.log(2)))


def _nats_of_rows(model: CausalModule) -> Any:
    """(params of all proxies, rows, the first and the last place that counts) → nats by row."""

    def one(params: Mapping[str, Any], ids: Any, first: Any, last: Any) -> jax.Array:
        nats = next_token_nats(model, params, ids)
        places = jnp.arange(nats.shape[1])
        counts = (places >= first[:, None]) & (places < last[:, None])
        return jnp.where(counts, nats, 0.0).sum(axis=1)

    return jax.jit(over_proxies(one, num_shared=3))


def validation_texts(texts: Iterable[Text], *, most_bytes: int) -> list[Text]:
    """The first documents of each domain, until they have so many bytes."""
    size: Counter[str] = Counter()
    found = []
    for text in texts:
        if text.text and size[text.domain] < most_bytes:
            size[text.domain] += len(text.text)
            found.append(text)
    if not found:
        raise ConfigError("there is no validation text: pass --validation CORPUS")
    return found
