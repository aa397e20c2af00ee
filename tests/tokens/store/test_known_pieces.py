from __future__ import annotations

from barrow.archive import read_catalog
from barrow.tokens import TokenStore
from barrow.tokens.store.known_pieces import contents, pieces_of_store
from barrow.tokens.store.token_file import TokenFile


def test_every_piece_of_a_store_is_found_under_its_source(store: TokenStore) -> None:
    known = pieces_of_store(store)
    shards = read_catalog(store.manifest.corpus.path).shards
    assert set(known.by_source) == {shard.sha256[:32] for shard in shards}
    for shard in shards:
        pieces = known.by_source[shard.sha256[:32]]
        assert sum(piece.documents for piece, _ in pieces) == shard.documents
        order = [(piece.part, piece.flush) for piece, _ in pieces]
        assert order == sorted(order)
        for piece, at in pieces:
            assert TokenFile.open(at.file, store.dtype).pieces[at.row] == piece


def test_every_shard_is_found_by_its_contents(store: TokenStore) -> None:
    known = pieces_of_store(store)
    listed = [shard.file for domain in store.manifest.domains for shard in domain.shards]
    assert sorted(known.shards.values(), key=str) == sorted(listed, key=str)
    for file in listed:
        pieces = TokenFile.open(store.folder / file.name, store.dtype).pieces
        assert known.shards[contents(pieces)] == file
        if len(pieces) > 1:
            assert contents(pieces[::-1]) != contents(pieces)
