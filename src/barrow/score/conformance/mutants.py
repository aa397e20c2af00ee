"""Nine mistakes found in published scorers, each planted in an otherwise correct one.

A mutant wraps a scorer and changes its input or output as the mistake would. Its card is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from barrow.archive import Document
from barrow.score.conformance.check import Scorer, rows
from barrow.score.models.model import TokenModel
from barrow.score.protocol import Protocol, Role, prefix_token
from barrow.score.result import Result, Row
from barrow.score.summary import rows_of
from barrow.tokens import Tokenizer

_Rows = Sequence[npt.NDArray[np.int32]]
_PACKED = 64  # characters to a packed row


@dataclass(frozen=True)
class Mistake:
    """One of the nine; `found_by` names the check that was made for it.

    `mutation(scorer, model, protocol, documents, …)` does what a `Scorer` does, with the mistake.
    """

    name: str
    found_by: str
    mutation: Callable[..., Result]

    def plant(self, scorer: Scorer) -> Scorer:
        """The scorer, but for the mistake."""
        return partial(self.mutation, scorer)


def mistakes() -> tuple[Mistake, ...]:
    """The nine, some in two ways."""
    asked, ruled, sized = (partial(partial, f) for f in (_asked, _ruled, _sized))
    return (
        Mistake("double BOS", "one prefix", asked(_double_prefix)),
        Mistake("double BOS, one charged", "one prefix", asked(_charged_prefix)),
        Mistake("BOS missing in later windows", "later windows", ruled(_first_only)),
        Mistake("EOS for BOS, BOS for EOS", "prefix's role", ruled(_other_role)),
        Mistake("stride by the model's length", "model's length", ruled(_longest)),
        Mistake("mean of batches' ratios", "plain sums", partial(_averaged, 4)),
        Mistake("mean of documents' ratios", "plain sums", partial(_averaged, 1)),
        Mistake("bytes of decoded tokens", "split characters", sized(_decoded_size)),
        Mistake("packed rows for documents", "documents", _packed),
        Mistake("packed rows counted", "documents", _rows_counted),
        Mistake("logits not shifted", "Markov source", asked(_unshifted)),
        Mistake("bytes with special tokens", "raw bytes", sized(_special_size)),
    )


class _Altered:
    """A model with altered logarithms."""

    def __init__(self, model: TokenModel, log_probs: Callable[[_Rows], Sequence[Any]]) -> None:
        self.tokenizer, self.max_length = model.tokenizer, model.max_length
        self._log_probs = log_probs

    def log_probs(self, rows: _Rows) -> Sequence[Any]:
        """As in `TokenModel`, but for the mistake."""
        return self._log_probs(rows)


def _asked(
    alter: Callable[[TokenModel, int | None, _Rows], Sequence[Any]],
    scorer: Scorer,
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    **how: Any,
) -> Result:
    """The model is called in another way: by `alter(model, prefix, rows)`."""
    _, prefix = prefix_token(model.tokenizer, protocol.prefix)
    altered = _Altered(model, partial(alter, model, prefix))
    return scorer(altered, protocol, documents, **how)


def _double_prefix(model: TokenModel, prefix: int | None, asked: _Rows) -> Sequence[Any]:
    twice = [np.concatenate([row[:1], row]) if row[0] == prefix else row for row in asked]
    found = model.log_probs(twice)
    return [logs[len(logs) - len(row) + 1 :] for row, logs in zip(asked, found, strict=True)]


def _charged_prefix(model: TokenModel, prefix: int | None, asked: _Rows) -> Sequence[Any]:
    """As where a tokenizer puts a prefix before the text and the scorer another."""
    found = []
    for row in asked:
        if row[0] != prefix:
            found.append(model.log_probs([row])[0])
            continue
        logs = np.array(model.log_probs([np.concatenate([row[:1], row])])[0], np.float64)
        own = logs[1:].copy()
        own[:1] += logs[0]
        found.append(own)
    return found


def _unshifted(model: TokenModel, prefix: int | None, asked: _Rows) -> Sequence[Any]:
    """The logits at a token are those of the next; here they are taken for its own."""
    del prefix
    again = [np.append(row[: i + 1], row[i]) for row in asked for i in range(1, len(row))]
    logs = np.array([own[-1] for own in model.log_probs(again)], np.float64)
    return np.split(logs, np.cumsum([len(row) - 1 for row in asked])[:-1])


def _ruled(
    change: Callable[[Protocol, TokenModel], Protocol],
    scorer: Scorer,
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    **how: Any,
) -> Result:
    """The protocol differs from the card's."""
    result = scorer(model, change(protocol, model), documents, **how)
    said = protocol.window(model.tokenizer, model.max_length)
    return replace(result, card=replace(result.card, window=said))


