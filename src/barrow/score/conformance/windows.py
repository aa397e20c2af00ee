"""Checks of windows: which tokens are scored, how often, and with what context."""

from __future__ import annotations

import math
from collections.abc import Sequence

from barrow.score.card import Window
from barrow.score.conformance.check import Check, Scorer, Verdict, documents_of, far, rows
from barrow.score.conformance.models import BEGIN, END, RuleModel, split_tokenizer, witness
from barrow.score.conformance.reference import token_nats
from barrow.score.protocol import PROTOCOLS, Protocol, Role
from barrow.tokens import ByteTokenizer

_EXACT = 1e-12
_SHORT = ("a", "né", "the stone", "日本語")
_LONG = ("the barrow and the mound, stone by stone " * 3, "né " * 30, "x", "", "日本語🙂" * 9)
_DIGITS = 4  # base of the numbers whose digits count scorings
_MOST = 24  # digits that a float64 holds exactly
_ROUNDING = 3e-15  # a missing token is 1e-14 of the largest total


def windows_checks() -> tuple[Check, ...]:
    """Checks of windows."""
    return (
        Check("one prefix", "one special token precedes a document's first token", _one),
        Check("prefix's role", "that token is the one the card names: begin, end, none", _role),
        Check("later windows", "each token sees the context of the card, in every window", _later),
        Check(
            "model's length",
            "the same context gives the same score, whatever a model's maximum",
            _length,
        ),
        Check("charged once", "each token is scored once, for any context and stride", _once),
    )


def _one(scorer: Scorer) -> Verdict:
    """Each token costs as many nats as it has special tokens before it."""

    def rule(row: Sequence[int], i: int) -> float:
        return float(sum(token in (BEGIN, END) for token in row[:i]))

    model = RuleModel(split_tokenizer(), rule)
    counts = []
    for role in _roles("begin", "end"):
        found = rows(scorer(model, Protocol("custom", 64, None, role), documents_of(_SHORT)))
        counts += (found.nats / found.tokens).tolist()
    numbers = f"{min(counts):g} to {max(counts):g} special tokens seen"
    return Verdict(min(counts) == max(counts) == 1, numbers)


def _role(scorer: Scorer) -> Verdict:
    """Each token costs 1 nat where its row starts with the begin token, 2 with the end token."""

    def rule(row: Sequence[int], i: int) -> float:
        del i
        return {BEGIN: 1.0, END: 2.0}.get(row[0], 3.0)

    tokenizer = split_tokenizer()
    model = RuleModel(tokenizer, rule)
    ids = [tokenizer.encode(text).tolist() for text in _SHORT]
    passed, notes = True, []
    for role, cost in zip(_roles("begin", "end", "none"), (1.0, 2.0, 3.0), strict=True):
        result = scorer(model, Protocol("custom", 64, None, role), documents_of(_SHORT))
        # Without a prefix the first token is uniform.
        first = math.log(tokenizer.vocab_size) if role == "none" else cost
        expected = [first + cost * (len(own) - 1) for own in ids]
        off = max(map(far, rows(result).nats.tolist(), expected))
        window = result.card.window
        passed &= off <= _EXACT and window is not None and window.prefix == role
        notes.append(f"{role} {'as named' if off <= _EXACT else f'off by {off:.2g}'}")
    return Verdict(passed, ", ".join(notes))


def _later(scorer: Scorer) -> Verdict:
    tokenizer = split_tokenizer()
    model = RuleModel(tokenizer, witness, max_length=16)
    ids = [tokenizer.encode(text).tolist() for text in _LONG]
    asked = {
        PROTOCOLS["barrow"]: (16, 8, "begin", "every"),
        PROTOCOLS["pile"]: (16, 16, "end", "first"),
        PROTOCOLS["sliding"]: (16, 8, "begin", "every"),
        Protocol("custom", 9, 4, "end", "every"): (9, 4, "end", "every"),
        Protocol("custom", 7, 3, "begin", "first"): (7, 3, "begin", "first"),
        Protocol("custom", 6, None, "none"): (6, 6, "none", "none"),
    }
    off, passed = 0.0, True
    for protocol, facts in asked.items():
        result = scorer(model, protocol, documents_of(_LONG))
        window = result.card.window
        passed &= window is not None and window.facts == facts
        expected = [_total(own, window, tokenizer.vocab_size) for own in ids]
        off = max([off, *map(far, rows(result).nats.tolist(), expected)])
    numbers = f"{len(asked)} protocols, off by {off:.1g} at most"
    return Verdict(passed and off <= _EXACT, numbers)


def _total(ids: Sequence[int], window: Window | None, vocab_size: int) -> float:
    if window is None:
        return math.nan
    return math.fsum(token_nats(ids, window, witness, vocab_size))


def _length(scorer: Scorer) -> Verdict:
    """The same model three times, which could see 16 tokens, 48, or any number."""
    protocol = Protocol("barrow", 16, "half", "begin")
    found = {}
    for max_length in (16, 48, None):
        model = RuleModel(split_tokenizer(), witness, max_length=max_length)
        result = scorer(model, protocol, documents_of(_LONG))
        found[max_length] = (result.overall.bpb, result.card.hash)
    notes = ", ".join(f"{bpb:.6f}" for bpb, _ in found.values())
    return Verdict(len(set(found.values())) == 1, f"{notes} with 16, 48, any number of tokens")


def _once(scorer: Scorer) -> Verdict:
    """Token k costs 4^k nats: the digits of a document's total show how often each was scored."""
    texts = [bytes(range(num)).decode() for num in range(_MOST + 1)]
    wrong, longest, tried = 0, True, 0
    for protocol in _many_protocols():
        model = RuleModel(ByteTokenizer(), lambda row, i: float(_DIGITS ** row[i]))
        result = scorer(model, protocol, documents_of(texts))
        unseen = protocol.prefix == "none"
        for num, nats in enumerate(rows(result).nats.tolist()):
            expected = sum(_DIGITS**k for k in range(num))
            if unseen and num:
                expected += math.log(ByteTokenizer.vocab_size) - 1
            wrong += far(nats, expected) > _ROUNDING
        tried += 1
        longest &= model.longest <= (protocol.context or 0) + 1
    fits = "none too long" if longest else "rows longer than the context"
    return Verdict(not wrong and longest, f"{tried} protocols, {wrong} documents wrong, {fits}")


def _many_protocols() -> list[Protocol]:
    """Contexts and strides from the smallest on, with every kind of prefix."""
    kinds: list[tuple[Role, bool]] = [("begin", True), ("end", False), ("none", True)]
    made = []
    for number, (context, stride) in enumerate(
        [(2, 1), (2, 2), (3, 2), (5, 1), (5, 3), (7, 7), (8, 4), (11, 9), (24, 5), (30, 30)]
    ):
        role, every = kinds[number % 3]
        made.append(Protocol("custom", context, stride, role, "every" if every else "first"))
    return made


def _roles(*roles: Role) -> tuple[Role, ...]:
    return roles
