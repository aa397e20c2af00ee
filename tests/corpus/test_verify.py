from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.corpus.takedown_corpora import sentence

import barrow
from barrow.config import to_dict
from barrow.corpus.build.facts import load_facts, save_facts
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.takedown.texts import TextRule, words_scheme
from barrow.corpus.trace import find_document
from barrow.corpus.verify import verify_corpus


def index_file(corpus: Path) -> Path:
    return sorted((corpus / "index").iterdir())[0]


def swap_rows(corpus: Path) -> None:
    facts = load_facts(index_file(corpus))
    for array in (facts.identity, facts.content):
        array[[0, 1]] = array[[1, 0]]
    save_facts(facts, index_file(corpus))


def other_content(corpus: Path) -> None:
    facts = load_facts(index_file(corpus))
    facts.content[0, 1] += 1
    save_facts(facts, index_file(corpus))


def other_size(corpus: Path) -> None:
    facts = load_facts(index_file(corpus))
    facts.size[0] += 1
    save_facts(facts, index_file(corpus))


def other_band(corpus: Path) -> None:
    facts = load_facts(index_file(corpus))
    facts.bands[1, 13] += 1
    save_facts(facts, index_file(corpus))


def edit_manifest(change: Callable[[Any], None]) -> Callable[[Path], None]:
    def edit(corpus: Path) -> None:
        told = json.loads((corpus / "manifest.json").read_text())
        change(told)
        (corpus / "manifest.json").write_text(json.dumps(told))

    return edit


def damage(corpus: Path) -> None:
    shard = sorted(corpus.glob("test/0*.zst"))[0]
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)


def flip_recipe(corpus: Path) -> None:
    path = corpus / "recipe.json"
    data = path.read_bytes()
    at = data.index(b'"seed"') - 1
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def count_more(told: Any) -> None:
    told["splits"]["train"]["domains"]["Letters"]["documents"] += 1


def another_hash(told: Any) -> None:
    told["splits"]["train"]["shards"][0]["sha256"] = "0" * 64


def more_rejects(told: Any) -> None:
    told["reading"]["notes"]["rejects"]["bad-json"] = 7


def forget_split(told: Any) -> None:
    del told["splits"]["test"]


def forge(corpus: Path) -> None:
    path = corpus / "takedowns.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text(first.replace("asked", "willed") + "".join(rest))


def list_text(corpus: Path, text: str) -> None:
    """As if a text was still there: it alone is put on the list."""
    told = json.loads((corpus / "takedown.json").read_text())
    told["scheme"] = words_scheme()
    told["rules"]["texts"].append(to_dict(TextRule.of(text)))
    (corpus / "takedown.json").write_text(json.dumps(told))


def list_a_text(corpus: Path) -> None:
    list_text(corpus, sentence("note 7").upper())


def list_a_text_of_an_excerpt(corpus: Path) -> None:
    """The reject has its beginning, no more."""
    list_text(corpus, f"{sentence('bad')} {sentence('and what was cut off')}")


def bring_back(corpus: Path) -> None:
    """As if a document was still there: another is put on the list."""
    told = json.loads((corpus / "takedown.json").read_text())
    told["rules"]["domains"].append("Letters")
    (corpus / "takedown.json").write_text(json.dumps(told))


BROKEN: list[tuple[Callable[[Path], Any], str]] = [
    (damage, "checksum"),
    (swap_rows, "bad-facts"),
    (other_content, "bad-facts"),
    (other_size, "bad-facts"),
    (other_band, "bad-facts"),
    (lambda corpus: index_file(corpus).unlink(), "bad-facts"),
    (lambda corpus: index_file(corpus).write_bytes(b"nothing"), "bad-facts"),
    (
        lambda corpus: shutil.copy(index_file(corpus), corpus / "index" / "9.safetensors"),
        "unexpected-file",
    ),
    (edit_manifest(count_more), "bad-manifest"),
    (edit_manifest(another_hash), "bad-manifest"),
    (edit_manifest(more_rejects), "bad-manifest"),
    (edit_manifest(forget_split), "bad-manifest"),
    (lambda corpus: (corpus / "manifest.json").write_text("[]"), "bad-manifest"),
    (flip_recipe, "bad-recipe"),
    (lambda corpus: (corpus / "recipe.json").unlink(), "bad-recipe"),
    (lambda corpus: (corpus / "copy.txt").write_text("x"), "unexpected-file"),
    (lambda corpus: (corpus / "rejects" / ".0.writing").write_text("x"), "unexpected-file"),
    (lambda corpus: (corpus / "rejects" / "index").mkdir(), "unexpected-file"),
    (lambda corpus: (corpus / ".takedown").mkdir(), "interrupted-takedown"),
    (forge, "bad-records"),
    (lambda corpus: (corpus / "takedowns.jsonl").unlink(), "bad-records"),
    (lambda corpus: (corpus / "takedown.json").unlink(), "bad-records"),
    (lambda corpus: (corpus / "takedown.json").write_text("{}"), "bad-records"),
    (bring_back, "taken-down"),
    (list_a_text, "taken-down"),
    (list_a_text_of_an_excerpt, "taken-down"),
]


