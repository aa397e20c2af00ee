"""TensorFlow's view of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from barrow.archive.reader import Archive
from barrow.errors import MissingExtra


def tf_view(archive: Archive) -> Any:
    """A `tf.data.Dataset` of ``{"text": string, "meta": JSON string}``, fed a block at a time."""
    try:
        import tensorflow as tf
    except ImportError:
        raise MissingExtra("TensorFlow", "tf", "archive.tf()") from None

    def batches() -> Iterator[dict[str, list[bytes]]]:
        for block in archive.blocks():
            texts, metas = block.text.data, block.meta.data
            starts = block.offsets.tolist()
            meta_starts = block.meta_offsets.tolist()
            yield {
                "text": [bytes(texts[a:b]) for a, b in pairwise(starts)],
                "meta": [bytes(metas[a : b - 1]) for a, b in pairwise(meta_starts)],
            }

    strings = tf.TensorSpec(shape=(None,), dtype=tf.string)
    dataset = tf.data.Dataset.from_generator(
        batches, output_signature={"text": strings, "meta": strings}
    )
    return dataset.unbatch()
