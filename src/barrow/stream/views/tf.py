"""TensorFlow's view of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from barrow.errors import MissingExtra

if TYPE_CHECKING:
    from barrow.stream.stream import Stream


def tf_view(stream: Stream[Any], start: int, *, rank: int | None, of: int | None) -> Any:
    """A `tf.data.Dataset` of ``{"step", …}`` with the arrays of a batch by name."""
    try:
        import tensorflow as tf
    except ImportError:
        raise MissingExtra("TensorFlow", "tf", "stream.tf()") from None

    def batches() -> Iterator[dict[str, Any]]:
        for step, batch in stream.numpy(start, rank=rank, of=of):
            yield {"step": step, **batch.arrays()}

    # Rows may be longer at another step.
    none = stream.batch(min(start, (stream.num_steps or start + 1) - 1), rows=slice(0, 0))
    signature = {
        name: tf.TensorSpec(shape=[None] * array.ndim, dtype=array.dtype)
        for name, array in none.arrays().items()
    }
    signature["step"] = tf.TensorSpec(shape=(), dtype=tf.int64)
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