def _first_only(protocol: Protocol, model: TokenModel) -> Protocol:
    del model
    return replace(protocol, prefix_in="first")


def _other_role(protocol: Protocol, model: TokenModel) -> Protocol:
    del model
    other: dict[Role, Role] = {"begin": "end", "end": "begin", "none": "none"}
    return replace(protocol, prefix=other[protocol.prefix])


def _longest(protocol: Protocol, model: TokenModel) -> Protocol:
    """Windows of all that the model can see, with a stride to match."""
    if model.max_length is None:
        return protocol
    stride: Literal["half"] | None = "half"
    if protocol.stride in (None, protocol.context):
        stride = None
    return replace(protocol, context=None, stride=stride)


def _averaged(
    size: int,
    scorer: Scorer,
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    **how: Any,
) -> Result:
    """The mean over batches of so many documents."""
    whole = scorer(model, protocol, documents, **how)
    cut = (documents[i : i + size] for i in range(0, len(documents), size))
    batches = [batch for batch in cut if any(document.text for document in batch)]
    parts = [scorer(model, protocol, batch, **how) for batch in batches]
    found = [row for part in parts for row in (*part.domains, part.overall)]
    domains = tuple(_mean(row, found) for row in whole.domains)
    return replace(whole, domains=domains, overall=_mean(whole.overall, found))


def _mean(row: Row, parts: Sequence[Row]) -> Row:
    ratios = [part.bpb for part in parts if part.name == row.name and part.bpb is not None]
    return replace(row, bpb=float(np.mean(ratios)))


def _sized(
    size: Callable[[str, Tokenizer, Protocol], int],
    scorer: Scorer,
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    **how: Any,
) -> Result:
    """Nats are divided by other sizes than those of the raw text."""
    result = scorer(model, protocol, documents, **how)
    sizes = [size(document.text, model.tokenizer, protocol) for document in documents]
    held = replace(rows(result), bytes=np.array(sizes, np.int64))
    domains, overall = rows_of(held, np.zeros(len(held)))
    card = replace(result.card, ground=replace(result.card.ground, bytes=sum(sizes)))
    return replace(result, card=card, domains=domains, overall=overall, documents=held)


def _decoded_size(text: str, tokenizer: Tokenizer, protocol: Protocol) -> int:
    """Token by token: half a character becomes U+FFFD, three bytes."""
    del protocol
    pieces = (tokenizer.token_bytes(token) for token in tokenizer.encode(text).tolist())
    return sum(len(piece.decode(errors="replace").encode()) for piece in pieces)


def _special_size(text: str, tokenizer: Tokenizer, protocol: Protocol) -> int:
    _, prefix = prefix_token(tokenizer, protocol.prefix)
    names = [name for name, token in tokenizer.specials.items() if token == prefix]
    return len(text.encode()) + len("".join(names).encode())


def _packed(
    scorer: Scorer,
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    **how: Any,
) -> Result:
    """Documents are joined and cut into rows, and the rows scored as if they were documents."""
    cut = []
    for domain in sorted({document.meta["pile_set_name"] for document in documents}):
        text = "".join(d.text for d in documents if d.meta["pile_set_name"] == domain)
        cut += [
            Document(text[i : i + _PACKED], {"pile_set_name": domain})
            for i in range(0, len(text), _PACKED)
        ]
    return scorer(model, protocol, cut, **how)


def _rows_counted(
    scorer: Scorer,
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    **how: Any,
) -> Result:
    """The nats are right, but rows of a window's length are counted as documents."""
    result = scorer(model, protocol, documents, **how)
    assert result.card.window is not None
    context = result.card.window.context
    overall = _in_rows(result.overall, context)
    ground = replace(result.card.ground, documents=overall.documents)
    domains = tuple(_in_rows(row, context) for row in result.domains)
    card = replace(result.card, ground=ground)
    return replace(result, card=card, domains=domains, overall=overall)


def _in_rows(row: Row, context: int) -> Row:
    return replace(row, documents=-(-row.tokens // context))
