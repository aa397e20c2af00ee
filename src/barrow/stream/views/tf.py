"""TensorFlow's view of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from barrow.errors import MissingExtra

if TYPE_CHECKING:
    from barrow.stream.stream import Stream


def tf_view(stream: Stream, start: int, *, rank: int | None, of: int | None) -> Any:
    """A `tf.data.Dataset` of ``{"step", "tokens", "targets", "segments", "positions", "mask"}``."""
    try:
        import tensorflow as tf
    except ImportError:
        raise MissingExtra("TensorFlow", "tf", "stream.tf()") from None

    def batches() -> Iterator[dict[str, Any]]:
        for step, batch in stream.numpy(start, rank=rank, of=of):
            yield {"step": step, **batch.arrays()}

    ids = tf.TensorSpec(shape=(None, None), dtype=tf.int32)
    signature = {
        "step": tf.TensorSpec(shape=(), dtype=tf.int64),
        **dict.fromkeys(("tokens", "targets", "segments", "positions"), ids),
        "mask": tf.TensorSpec(shape=(None, None), dtype=tf.bool),
    }
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
