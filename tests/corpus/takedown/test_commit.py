from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.killed import killed_at, killed_when, moments

from barrow.archive.catalog import ShardEntry
from barrow.corpus import build
from barrow.corpus.takedown.commit import (
    PLAN,
    STAGING,
    ArchivePlan,
    Plan,
    complete_before_build,
    decide,
)
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.verify import verify_corpus
from barrow.errors import UnsafeName

RULES = Rules(licences=("CC-BY-4.0",))


def check_kills(made: Any, tmp_path: Path, steps: Iterable[int] | None = None) -> None:
    """Killed before any change of the disk: as before, or a second run completes it."""
    pristine = made.make_corpus(tmp_path)
    before = made.digests(pristine)
    done = tmp_path / "done"
    shutil.copytree(pristine, done)
    if steps is None:
        steps = moments(lambda: made.remove(done, RULES))
    else:
        made.remove(done, RULES)
    after = made.digests(done)
    decided = 0
    for step in steps:
        corpus = tmp_path / f"killed{step}"
        shutil.copytree(pristine, corpus)
        if not killed_at(step, lambda c=corpus: made.remove(c, RULES)):
            break
        found = made.digests(corpus)
        reasons = {problem.reason for problem in verify_corpus(corpus).problems}
        if (corpus / STAGING / "plan.json").exists():
            decided += 1
            assert "interrupted-takedown" in reasons
        elif found != after:
            left = {k: v for k, v in found.items() if not k.startswith(STAGING)}
            assert left == before, "nothing happened"
            assert reasons <= {"interrupted-takedown"}
        # The next one completes it, whoever comes, even if it is killed as well.
        killed_at(max(1, step // 2), lambda c=corpus: complete_before_build(c))
        complete_before_build(corpus)
        if made.digests(corpus) == before:
            made.remove(corpus, RULES)
        assert made.digests(corpus) == after, step
        assert not (corpus / ".work" / "tasks").exists()
        assert verify_corpus(corpus).problems == []
        shutil.rmtree(corpus)
    assert decided, "some were killed after the plan was written"


def test_killed_before_each_kind_of_change(made: Any, tmp_path: Path) -> None:
    check_kills(made, tmp_path)


@pytest.mark.soak
def test_killed_at_every_moment(made: Any, tmp_path: Path) -> None:
    check_kills(made, tmp_path, itertools.count(1))


def test_a_build_completes_it(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    victims = [
        d
        for f in made.documents(corpus).values()
        for d in f
        if d.meta.get("licence") == "CC-BY-4.0"
    ]
    plan = corpus / STAGING / PLAN
    assert killed_when(lambda _: plan.exists(), lambda: made.remove(corpus, RULES))
    build(made.recipe(), root=tmp_path / "raw", out=corpus, engine=made.INLINE)
    assert len(victims) == 10
    assert (
        made.files_with(
            corpus, [v.text[12:].encode() for v in victims if v.meta["title"] != "letter 3"]
        )
        == []
    )
    assert verify_corpus(corpus).problems == []


@pytest.mark.parametrize(
    ("folder", "removed", "shard"),
    [
        ("../victim", "00000-0.jsonl.zst", "00000-1.jsonl.zst"),
        ("/victim", "00000-0.jsonl.zst", "00000-1.jsonl.zst"),
        ("link", "00000-0.jsonl.zst", "00000-1.jsonl.zst"),
        ("", "../victim/00000-0.jsonl.zst", "00000-1.jsonl.zst"),
        ("", "/victim/00000-0.jsonl.zst", "00000-1.jsonl.zst"),
        ("", "link/00000-0.jsonl.zst", "00000-1.jsonl.zst"),
        ("", "00000-0.jsonl.zst", "../victim/00000-0.jsonl.zst"),
        ("validation", "00000-0.jsonl.zst", "00000-1.jsonl.zst"),
    ],
)
def test_a_plan_of_somebody_else_changes_nothing_outside(
    tmp_path: Path, folder: str, removed: str, shard: str
) -> None:
    """PILE-5: a corpus that came with a plan once deleted and overwrote files beside it."""
    victim, corpus = tmp_path / "victim", tmp_path / "corpus"
    for place in (victim, victim / "index", corpus / "validation", corpus / STAGING / "validation"):
        place.mkdir(parents=True)
    for name in ("00000-0.jsonl.zst", "archive.json", "index/00000-0.safetensors"):
        (victim / name).write_text("precious")
    (corpus / "link").symlink_to(victim)
    (corpus / "validation" / "index").symlink_to(victim / "index")
    (corpus / STAGING / "validation" / "index").symlink_to(victim / "index")
    entry = ShardEntry(shard, 1, 1, 1, "0", "0")
    archives = (ArchivePlan(folder, (entry,), (removed,)),)
    plan = Plan(archives, "{}", "{}", "{}", 0)
    with pytest.raises(UnsafeName, match="leads out of the folder"):
        decide(corpus, plan)
    (corpus / STAGING / PLAN).write_bytes(msgspec.json.encode(plan))
    with pytest.raises(UnsafeName, match=r"plan.json is not a plan of this corpus .* nothing was"):
        complete_before_build(corpus)
    found = {path.name: path.read_text() for path in victim.rglob("*") if path.is_file()}
    assert found == dict.fromkeys(
        ("00000-0.jsonl.zst", "archive.json", "00000-0.safetensors"), "precious"
    )
    assert not (corpus / "archive.json").exists()


@pytest.mark.parametrize("name", [".work", "takedowns.jsonl", "takedown.json", "manifest.json"])
def test_links_in_a_corpus_of_somebody_else_lead_nowhere(tmp_path: Path, name: str) -> None:
    victim, corpus = tmp_path / "victim", tmp_path / "corpus"
    (victim / "tasks").mkdir(parents=True)
    (corpus / STAGING).mkdir(parents=True)
    (corpus / name).symlink_to(victim)
    (corpus / STAGING / PLAN).write_bytes(msgspec.json.encode(Plan((), "{}", "{}", "{}", 0)))
    with pytest.raises(UnsafeName, match="leads out of the folder"):
        complete_before_build(corpus)
    assert (victim / "tasks").is_dir()