@pytest.fixture(scope="module")
def corpus(made: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus from which something was taken down, twice."""
    corpus: Path = made.make_corpus(tmp_path_factory.mktemp("verify"), dedup=True)
    assert verify_corpus(corpus, deep=True).problems == []
    for title in ("letter 4", "note 4"):
        (document,) = made.titled(corpus, title)
        made.remove(corpus, Rules(ids=(document.meta["id"],)))
    result = verify_corpus(corpus, deep=True)
    assert result.problems == []
    assert result.num_documents == sum(map(len, made.documents(corpus).values())) + 3
    return corpus


@pytest.mark.parametrize(("break_it", "reason"), BROKEN)
def test_whatever_is_wrong_is_found(
    corpus: Path, tmp_path: Path, break_it: Callable[[Path], Any], reason: str
) -> None:
    """PILE-11: checksums for every shard; `verify` proves the manifest, the index, takedowns."""
    broken = tmp_path / "broken"
    shutil.copytree(corpus, broken)
    break_it(broken)
    assert reason in {problem.reason for problem in verify_corpus(broken).problems}


def test_progress_adds_up(corpus: Path) -> None:
    done: list[int] = []
    verify_corpus(corpus, on_progress=done.append)
    assert sum(done) > 0


@pytest.fixture(scope="module")
def chained(made: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with clusters of two documents that stay and one that was removed."""
    folder: Path = tmp_path_factory.mktemp("clusters")
    made.write_raw(
        folder / "raw", {"letters": made.chains(), "notes": made.usual_records()["notes"]}
    )
    corpus: Path = made.make_corpus(folder, dedup=True)
    assert verify_corpus(corpus).problems == []
    return corpus


def clusters(corpus: Path) -> dict[str, tuple[str, int]]:
    """By title, the archive and the cluster."""
    found = {}
    for name in ("", "validation", "test"):
        documents = barrow.archive.open(corpus / name)
        indexes = sorted((corpus / name / "index").iterdir())
        names = np.concatenate([load_facts(index).cluster for index in indexes])
        for document, cluster in zip(documents, names.tolist(), strict=True):
            found[document.meta["title"]] = (name, cluster)
    return found


def test_near_duplicates_share_a_cluster(chained: Path, made: Any) -> None:
    """PILE-12: the index has the clusters; a cluster is in one split; `trace` shows it."""
    found = clusters(chained)
    assert {name for name, (_, cluster) in found.items() if cluster} == {
        f"chain {n}, {place}" for n in range(6) for place in (0, 2)
    }
    for n in range(6):
        (best,) = made.titled(chained, f"chain {n}, 0")
        assert found[f"chain {n}, 0"] == found[f"chain {n}, 2"]
        assert f"{found[f'chain {n}, 0'][1]:016x}" == best.meta["id"][:16]
        (other,) = made.titled(chained, f"chain {n}, 2")
        assert find_document(str(chained), other.meta["id"]).cluster == best.meta["id"][:16]
    (alone,) = made.titled(chained, "note 3")
    assert find_document(str(chained), alone.meta["id"]).cluster == ""
    assert len({split for split, cluster in found.values() if cluster}) > 1


def no_cluster(clusters: Any, rows: Any) -> None:
    clusters[rows] = 0


def unknown_name(clusters: Any, rows: Any) -> None:
    clusters[rows] += 1


def in_a_row(clusters: Any, rows: Any) -> None:
    clusters[rows] = np.roll(clusters[rows], 1)


@pytest.mark.parametrize("change", [no_cluster, unknown_name, in_a_row])
def test_wrong_clusters_are_found(
    chained: Path, tmp_path: Path, change: Callable[[Any, Any], None]
) -> None:
    """PILE-11."""
    shutil.copytree(chained, tmp_path / "broken")
    for index in (tmp_path / "broken" / "index").iterdir():
        facts = load_facts(index)
        change(facts.cluster, np.flatnonzero(facts.cluster))
        save_facts(facts, index)
    found = verify_corpus(tmp_path / "broken").problems
    assert {problem.reason for problem in found} == {"bad-facts"}


def test_a_cluster_in_two_splits_is_found(chained: Path, tmp_path: Path) -> None:
    """PILE-11, PILE-12: a hold-out has nothing that is near to what was trained on."""
    broken = tmp_path / "broken"
    shutil.copytree(chained, broken)
    name = next(cluster for split, cluster in clusters(broken).values() if cluster and not split)
    index = index_file(broken / "test")
    facts = load_facts(index)
    facts.cluster[0] = name
    save_facts(facts, index)
    causes = [str(problem) for problem in verify_corpus(broken).problems]
    assert any(f"{name:016x} is in several splits" in cause for cause in causes)


def test_clusters_go_with_what_is_taken_down(chained: Path, tmp_path: Path, made: Any) -> None:
    """PILE-5: the index is rewritten with its shard."""
    corpus = tmp_path / "corpus"
    shutil.copytree(chained, corpus)
    before = clusters(corpus)
    (best,) = made.titled(corpus, "chain 1, 0")
    made.remove(corpus, Rules(ids=(best.meta["id"],)))
    del before["chain 1, 0"]
    assert clusters(corpus) == before
    assert verify_corpus(corpus).problems == []
