"""Takedown of documents from a corpus (PILE-5, BEYOND-3)."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import very_few

import barrow
from barrow.archive.document import name_of
from barrow.corpus import build
from barrow.corpus.build.facts import load_facts
from barrow.corpus.filters.length import Length
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.takedown.texts import TextRule
from barrow.corpus.verify import verify_corpus
from barrow.errors import NotFound


def shard_names(corpus: Path) -> dict[str, list[str]]:
    return {
        name: [entry.name for entry in barrow.archive.read_catalog(str(corpus / name)).shards]
        for name in ("", "validation", "test", "rejects")
    }


def test_one_document_goes_and_nothing_else_changes(made: Any, tmp_path: Path) -> None:
    """PILE-5: a document can be taken down afterwards; only its shard is rewritten."""
    corpus = made.make_corpus(tmp_path)
    before, names, bytes_before = made.documents(corpus), shard_names(corpus), made.digests(corpus)
    (victim,) = made.titled(corpus, "letter 7")
    text = victim.text[10:].encode()
    assert any(".work/tasks" in name for name in made.files_with(corpus, [text]))
    record = made.remove(corpus, Rules(ids=(victim.meta["id"],)))
    assert made.files_with(corpus, [text]) == []
    after = made.documents(corpus)
    assert after == {k: [d for d in found if d != victim] for k, found in before.items()}
    assert verify_corpus(corpus, deep=True).problems == []
    changed = [
        (old, new)
        for name, old_names in names.items()
        for old, new in zip(old_names, shard_names(corpus)[name], strict=True)
        if old != new
    ]
    assert len(changed) == 1
    assert changed[0][0].partition("-")[0] == changed[0][1].partition("-")[0]
    bytes_after = made.digests(corpus)
    same = set(bytes_after) & set(bytes_before)
    unlike = {name for name in same if bytes_before[name] != bytes_after[name]}
    splits = {"archive.json", "validation/archive.json", "test/archive.json"}
    assert unlike - splits == {"manifest.json", "datasheet.md", "report.html"}
    assert len(unlike & splits) == 1
    assert record["ids"] == [victim.meta["id"]]
    assert sum(n for split in record["documents"].values() for n in split.values()) == 1


def test_the_manifest_and_the_record(made: Any, tmp_path: Path) -> None:
    import hashlib

    corpus = made.make_corpus(tmp_path)
    old = (corpus / "manifest.json").read_bytes()
    made.remove(corpus, Rules(licences=("CC-BY-4.0",)))
    new = (corpus / "manifest.json").read_bytes()
    told = json.loads(new)
    assert told["version"] == 2
    assert told["taken_down"] == {"documents": 10, "rejects": 0}
    licences = [p["domains"].get("Letters", {}).get("licences") for p in told["splits"].values()]
    assert all(not found or set(found) == {"CC0-1.0"} for found in licences)
    (line,) = (corpus / "takedowns.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["before"] == {"version": 1, "sha256": hashlib.sha256(old).hexdigest()}
    assert record["after"] == {"version": 2, "sha256": hashlib.sha256(new).hexdigest()}
    assert (record["by"], record["reason"], record["date"]) == ("tester", "asked", "2024-05-06")
    assert record["rules"] == {"licences": ["CC-BY-4.0"]}
    assert len(record["ids"]) == 10
    made.remove(corpus, Rules(domains=("Notes",)))
    assert (corpus / "takedowns.jsonl").read_text().splitlines()[0] == line
    assert json.loads((corpus / "manifest.json").read_text())["version"] == 3
    assert verify_corpus(corpus).ok


def test_the_same_takedown_gives_the_same_bytes(made: Any, tmp_path: Path) -> None:
    one, two = made.make_corpus(tmp_path, name="one"), made.make_corpus(tmp_path, name="two")
    for corpus in (one, two):
        made.remove(corpus, Rules(licences=("CC-BY-4.0",)))
    assert made.digests(one) == made.digests(two)


def test_index_stays_aligned(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    made.remove(corpus, Rules(urls=("example.org/a",)))
    for name in made.ARCHIVES:
        for entry in barrow.archive.read_catalog(str(corpus / name)).shards:
            facts = load_facts(
                corpus / name / "index" / entry.name.replace("jsonl.zst", "safetensors")
            )
            ids = [d.meta["id"] for d in barrow.archive.open(corpus / name / entry.name)]
            assert [name_of(row) for row in facts.identity] == ids
    assert not any(
        "/a/" in d.meta.get("url", "") for f in made.documents(corpus).values() for d in f
    )
    assert len(made.titled(corpus, "letter 2")) == 1, "…/ab is not below …/a"


def test_epochs_repeat_documents_and_all_copies_go(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path, epochs=3.0)
    train = next(d for d in made.documents(corpus)[""] if d.meta["title"].startswith("letter"))
    assert len(made.titled(corpus, train.meta["title"])) == 3
    record = made.remove(corpus, Rules(ids=(train.meta["id"],)))
    assert record["documents"] == {"train": {"Letters": 3}}
    assert record["ids"] == [train.meta["id"]]
    assert made.titled(corpus, train.meta["title"]) == []
    assert verify_corpus(corpus).ok


def test_copies_stay_unless_asked_for(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    (victim,) = made.titled(corpus, "letter 3")
    made.remove(corpus, Rules(ids=(victim.meta["id"],)))
    assert len(made.titled(corpus, "again") + made.titled(corpus, "the same")) == 2
    other = made.make_corpus(tmp_path, name="other")
    made.remove(other, Rules(ids=(victim.meta["id"],)), and_copies=True)
    assert made.titled(other, "again") + made.titled(other, "the same") == []
    assert made.files_with(other, [victim.text[12:].encode()]) == []
    assert sum(len(found) for found in made.documents(other).values()) == 47
    # Neither comes back, nor does the same text from another file.
    extra = [{"text": victim.text, "meta": {"title": "once more"}}]
    (tmp_path / "raw" / "notes" / "more.jsonl").write_text(json.dumps(extra[0]) + "\n")
    build(made.recipe(), root=tmp_path / "raw", out=other, engine=made.INLINE)
    assert made.files_with(other, [victim.text[12:].encode()]) == []
    assert verify_corpus(other).problems == []


def test_excerpts_of_rejected_copies_go(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path, dedup=True)
    kept = [t for t in ("letter 3", "again", "the same") for _ in made.titled(corpus, t)]
    assert len(kept) == 1, "deduplication leaves one"
    (victim,) = made.titled(corpus, kept[0])
    tail = made.sentence("letter 3").split()[7].encode()
    assert "rejects" in {name.split("/")[0] for name in made.files_with(corpus, [tail])}
    made.remove(corpus, Rules(ids=(victim.meta["id"],)))
    assert made.files_with(corpus, [tail]) == []
    assert verify_corpus(corpus).problems == []


def test_excerpts_of_a_text_go(made: Any, tmp_path: Path) -> None:
    """A reject keeps 2,000 characters of a text that has more: some n-grams, far from all."""
    text = made.sentence("a long one", 400)
    records = made.usual_records()
    records["notes"].append({"text": f"{text} and so on", "meta": {"title": "long"}})
    root = made.write_raw(tmp_path / "raw", records)
    recipe = made.recipe()
    domains = {
        name: replace(domain, filters=(Length(max_bytes=3_000),))
        for name, domain in recipe.domains.items()
    }
    corpus = tmp_path / "corpus"
    build(replace(recipe, domains=domains), root=root, out=corpus, engine=made.INLINE)
    beginning = text[:60].encode()
    assert "rejects" in {name.split("/")[0] for name in made.files_with(corpus, [beginning])}
    made.remove(corpus, Rules(texts=(TextRule.of(text),)))
    assert made.files_with(corpus, [beginning]) == []
    assert verify_corpus(corpus).problems == []


def test_what_killed_builds_left_goes(made: Any, tmp_path: Path) -> None:
    """Also in folders of which no shard changes: it may be a copy of what was there before."""
    corpus = made.make_corpus(tmp_path)
    (victim,) = made.titled(corpus, "letter 8")
    places = [corpus, corpus / "index", corpus / "rejects", corpus / "test", corpus / "test/index"]
    for place in (*places, corpus / "validation"):
        (place / ".0001.jsonl.zst.77.abcd.writing").write_text(victim.text)
    made.remove(corpus, Rules(ids=(victim.meta["id"],)))
    assert made.files_with(corpus, [victim.text.encode()]) == []
    assert verify_corpus(corpus).problems == []


def test_a_build_in_the_same_folder_honours_it(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    (victim,) = made.titled(corpus, "letter 7")
    before = made.documents(corpus)
    words = victim.text.split()
    rules = [
        Rules(ids=(victim.meta["id"],)),
        Rules(urls=("example.org/ab/4*", "http://example.org/ab/8")),
        Rules(licences=("CC-BY-4.0",)),
        Rules(texts=(TextRule.of(" ".join(words[8:]).upper().replace(" ", "\n-")),)),
        Rules(texts=(TextRule.of(made.titled(corpus, "note 9")[0].text),)),
    ]
    for rule in rules[:3]:
        made.remove(corpus, rule)
    made.remove(corpus, rules[4])
    gone = {"letter 7", "letter 4", "letter 8", "note 9", *(f"letter {n}" for n in range(0, 30, 3))}
    texts = [d.text for found in before.values() for d in found if d.meta["title"] in gone]
    assert len(texts) == 14
    left = made.documents(corpus)
    assert left == {k: [d for d in v if d.text not in texts] for k, v in before.items()} | {
        k: [d for d in v if d.meta["title"] not in gone] for k, v in before.items()
    }
    told = build(made.recipe(), root=tmp_path / "raw", out=corpus, engine=made.INLINE)
    unique = [text[12:].encode() for text in texts if "letter 3 " not in text]
    assert made.files_with(corpus, unique) == [], "not even in the folder of finished work"
    assert told["version"] == 5
    assert told["reading"]["letters"]["rejects"] == {"taken-down": 13}
    assert told["reading"]["notes"]["rejects"]["taken-down"] == 1
    assert verify_corpus(corpus).problems == []
    traces = [
        d for d in barrow.archive.open(corpus / "rejects") if d.meta["reason"] == "taken-down"
    ]
    assert len(traces) == 14
    assert all(d.text == "" for d in traces)
    with pytest.raises(NotFound):
        made.remove(corpus, rules[0])
    rebuilt = {d.meta["id"] for found in made.documents(corpus).values() for d in found}
    assert rebuilt == {d.meta["id"] for found in left.values() for d in found}


def test_a_better_reader_does_not_bring_it_back(made: Any, tmp_path: Path) -> None:
    """Another text from the same place has another id, and stays out all the same."""
    corpus = made.make_corpus(tmp_path)
    (victim,) = made.titled(corpus, "note 2")
    made.remove(corpus, Rules(ids=(victim.meta["id"],)))
    file = tmp_path / "raw" / "notes" / "all.jsonl"
    file.write_text(file.read_text().replace("note 2 begins.", "Note 2 (begins)."))
    build(made.recipe(), root=tmp_path / "raw", out=corpus, engine=made.INLINE)
    assert made.titled(corpus, "note 2") == []
    assert len(made.titled(corpus, "note 3")) == 1


def test_a_text_stays_out_wherever_it_comes_from(made: Any, tmp_path: Path) -> None:
    """A document, or what a reader cannot read, that appears later with the text in it."""
    corpus = made.make_corpus(tmp_path)
    made.remove(corpus, Rules(texts=(TextRule.of(made.sentence("note 9")),)))
    new = made.sentence("note 9").upper().replace(" ", "; ")
    row = json.dumps({"text": f"Quoted: {new}!", "meta": {"title": "new"}})
    (tmp_path / "raw" / "letters" / "new.jsonl").write_text(row + '\n{"text": broken ' + new + "\n")
    told = build(made.recipe(), root=tmp_path / "raw", out=corpus, engine=made.INLINE)
    assert told["reading"]["letters"]["rejects"] == {"taken-down": 2}
    assert made.titled(corpus, "new") == []
    assert made.files_with(corpus, [new.encode()[:60]]) == []
    assert verify_corpus(corpus).problems == []


def test_everything(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    made.remove(corpus, Rules(domains=("Letters", "Notes")))
    assert [len(found) for found in made.documents(corpus).values()] == [0, 0, 0]
    assert verify_corpus(corpus, deep=True).problems == []
    assert len(barrow.archive.open(corpus / "rejects")) == 0
    assert sorted(p.name for p in (corpus / "index").iterdir()) == []


def test_nothing_found(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    before = made.digests(corpus)
    with pytest.raises(NotFound, match="nothing to take down"):
        made.remove(corpus, Rules(domains=("Books",)))
    assert made.digests(corpus) == before
    assert (corpus / ".work" / "tasks").exists()


def test_a_folder_that_cannot_be_written(made: Any, tmp_path: Path) -> None:
    corpus = made.make_corpus(tmp_path)
    # Whoever runs the tests may write anywhere, if it is root: somebody else has to try.
    with tempfile.TemporaryDirectory() as place:
        moved = Path(place) / "corpus"
        shutil.copytree(corpus, moved)
        before = made.digests(moved)
        for path in (Path(place), moved, *moved.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            with pytest.raises(PermissionError, match="cannot be written; nothing was changed"):
                made.remove(moved, Rules(domains=("Notes",)))
        finally:
            os.seteuid(user)
            for path in (Path(place), moved, *moved.rglob("*")):
                path.chmod(0o755)
        assert made.digests(moved) == before


@very_few
@given(st.integers(0, 2**32))
def test_exactly_the_others_remain(
    made: Any, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Whatever is removed: the others stay in their order, and no byte of it is found."""
    rng = random.Random(seed)
    tmp_path = tmp_path_factory.mktemp("random")
    alphabet = "abcdefghijklmnopqrstuvwxyzäöüß你好 \n\t\"\\'<>0123456789"
    rows = {
        name: [
            {
                "text": f"{name}{n} " + "".join(rng.choices(alphabet, k=rng.randint(25, 5000))),
                "meta": {"title": f"{name} {n}"},
            }
            for n in range(rng.randint(1, 12))
        ]
        for name in ("letters", "notes")
    }
    root = made.write_raw(tmp_path / "raw", rows)
    corpus = tmp_path / "corpus"
    chosen = made.recipe(dedup=rng.random() < 0.5, shard_size=rng.choice([500, 5000, 10**6]))
    build(chosen, root=root, out=corpus, engine=made.INLINE)
    before = made.documents(corpus)
    ids = sorted(d.meta["id"] for found in before.values() for d in found)
    gone = set(rng.sample(ids, rng.randint(1, len(ids))))
    made.remove(corpus, Rules(ids=tuple(gone)))
    assert made.documents(corpus) == {
        name: [d for d in found if d.meta["id"] not in gone] for name, found in before.items()
    }
    removed = [d.text for found in before.values() for d in found if d.meta["id"] in gone]
    pieces = [
        piece
        for text in removed
        for start in range(0, len(text.encode()) - 20, 97)
        if len(piece := text.encode()[start : start + 20]) == 20
    ]
    assert made.files_with(corpus, pieces) == []
    assert verify_corpus(corpus).problems == []
