"""Checks of sums and quotients: 8 bits for random bytes, totals first, a known source."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from barrow.archive import Document
from barrow.score.baselines.byte_models import Uniform
from barrow.score.conformance.check import Check, Scorer, Verdict, documents_of, far
from barrow.score.conformance.models import RuleModel, uniform_rule
from barrow.score.conformance.reference import bits_per_byte
from barrow.score.protocol import PROTOCOLS, Protocol
from barrow.score.scoring import score
from barrow.tokens import ByteTokenizer

_SAME, _OTHER = 0.9, 0.1 / 255
_WINDOWS = Protocol("custom", 24, 12, "begin")
_EXACT = 1e-12
# Rows of the chain: what follows a, c, g, t.
_LETTERS = b"acgt"
_CHAIN = (
    (0.05, 0.85, 0.05, 0.05),
    (0.05, 0.05, 0.80, 0.10),
    (0.40, 0.10, 0.10, 0.40),
    (0.70, 0.10, 0.15, 0.05),
)
# An interval wider than this would contain almost anything.
_WIDEST = 0.1


def totals_checks() -> tuple[Check, ...]:
    """Checks of sums and quotients."""
    return (
        Check("uniform bytes", "256 equally likely bytes are 8 bits per byte", _uniform),
        Check("plain sums", "bits per byte are −Σ log p / (bytes · ln 2), by domain too", _sums),
        Check("Markov source", "the entropy of a known chain is in the 95 % interval", markov),
    )


def _uniform(scorer: Scorer) -> Verdict:
    documents = documents_of(["", "a", "né", "日本語 🙂 " * 9, "\x00\x00", "stone by stone, " * 20])
    model = RuleModel(ByteTokenizer(), uniform_rule(256), max_length=64)
    results = [scorer(model, PROTOCOLS[name], documents) for name in ("barrow", "pile")]
    baseline = score(Uniform(), documents)
    assert baseline is not None
    found = [row.bpb for one in (*results, baseline) for row in (*one.domains, one.overall)]
    off = max(math.inf if bpb is None else abs(bpb - 8) for bpb in found)
    return Verdict(off <= _EXACT, f"{results[0].overall.bpb:.4f}, off by {off:.1g} at most")


def _sums(scorer: Scorer) -> Verdict:
    """Long documents are predictable, short ones are not: a mean of quotients would differ."""
    texts = [letter * (7 * n * n) for n, letter in enumerate("abcdefg")]
    texts += [f"{n} is {n * n}" for n in range(9)]
    documents = documents_of(texts)

    def rule(row: Sequence[int], i: int) -> float:
        return -math.log(_SAME if row[i] == row[i - 1] else _OTHER)

    result = scorer(RuleModel(ByteTokenizer(), rule), _WINDOWS, documents)
    off = 0.0
    for row in (*result.domains, result.overall):
        chosen = [d.text for d in documents if row.name in (d.meta["pile_set_name"], "overall")]
        nats = [nat for text in chosen for nat in _nats(text.encode())]
        expected = bits_per_byte(nats, sum(len(text.encode()) for text in chosen))
        off = max(off, math.inf if row.bpb is None else far(row.bpb, expected))
    expected = bits_per_byte(
        [nat for text in texts for nat in _nats(text.encode())], sum(map(len, texts))
    )
    numbers = f"{result.overall.bpb:.6f} of {expected:.6f}, off by {off:.1g} at most"
    return Verdict(off <= _EXACT, numbers)


def _nats(text: bytes) -> list[float]:
    before = [None, *text]
    return [
        -math.log(_SAME if left == right else _OTHER)
        for left, right in zip(before, text, strict=False)
    ]


def markov(scorer: Scorer, *, seed: int = 0, num: int = 120) -> Verdict:
    """Text drawn from a chain, scored by the chain itself: its entropy is known."""
    start = stationary(_CHAIN)
    place = {byte: i for i, byte in enumerate(_LETTERS)}

    def rule(row: Sequence[int], i: int) -> float:
        left = row[i - 1]
        return -math.log(
            (start if left == ByteTokenizer.begin else _CHAIN[place[left]])[place[row[i]]]
        )

    documents = _sampled(start, num=num, seed=seed)
    row = scorer(RuleModel(ByteTokenizer(), rule), _WINDOWS, documents).overall
    lengths = [len(document.text) for document in documents]
    rate = math.fsum(p * entropy(row) for p, row in zip(start, _CHAIN, strict=True))
    # A document's first letter is drawn from the stationary distribution.
    total = math.fsum(entropy(start) + (length - 1) * rate for length in lengths)
    truth = total / sum(lengths)
    if row.low is None or row.high is None:
        return Verdict(False, "there is no interval")
    passed = row.low <= truth <= row.high and row.high - row.low < _WIDEST
    return Verdict(passed, f"{truth:.4f}, measured {row.low:.4f} to {row.high:.4f}")


def stationary(chain: Sequence[Sequence[float]]) -> list[float]:
    """The stationary distribution of the states."""
    state = [1 / len(chain)] * len(chain)
    for _ in range(500):
        state = [
            math.fsum(p * row[j] for p, row in zip(state, chain, strict=True))
            for j in range(len(chain))
        ]
    return state


def entropy(distribution: Sequence[float]) -> float:
    """Bits of one draw."""
    return -math.fsum(p * math.log2(p) for p in distribution)


def _sampled(start: Sequence[float], *, num: int, seed: int) -> list[Document]:
    rng = random.Random(seed)  # noqa: S311 - the same in every Python
    texts = []
    for _ in range(num):
        drawn = [_draw(rng, start)]
        for _ in range(rng.randrange(40, 160)):
            drawn.append(_draw(rng, _CHAIN[drawn[-1]]))
        texts.append(bytes(_LETTERS[i] for i in drawn).decode())
    return documents_of(texts)


def _draw(rng: random.Random, weights: Sequence[float]) -> int:
    """By `random()` alone, whose numbers are the same in every Python."""
    left = rng.random()
    for i, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return i
    return len(weights) - 1
