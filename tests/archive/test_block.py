from __future__ import annotations

import json
from pathlib import Path

import pytest

import barrow
from barrow import Document


def test_blocks_hold_the_same_documents(
    shard: Path, documents: list[Document], either_path: str
) -> None:
    blocks = list(barrow.archive.open(shard).blocks())
    assert len(blocks) > 10
    assert [d for block in blocks for d in block.documents()] == documents
    assert sum(block.num_text_bytes for block in blocks) == sum(
        len(d.text.encode()) for d in documents
    )
    assert [n for block in blocks for n in block.numbers] == list(range(len(documents)))
    assert [block.frame for block in blocks] == list(range(len(blocks)))
    assert {block.shard for block in blocks} == {shard.name}


def test_text_and_meta_by_offsets(shard: Path, documents: list[Document], either_path: str) -> None:
    number = 0
    for block in barrow.archive.open(shard).blocks():
        assert json.loads(block.meta_array()) == block.metas()
        for i in range(len(block)):
            text = block.text[block.offsets[i] : block.offsets[i + 1]].tobytes()
            meta = block.meta[block.meta_offsets[i] : block.meta_offsets[i + 1] - 1].tobytes()
            assert text.decode() == block.text_of(i) == documents[number].text
            assert json.loads(meta) == documents[number].meta
            number += 1
    assert number == len(documents)


def test_a_slice_of_a_block(shard: Path, either_path: str) -> None:
    block = next(iter(barrow.archive.open(shard).blocks()))
    whole = list(block.documents())
    part = block[2:5]
    assert list(part.documents()) == whole[2:5]
    assert list(part.numbers) == [2, 3, 4]
    assert part.num_text_bytes == sum(len(d.text.encode()) for d in whole[2:5])
    assert list(block[:0].documents()) == []
    assert list(block[5:2].documents()) == []
    assert list(block[-1:].documents()) == whole[-1:]
    with pytest.raises(ValueError, match="with step 1"):
        block[::2]
