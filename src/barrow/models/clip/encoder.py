"""A CLIP model with its weights: images and texts to embeddings, similarities and classes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.buckets import parts
from barrow.models.clip.model import CLIP, MAX_SCALE
from barrow.models.clip.templates import PLAIN
from barrow.models.clip.zero_shot import Floats, ZeroShot, classified, ensemble, unit
from barrow.models.keys_report import KeysReport
from barrow.nn.compiled import jitted
from barrow.nn.tree import Tree
from barrow.tokens.clip.tokenizer import ClipTokenizer

DEFAULT_BATCH = 256
# Tables of tokens are made larger than the vocabulary, to a multiple, by less than this.
_PADDING = 128


@dataclass(frozen=True, eq=False)
class Clip:
    """A model with its weights and tokenizer, immutable.

    `params` are the weights in use, on accelerators with the towers' layers unstacked
    (`clip_tower.towers_apart`); `collections` are a ResNet's running statistics. `tokenizer` is
    one, or a function that opens it for the first text, as in `load`. `report` lists every key of
    the file, None for random weights. `origin` is where the weights are from. `batch` is the number
    of rows computed at once.
    """

    module: CLIP
    params: Tree
    collections: Tree = field(default_factory=Tree)
    tokenizer: ClipTokenizer | Callable[[], ClipTokenizer] | None = None
    report: KeysReport | None = None
    origin: str = ""
    batch: int = DEFAULT_BATCH

    def encode_image(self, images: Any, *, names: Sequence[str] | None = None) -> Floats:
        """Embeddings [n, embed], not normalised, of images [n, side, side, 3] of `preprocess`.

        An embedding that is not finite is an error that names its item of `names`.
        """
        images = np.asarray(images)
        if images.ndim != 4:
            raise ValueError(
                f"images must be [n, side, side, 3], as preprocess returns, got {images.shape}"
            )
        found = self._in_batches(_image, images.astype(np.float32, copy=False))
        return _finite(found, names or [f"image {n}" for n in range(len(images))], images)

    def encode_text(self, texts: Sequence[str] | Any, *, truncate: bool = False) -> Floats:
        """Embeddings [n, embed], not normalised, of texts, or of ids [n, length]."""
        if isinstance(texts, str):
            raise ValueError("expected a list of texts, got one text: put it in a list")
        if not len(texts):
            return np.empty((0, self.module.config.embed), np.float32)
        if isinstance(texts[0], str):
            ids = self.tokens(texts, truncate=truncate)
        else:
            ids = np.asarray(texts, np.int32).reshape(len(texts), -1)
            self._refuse_unknown(ids)
        names = [str(text)[:60] for text in texts]
        return _finite(self._in_batches(_text, ids), names, ids)

    def tokens(self, texts: Sequence[str], *, truncate: bool = False) -> npt.NDArray[np.int32]:
        """Ids [n, context] of texts."""
        tokenizer = self.tokenizer() if callable(self.tokenizer) else self.tokenizer
        if tokenizer is None:
            raise ValueError("the model has no tokenizer: pass its vocabulary, load(bpe=…)")
        text = self.module.config.text
        if tokenizer.vocab_size > text.vocab_size:
            raise ValueError(
                f"the tokenizer has {tokenizer.vocab_size:,} ids, the model "
                f"{text.vocab_size:,}: pass the vocabulary that the model was trained with"
            )
        if text.vocab_size - tokenizer.vocab_size >= _PADDING:
            warnings.warn(
                f"the tokenizer has {tokenizer.vocab_size:,} ids, the model {text.vocab_size:,}: "
                "is it the vocabulary that the model was trained with?",
                stacklevel=2,
            )
        return tokenizer.rows(texts, context=text.context, truncate=truncate)

    @property
    def scale(self) -> float:
        """What cosines are multiplied by: about 100 in the published models."""
        return float(min(np.exp(np.float32(self.params["logit_scale"])), MAX_SCALE))

    def similarity(
        self,
        images: Any,
        texts: Sequence[str] | Any,
        *,
        names: Sequence[str] | None = None,
        truncate: bool = False,
    ) -> Floats:
        """The scale times the cosine of each image with each text, [images, texts].

        Images are those of `preprocess`, or embeddings [n, embed] that `encode_image` gave.
        """
        image = unit(self._embedded(images, names))
        text = unit(self.encode_text(texts, truncate=truncate))
        return np.asarray(self.scale * (image @ text.T), np.float32)

    def zero_shot(
        self,
        images: Any,
        classes: Sequence[str],
        templates: Sequence[str] = PLAIN,
        *,
        names: Sequence[str] | None = None,
        truncate: bool = False,
    ) -> ZeroShot:
        """How likely each image is each class: softmax of the similarities with the classes.

        A class is the mean of its name in all templates; see `clip_zero_shot.ensemble`. Images are
        those of `preprocess`, or embeddings [n, embed] that `encode_image` gave.
        """

        def encode(texts: Sequence[str]) -> Floats:
            return self.encode_text(texts, truncate=truncate)

        embeddings = ensemble(encode, classes, templates)
        image = unit(self._embedded(images, names))
        return classified(self.scale * (image @ embeddings.T), classes)

    def _embedded(self, images: Any, names: Sequence[str] | None) -> Floats:
        images = np.asarray(images)
        if images.ndim == 2 and images.shape[1] == self.module.config.embed:
            return np.asarray(images, np.float32)
        return self.encode_image(images, names=names)

    def _refuse_unknown(self, ids: npt.NDArray[np.int32]) -> None:
        size = self.module.config.text.vocab_size
        if ids.size and not 0 <= ids.min() <= ids.max() < size:
            raise ValueError(f"ids must be from 0 to {size - 1}, got {ids.min()} … {ids.max()}")

    def _in_batches(self, encode: Callable[..., jax.Array], rows: npt.NDArray[Any]) -> Floats:
        found = np.empty((len(rows), self.module.config.embed), np.float32)
        waiting: list[tuple[int, int, jax.Array]] = []
        for start, stop, size in parts(len(rows), most=self.batch):
            part = rows[start:stop]
            if len(part) < size:
                filled = np.zeros((size, *rows.shape[1:]), rows.dtype)
                filled[: len(part)] = part
                part = filled
            waiting.append((start, stop, encode(self.module, self.params, self.collections, part)))
            # One batch is computed while the next is sent.
            if len(waiting) > 1:
                _take(found, waiting.pop(0))
        for each in waiting:
            _take(found, each)
        return found


@functools.partial(jitted, static_argnums=0)
def _image(
    module: CLIP, params: Mapping[str, Any], collections: Mapping[str, Any], images: jax.Array
) -> jax.Array:
    found: jax.Array = module.apply(params, images, collections=collections, method=module.image)
    return found


@functools.partial(jitted, static_argnums=0)
def _text(
    module: CLIP, params: Mapping[str, Any], collections: Mapping[str, Any], ids: jax.Array
) -> jax.Array:
    del collections
    found: jax.Array = module.apply(params, ids, method=module.text)
    return found


def in_type(tree: Tree, dtype: str) -> Tree:
    """Weights in the type of the computation; running statistics and the logit scale stay."""
    kinds: Tree = jax.tree.map(lambda x: x.astype(jnp.dtype(dtype)), tree)
    return kinds | {"logit_scale": tree["logit_scale"]}


def _take(found: Floats, part: tuple[int, int, jax.Array]) -> None:
    start, stop, values = part
    found[start:stop] = np.asarray(values)[: stop - start]


def _finite(found: Floats, names: Sequence[str], given: npt.NDArray[Any]) -> Floats:
    if len(names) != len(found):
        raise ValueError(f"{len(names)} names for {len(found)} rows")
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if not len(bad):
        return found
    first = int(bad[0])
    cause = (
        "the input is not finite either"
        if not np.isfinite(given[first]).all()
        else "the weights are damaged, or overflow in this type: try dtype='float32'"
    )
    raise ValueError(
        f"the embedding of {names[first]} is not finite ({len(bad)} of {len(found)} are not): "
        f"{cause}"
    )
