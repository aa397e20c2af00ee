"""What the page shows, as JSON: results, their rankings, what was left out."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow import config
from barrow.pages.escape import one_line, shown
from barrow.pages.numbers import readable_count, readable_size
from barrow.score.board.gather import Found, Gathered, domain_name
from barrow.score.card import Card, comparable
from barrow.score.result import Result, Row
from barrow.score.standing import places, standings

OVERALL = ""  # the key of places on all of the text

_FIGURES = (
    *("bpb", "low", "high", "documents", "bytes", "tokens", "tokens_per_byte"),
    *("token_perplexity", "byte_perplexity", "seconds"),
)


def board_data(gathered: Gathered) -> dict[str, Any]:
    """All that the page needs, safe to show; `version` names the contents."""
    found = gathered.found
    data = {
        "summary": summary(gathered),
        "results": [_result(one) for one in found],
        "groups": [_group(group, found) for group in groups([one.result.card for one in found])],
        "left_out": [
            {"file": one_line(one.file), "reason": one_line(one.reason)}
            for one in gathered.left_out
        ],
    }
    version = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    return {"version": version, **data}


def summary(gathered: Gathered) -> str:
    """The number of results, in a sentence."""
    found = gathered.found
    if not found:
        return "No result yet."
    grounds = {one.result.card.ground.digest for one in found}
    models = {one.result.model.identity for one in found}
    return (
        f"{_number(len(found), 'result')} of {_number(len(models), 'model')} on "
        f"{_number(len(grounds), 'text')}."
    )


def _number(number: int, noun: str) -> str:
    return f"{readable_count(number)} {noun}{'' if number == 1 else 's'}"


def _result(one: Found) -> dict[str, Any]:
    result, model = one.result, one.result.model
    return {
        "id": one.identity,
        "file": one_line(one.file),
        "name": one_line(model.name) or "(no name)",
        "kind": one_line(model.kind, most=24) or "(no kind)",
        "params": model.num_params,
        "size": model.size_bytes,
        "train_tokens": model.train_tokens,
        "dtype": None if model.dtype is None else one_line(model.dtype),
        "identity": one_line(model.identity),
        "card": result.card.hash,
        "is_paired": result.documents is not None,
        "windows": windows_in_words(result.card),
        "overall": _row(result.overall),
        "domains": {domain_name(row.name): _row(row) for row in result.domains},
        "weighted": None if result.weighted is None else result.weighted.bpb,
        "overlap": _overlap(result),
        "seconds": result.seconds if math.isfinite(result.seconds) else None,
        "detail": showable(
            {
                "card": config.to_dict(result.card),
                "about": {"tokenizer": model.tokenizer, **model.about},
                "contamination": result.contamination,
                "versions": result.versions,
                "settings": result.settings,
            }
        ),
    }


def _row(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _FIGURES}


def _overlap(result: Result) -> float | None:
    share = (result.contamination or {}).get("share")
    return share if isinstance(share, int | float) and math.isfinite(share) else None


def _group(group: Group, found: Sequence[Found]) -> dict[str, Any]:
    members = [found[k] for k in group.members]
    results = [one.result for one in members]
    places_of, from_best = {}, {}
    for name, standing in standings(results).items():
        bits = [_bits(result, name) for result in results]
        key = OVERALL if name is None else domain_name(name)
        there = [k for k, value in enumerate(bits) if value is not None]
        best = min(there, key=lambda k: (bits[k], members[k].identity), default=0)
        ranks = zip(there, places(standing, there), strict=True)
        places_of[key] = {members[k].identity: place for k, place in ranks}
        from_best[key] = {
            members[k].identity: [float(part[k, best]) for part in standing[:3]]
            for k in there
            if k != best and not np.isnan(standing.p[k, best])
        }
    return {
        "id": group.card.hash,
        "label": _label(group.card),
        "about": _about(group.card),
        "results": [one.identity for one in members],
        "domains": [key for key in places_of if key != OVERALL],
        "places": places_of,
        "from_best": from_best,
    }


def _bits(result: Result, domain: str | None) -> float | None:
    rows = (result.overall,) if domain is None else result.domains
    return next((row.bpb for row in rows if domain in (None, row.name)), None)


def windows_in_words(card: Card) -> str:
    """How much a model saw at once."""
    if card.window is not None:
        return str(card.window)
    return "none: it saw each " + ("document whole" if card.scope == "document" else "domain whole")


def _label(card: Card) -> str:
    ground = card.ground
    where = ", ".join(one_line(name) for name in (ground.corpus, ground.split) if name)
    if card.window is None:
        how = "no windows" if card.scope == "document" else "domains compressed whole"
    else:
        how = f"context {card.window.context:,}, stride {card.window.stride:,}"
    pseudo = ", pseudo-likelihood" if card.likelihood == "pseudo" else ""
    return f"{where} · {how}{pseudo} · {card.hash}"


def _about(card: Card) -> list[tuple[str, str]]:
    ground = card.ground
    likelihood = {
        "pseudo": "pseudo-likelihood: each token is predicted from both sides; not comparable with "
        "causal models",
        "causal": "causal; compressors by output size",
        "compressed": "the output size of a compressor",
    }
    return [
        ("Text", ", ".join(one_line(name) for name in (ground.corpus, ground.split) if name)),
        ("Documents", readable_count(ground.documents)),
        ("Size", readable_size(ground.bytes)),
        ("Windows", windows_in_words(card)),
        ("Likelihood", likelihood[card.likelihood]),
        ("Card", card.hash),
    ]


def showable(value: Any) -> Any:
    """JSON without control characters in texts and without non-finite numbers."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {shown(str(key)): showable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [showable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


@dataclass(frozen=True)
class Group:
    """A ranking: the card that names it, and which results it holds."""

    card: Card
    members: tuple[int, ...]


def groups(cards: Sequence[Card]) -> list[Group]:
    """Rankings of results by their cards, larger ones first; each result is in at least one."""
    # With windows first: a ranking without windows is the rest.
    order = sorted(range(len(cards)), key=lambda k: (cards[k].window is None, cards[k].hash))
    found: list[Group] = []
    placed: set[int] = set()
    for k in order:
        if k in placed:
            continue
        card = cards[k]
        members = tuple(n for n, other in enumerate(cards) if comparable(card, other) is None)
        found.append(Group(card, members))
        placed.update(members)
    return sorted(found, key=lambda group: (-len(group.members), group.card.hash))
