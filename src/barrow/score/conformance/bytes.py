"""Checks of bytes and documents: the divisor, the counts, the projection of nats."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from barrow.score.conformance.check import Check, Scorer, Verdict, documents_of, far, rows
from barrow.score.conformance.models import RuleModel, split_tokenizer, uniform_rule, witness
from barrow.score.conformance.reference import bits_per_byte, token_nats
from barrow.score.kinds import KINDS
from barrow.score.protocol import PROTOCOLS, Protocol
from barrow.tokens import ByteTokenizer

_EXACT = 1e-12
_WINDOWS = Protocol("custom", 16, 8, "begin")


def bytes_checks() -> tuple[Check, ...]:
    """Checks of bytes and documents."""
    return (
        Check("raw bytes", "bytes are those of the raw text: NULs, empty documents", _raw),
        Check("split characters", "tokens that are parts of characters add no bytes", _split),
        Check("documents", "documents are counted, and each is scored on its own", _documents),
        Check("projection", "nats of bytes sum to those of tokens, span by span", _projection),
    )


def _raw(scorer: Scorer) -> Verdict:
    texts = ["", "\x00", "nul\x00nul", "plain text " * 5, "", "\x00" * 40, "\r\n\t"]
    sizes = [len(text.encode()) for text in texts]
    result = scorer(RuleModel(ByteTokenizer(), witness), _WINDOWS, documents_of(texts))
    found = rows(result)
    passed = (
        found.bytes.tolist() == sizes
        and found.tokens.tolist() == sizes
        and result.overall.bytes == result.card.ground.bytes == sum(sizes)
        and all(nats == 0 for nats, size in zip(found.nats, sizes, strict=True) if not size)
        and found.kind_bytes.sum(axis=1).tolist() == sizes
    )
    empty = sum(not size for size in sizes)
    numbers = f"{result.overall.bytes} of {sum(sizes)} bytes, {empty} empty documents"
    return Verdict(passed, numbers)


def _split(scorer: Scorer) -> Verdict:
    texts = ["né né né", "🙂🙂 日本 日", "the café, é é é", "plain"]
    tokenizer = split_tokenizer()
    ids = [tokenizer.encode(text).tolist() for text in texts]
    split = sum(not _is_text(tokenizer.token_bytes(token)) for own in ids for token in own)
    size = sum(len(text.encode()) for text in texts)
    num = sum(map(len, ids))
    rule = uniform_rule(tokenizer.vocab_size)
    result = scorer(RuleModel(tokenizer, rule), _WINDOWS, documents_of(texts))
    expected = bits_per_byte([math.log(tokenizer.vocab_size)] * num, size)
    bpb = result.overall.bpb
    passed = (
        bpb is not None
        and far(bpb, expected) <= _EXACT
        and (result.overall.bytes, result.overall.tokens) == (size, num)
        and result.settings["projection"] == {"bytes": len(texts)}
        and split > 0
    )
    numbers = (
        f"{result.overall.bytes} of {size} bytes, {split} of {num} tokens are parts of characters"
    )
    return Verdict(passed, numbers)


def _is_text(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def _documents(scorer: Scorer) -> Verdict:
    texts = ["one", "", "the second, and longer than a window", "né", "4", "stone " * 12]
    model = RuleModel(split_tokenizer(), witness, max_length=16)
    result = scorer(model, PROTOCOLS["barrow"], documents_of(texts))
    found = rows(result)
    alone = [
        rows(scorer(model, PROTOCOLS["barrow"], documents_of([text]))) for text in texts if text
    ]
    hashes = [hashlib.sha256(text.encode()).digest()[:16] for text in texts]
    passed = (
        len(found) == result.overall.documents == result.card.ground.documents == len(texts)
        and [row.documents for row in result.domains] == [3, 3]
        and [bytes(row) for row in found.text] == hashes
        and found.nats[found.bytes > 0].tolist() == [float(one.nats.sum()) for one in alone]
    )
    return Verdict(passed, f"{result.overall.documents} of {len(texts)} documents")


def _projection(scorer: Scorer) -> Verdict:
    """Digits and spaces in tokens of both; the expected share of each byte computed by hand."""
    texts = ["1 23 1 4", "23 23 99 1 1 ", "7", "1 " * 20]
    tokenizer = split_tokenizer()
    result = scorer(RuleModel(tokenizer, witness), _WINDOWS, documents_of(texts))
    found, window = rows(result), result.card.window
    assert window is not None
    off = float(np.abs(found.kind_nats.sum(axis=1) - found.nats).max())
    for number, text in enumerate(texts):
        ids = tokenizer.encode(text).tolist()
        parts: dict[str, list[float]] = {"digits": [], "space": []}
        nats = token_nats(ids, window, witness, tokenizer.vocab_size)
        for token, own in zip(ids, nats, strict=True):
            piece = tokenizer.token_bytes(token)
            for byte in piece:
                kind = "space" if byte == ord(" ") else "digits"
                parts[kind].append(own / len(piece))
        for kind, shares in parts.items():
            placed = float(found.kind_nats[number, KINDS.index(kind)])
            off = max(off, far(placed, math.fsum(shares)))
    return Verdict(off <= _EXACT, f"digits and spaces of {len(texts)} texts, off by {off:.1g}")
