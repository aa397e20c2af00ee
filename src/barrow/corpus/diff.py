"""Comparison of two builds."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import barrow.archive
from barrow.config import parse_json
from barrow.corpus.manifest import MANIFEST, rejects_by_domain
from barrow.errors import NotFound


def compare_builds(before: Path, after: Path) -> dict[str, Any]:
    """Settings that differ, and by domain documents kept, added, removed and changes in rejects.

    Documents are compared by id, which is made of their text and their source. The ids of both
    corpora are held in memory, hashed: 8 bytes a document and some.
    """
    recipes = [_flat(_read(folder / "recipe.json")) for folder in (before, after)]
    changes = [
        f"{key}: {recipes[0].get(key)!r} → {recipes[1].get(key)!r}"
        for key in sorted(recipes[0].keys() | recipes[1].keys())
        if recipes[0].get(key) != recipes[1].get(key)
    ]
    ids = [_ids(folder) for folder in (before, after)]
    rejects = [_rejects(folder) for folder in (before, after)]
    domains = {}
    for name in sorted({*ids[0], *ids[1], *rejects[0], *rejects[1]}):
        old, new = ids[0].get(name, Counter()), ids[1].get(name, Counter())
        kept = sum((old & new).values())
        reasons = sorted({*rejects[0].get(name, {}), *rejects[1].get(name, {})})
        domains[name] = {
            "kept": kept,
            "added": sum(new.values()) - kept,
            "removed": sum(old.values()) - kept,
            "rejects": {
                reason: rejects[1].get(name, {}).get(reason, 0)
                - rejects[0].get(name, {}).get(reason, 0)
                for reason in reasons
            },
        }
    return {"recipe": changes, "domains": domains}


def _read(path: Path) -> Any:
    if not path.exists():
        raise NotFound(f"{path} does not exist; was {path.parent} made by barrow build?")
    return parse_json(path.read_bytes(), path)


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        return {prefix: value}
    return {
        key: inner
        for name, part in value.items()
        for key, inner in _flat(part, f"{prefix}.{name}" if prefix else name).items()
    }


def _ids(folder: Path) -> dict[str, Counter[int]]:
    found: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for block in barrow.archive.open(folder).blocks():
        for meta in block.metas():
            content, _, place = str(meta["id"]).partition("-")
            found[meta["pile_set_name"]][int(content, 16) ^ int(place or "0", 16)] += 1
    return dict(found)


def _rejects(folder: Path) -> dict[str, dict[str, int]]:
    return rejects_by_domain(_read(folder / MANIFEST))
