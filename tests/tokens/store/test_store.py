from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tokens.stores import expected, held, some_documents, write_archive

import barrow
from barrow import Document
from barrow.errors import NotFound, StoreError
from barrow.tokens import TokenStore, load, open_store


def test_it_holds_every_document(store: TokenStore, documents: list[Document]) -> None:
    wanted = expected(documents)
    assert held(store) == wanted
    assert store.domains == tuple(wanted)
    assert store.num_documents == len(documents)
    assert store.num_tokens == sum(len(text) for texts in wanted.values() for text in texts)
    for domain, texts in enumerate(wanted.values()):
        assert store.domain_tokens(domain) == sum(map(len, texts))
    assert (store.begin, store.end, store.vocab_size, store.dtype) == (256, None, 259, np.uint16)
    assert max(len(domain.shards) for domain in store.manifest.domains) > 1


def test_domains_follow_one_another(store: TokenStore) -> None:
    numbers = [store.domain_documents(domain) for domain in range(len(store.domains))]
    assert np.concatenate(numbers).tolist() == list(range(store.num_documents))
    assert all(n.dtype == np.int64 for n in numbers)
    assert [list(store.domain_range(k)) for k in range(len(numbers))] == [
        n.tolist() for n in numbers
    ]
    for domain in range(len(store.domains)):
        starts = store.domain_starts(domain)
        assert starts.dtype == np.int64
        assert (starts[0], starts[-1]) == (0, store.domain_tokens(domain))
        assert len(starts) == len(numbers[domain]) + 1


FLAT = [[*chain(*texts)] for texts in expected(some_documents(300)).values()]


@given(st.data())
def test_any_stretch_of_tokens(first_store: TokenStore, data: st.DataObject) -> None:
    store = first_store
    domain = data.draw(st.integers(0, len(FLAT) - 1))
    start = data.draw(st.integers(0, len(FLAT[domain])))
    stop = data.draw(st.integers(start, len(FLAT[domain])))
    found = store.read(domain, start, stop)
    assert found.dtype == np.uint16
    assert found.tolist() == FLAT[domain][start:stop]
    out = np.full(stop - start, -1, np.int32)
    assert store.read(domain, start, stop, out) is out
    assert out.tolist() == FLAT[domain][start:stop]


def test_within_a_shard_nothing_is_copied(store: TokenStore) -> None:
    assert not store.read(0, 0, 100).flags.owndata
    assert not store.read(0, 0, 100).flags.writeable


def test_stretches_that_are_not_there(store: TokenStore) -> None:
    total = store.domain_tokens(0)
    for start, stop in ((-1, 3), (5, 4), (0, total + 1)):
        with pytest.raises(ValueError, match=rf"of 'B', which has {total:,}"):
            store.read(0, start, stop)
    for domain in (-1, 4):
        for call in (store.domain_tokens, store.domain_starts, store.domain_documents):
            with pytest.raises(ValueError, match=f"domain must be from 0 to 3, got {domain}"):
                call(domain)
        with pytest.raises(ValueError, match=f"domain must be from 0 to 3, got {domain}"):
            store.read(domain, 0, 0)
    with pytest.raises(ValueError, match=r"out must have shape \(4,\), got \(5,\)"):
        store.read(0, 0, 4, np.empty(5, np.uint16))


def test_every_document_is_traced_to_the_archive(store: TokenStore, archive: Path) -> None:
    """BEYOND-2: every token can be traced to its document."""
    opened = barrow.archive.open(archive)
    shards = barrow.archive.read_catalog(str(archive)).shards
    seen = set()
    for number in range(store.num_documents):
        entry = store.document(number)
        document = opened[entry.archive_number]
        seen.add(entry.archive_number)
        domain = store.domain_place(entry.domain)
        ids = store.read(domain, entry.start, entry.stop).tolist()
        assert bytes(ids[1:]).decode() == document.text
        assert entry.num_tokens == len(ids)
        assert entry.identity == document.meta.get("id", "")
        assert entry.domain == document.meta.get("pile_set_name", "unknown")
        assert entry.number == number
        assert number in store.domain_range(domain)
        assert entry.source in {shard.name for shard in shards}
        if entry.identity:
            assert store.find(entry.identity) == number
    assert seen == set(range(len(opened)))
    entry = store.document(3)
    ids = barrow.tokens.store.token_file.TokenFile.open(
        store.folder / entry.shard, store.dtype
    ).mapped()
    stretch = ids["ids"][entry.shard_start : entry.shard_start + entry.num_tokens]
    domain = store.domain_place(entry.domain)
    assert stretch.tolist() == store.read(domain, entry.start, entry.stop).tolist()


