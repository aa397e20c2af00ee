"""Checks of invariances: order, groups, batches, devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.score.conformance.check import Check, Scorer, Verdict, documents_of, rows
from barrow.score.conformance.models import RuleModel, split_tokenizer, witness
from barrow.score.models.model import TokenModel
from barrow.score.protocol import PROTOCOLS, Protocol
from barrow.score.result import Result
from barrow.tokens import ByteTokenizer

if TYPE_CHECKING:
    from barrow.models import Decoder

_TEXTS = (
    *("one", "", "the second, and longer than a window " * 2, "né", "日本語🙂" * 4, "4"),
    *("stone " * 9, "x" * 31, "\x00", "and so on, and so on"),
)
# The decoder could see 16: a mistake that shows it one more is a number, not an error.
_WINDOWS = Protocol("custom", 12, 6, "begin")
_CLOSE = 1e-6
# One length of rows and few numbers of them: each shape is compiled.
_CONTEXT, _BATCH_TOKENS = 16, 64


@dataclass(frozen=True, eq=False)
class SmallDecoder:
    """A decoder of bytes, and the same opened three ways; what each compiles is kept."""

    decoder: Decoder
    params: Any
    devices: Sequence[Any]
    one_row: TokenModel
    batched: TokenModel
    all_devices: TokenModel


def invariance_checks(small: SmallDecoder) -> tuple[Check, ...]:
    """Checks of invariances; those of the decoder share compiled programs."""
    return (
        Check("order", "documents in another order: the same numbers, the same card", _order),
        Check("groups", "other groups of documents, packed or alone: the same numbers", _groups),
        Check(
            "decoder",
            "our decoder's nats are its logits' in a float64 softmax",
            _in_float32(_decoder(small)),
        ),
        Check(
            "batches", "one row at a time, or several: within 1e-6", _in_float32(_batches(small))
        ),
        Check("devices", "one device, or all available: within 1e-6", _in_float32(_devices(small))),
    )


def _in_float32(run: Callable[[Scorer], Verdict]) -> Callable[[Scorer], Verdict]:
    """With full-precision products: a GPU rounds factors by default, more than 1e-6."""

    def whole(scorer: Scorer) -> Verdict:
        import jax

        with jax.default_matmul_precision("highest"):
            return run(scorer)

    return whole


def small_decoder(*, devices: Sequence[Any] | None = None, seed: int = 0) -> SmallDecoder:
    """Random parameters, large enough that probabilities are far from uniform."""
    import jax
    import jax.numpy as jnp

    from barrow.models import Decoder, DecoderConfig
    from barrow.score.models.decoder import DecoderTokenModel

    devices = jax.local_devices() if devices is None else devices
    config = DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=32, context=_CONTEXT)
    decoder = Decoder(config)
    shapes = jax.eval_shape(decoder.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    rng = np.random.default_rng(seed)
    params = jax.tree.map(
        lambda leaf: jnp.asarray(0.4 * rng.standard_normal(leaf.shape), jnp.float32), shapes
    )

    def opened(batch_tokens: int, on: Sequence[Any]) -> TokenModel:
        return DecoderTokenModel(
            decoder, params, ByteTokenizer(), batch_tokens=batch_tokens, devices=on
        )

    one = opened(_BATCH_TOKENS, devices[:1])
    return SmallDecoder(
        decoder=decoder,
        params=params,
        devices=devices,
        one_row=opened(1, devices[:1]),
        batched=one,
        all_devices=one if len(devices) == 1 else opened(_BATCH_TOKENS, devices),
    )


def _order(scorer: Scorer) -> Verdict:
    documents = documents_of(_TEXTS)
    model = RuleModel(split_tokenizer(), witness, max_length=16)
    places = list(range(len(documents)))
    orders = [places, places[::-1], places[::2] + places[1::2]]
    results = [scorer(model, PROTOCOLS["barrow"], [documents[i] for i in o]) for o in orders]
    passed = True
    for order, result in zip(orders, results, strict=True):
        own = rows(result).nats
        passed &= len(own) == len(order) and bool(np.array_equal(own, rows(results[0]).nats[order]))
        passed &= _figures(result) == _figures(results[0])
    return Verdict(passed, f"{len(orders)} orders, card {results[0].card.hash}")


def _figures(result: Result) -> Any:
    figures = [(row.name, row.bpb, row.low, row.high) for row in (*result.domains, result.overall)]
    return figures, result.card.hash


def _groups(scorer: Scorer) -> Verdict:
    documents = documents_of(_TEXTS)
    model = RuleModel(split_tokenizer(), witness, max_length=16)
    sizes = (1 << 20, 1, 50)
    found = [scorer(model, PROTOCOLS["pile"], documents, group_bytes=size) for size in sizes]
    same = all(np.array_equal(rows(one).nats, rows(found[0]).nats) for one in found)
    passed = same and all(_figures(one) == _figures(found[0]) for one in found)
    return Verdict(passed, f"groups of all, one and several of {len(documents)} documents")


def _decoder(small: SmallDecoder) -> Callable[[Scorer], Verdict]:
    import jax

    apply = jax.jit(lambda ids: small.decoder.apply(small.params, ids)[0])
    texts = [text for text in _TEXTS if len(text.encode()) <= 12]

    def run(scorer: Scorer) -> Verdict:
        found = rows(scorer(small.batched, _WINDOWS, documents_of(texts)))
        expected = []
        for text in texts:
            ids = [ByteTokenizer.begin, *text.encode()]
            padded = np.zeros((1, _CONTEXT), np.int32)
            padded[0, : len(ids)] = ids
            logits = np.asarray(apply(padded), np.float64)[0]
            expected.append(sum(_nats(logits[i - 1], ids[i]) for i in range(1, len(ids))))
        off = _apart(found.nats, np.array(expected))
        return Verdict(off <= _CLOSE, f"{len(texts)} documents, off by {off:.1g} at most")

    return run


def _nats(logits: Any, token: int) -> float:
    peak = logits.max()
    return float(peak + np.log(np.exp(logits - peak).sum()) - logits[token])


def _batches(small: SmallDecoder) -> Callable[[Scorer], Verdict]:
    def run(scorer: Scorer) -> Verdict:
        documents = documents_of(_TEXTS)
        found = [rows(scorer(m, _WINDOWS, documents)) for m in (small.one_row, small.batched)]
        off = _apart(found[0].nats, found[1].nats)
        return Verdict(off <= _CLOSE, f"off by {off:.1g} at most")

    return run


def _devices(small: SmallDecoder) -> Callable[[Scorer], Verdict]:
    def run(scorer: Scorer) -> Verdict:
        documents = documents_of(_TEXTS)
        found = [rows(scorer(m, _WINDOWS, documents)) for m in (small.batched, small.all_devices)]
        off = _apart(found[0].nats, found[1].nats)
        num = len(small.devices)
        return Verdict(off <= _CLOSE, f"1 beside {num}, off by {off:.1g} at most")

    return run


def _apart(found: Any, expected: Any) -> float:
    if len(found) != len(expected):
        return float("inf")
    return float((np.abs(found - expected) / np.maximum(1, np.abs(expected))).max())