def test_documents_that_are_not_there(store: TokenStore) -> None:
    for number in (-1, 300):
        with pytest.raises(ValueError, match=f"document must be from 0 to 299, got {number}"):
            store.document(number)
    with pytest.raises(NotFound, match="no document of .* has the id '0{16}-00000001'"):
        store.find("0" * 16 + "-00000001")
    for bad in ("", "xyz", "0" * 25):
        with pytest.raises(ValueError, match="a document id must be 16 and 8 hexadecimal digits"):
            store.find(bad)


def test_a_document_that_is_there_several_times(
    make: Callable[..., TokenStore], tmp_path: Path
) -> None:
    meta = {"id": "00000000000000ff-00000001", "pile_set_name": "A"}
    same = Document("again", meta)
    archive = write_archive(tmp_path / "a", [same, Document("other", {}), same])
    store = make(archive)
    assert store.find_all(meta["id"]).tolist() == [0, 1]
    assert store.find(meta["id"]) == 0
    assert [store.document(k).archive_number for k in (0, 1)] == [0, 2]


def test_names_of_domains(store: TokenStore) -> None:
    assert store.domain_place("Pile-CC") == 1
    with pytest.raises(ValueError, match="no domain 'Pile CC'; did you mean 'Pile-CC'"):
        store.domain_place("Pile CC")
    with pytest.raises(ValueError, match="there are B, Pile-CC, unknown, Ünï / code"):
        store.domain_place("zzzzzzzz")


def test_a_store_crosses_processes(store: TokenStore) -> None:
    back = pickle.loads(pickle.dumps(store))
    assert held(back) == held(store)
    assert back.identity == store.identity


def test_its_tokenizer_is_beside_it(store: TokenStore) -> None:
    assert load(store.tokenizer_folder).hash == store.tokenizer_hash
    assert "300 documents, 4 domains" in repr(store)


def test_identity_is_that_of_the_content(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path, tmp_path: Path
) -> None:
    assert make(archive, "same").identity == store.identity
    other = write_archive(tmp_path / "b", some_documents(300, seed=1))
    assert make(other, "other").identity != store.identity


def test_a_domain_of_empty_texts(make: Callable[..., TokenStore], tmp_path: Path) -> None:
    documents = [Document("", {"pile_set_name": "E"}), Document("a", {"pile_set_name": "F"})]
    store = make(write_archive(tmp_path / "a", documents))
    assert held(store) == {"E": [[]], "F": [[256, 97]]}
    assert store.read(0, 0, 0).tolist() == []
    assert store.document(0).num_tokens == 0


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a token store"):
        open_store(tmp_path)


@pytest.mark.parametrize("pattern", ["tokens-*", "index-*"])
def test_files_that_are_missing_or_cut_off(store: TokenStore, pattern: str) -> None:
    path = sorted(store.folder.glob(pattern))[0]
    data = path.read_bytes()
    path.write_bytes(data[:-10])
    message = f"{path.name}: expected {len(data):,} bytes, found {len(data) - 10:,}"
    with pytest.raises(StoreError, match=message) as caught:
        open_store(store.folder)
    assert caught.value.reason == "wrong-size"
    path.unlink()
    with pytest.raises(StoreError, match=f"expected a file of {len(data):,} bytes, found none"):
        open_store(store.folder)


def test_files_of_another_store(store: TokenStore) -> None:
    first, second = sorted(store.folder.glob("tokens-*"))[:2]
    sizes = first.stat().st_size, second.stat().st_size
    text = (store.folder / "store.json").read_text()
    (store.folder / "store.json").write_text(text.replace(f": {sizes[0]},", f": {sizes[1]},"))
    first.write_bytes(second.read_bytes())
    with pytest.raises(StoreError, match=r"expected \d+ documents and [\d,]+ tokens, found"):
        open_store(store.folder).read(0, 0, 1)
    index, other = sorted(store.folder.glob("index-*"))[:2]
    sizes = index.stat().st_size, other.stat().st_size
    text = (store.folder / "store.json").read_text()
    (store.folder / "store.json").write_text(text.replace(f": {sizes[0]},", f": {sizes[1]},"))
    index.write_bytes(other.read_bytes())
    with pytest.raises(StoreError, match=r"expected \d+ offsets up to [\d,]+, found"):
        open_store(store.folder).domain_starts(0)


def test_no_more_files_are_open_than_a_process_may_have(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may have far more files than that."""
    monkeypatch.setattr("barrow.tokens.store.store._open_files", lambda: 8)
    few = open_store(store.folder)
    for domain in range(len(few.domains)):
        num = few.domain_tokens(domain)
        assert few.read(domain, 0, num).tolist() == store.read(domain, 0, num).tolist()
        assert few.domain_starts(domain).tolist() == store.domain_starts(domain).tolist()
    mapped = few._ids.cache_info().currsize + few._starts.cache_info().currsize
    assert mapped <= 4 < sum(len(domain.shards) for domain in few.manifest.domains)
