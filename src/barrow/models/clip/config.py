"""CLIP's architecture as numbers: an image tower of one of two kinds, a text tower, one space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp

from barrow.nn.layers.remat import Policy

if TYPE_CHECKING:
    from barrow.models.clip.model import CLIP

# Width of an attention head in every published model; files do not have the number of heads.
HEAD_DIM = 64


@dataclass(frozen=True)
class VisionConfig:
    """A Vision Transformer over square patches, `patch` pixels wide, of square images.

    - `resolution`: pixels of a side; `patch`: those of a patch; `width`: of hidden states;
      `layers`: how many; `heads`: of attention.
    """

    resolution: int = 224
    patch: int = 32
    width: int = 768
    layers: int = 12
    heads: int = 12

    def __post_init__(self) -> None:
        _refuse_below_one(self, ("resolution", "patch", "width", "layers", "heads"))
        if self.resolution % self.patch:
            raise ValueError(
                f"patches of {self.patch} pixels do not fill an image of {self.resolution}"
            )
        _refuse_heads(self.heads, self.width)

    @property
    def num_patches(self) -> int:
        """Patches of an image."""
        return (self.resolution // self.patch) ** 2


@dataclass(frozen=True)
class ResNetConfig:
    """CLIP's modified ResNet: blocks in each of four stages, and an attention pool with `heads`."""

    resolution: int = 224
    width: int = 64
    layers: tuple[int, int, int, int] = (3, 4, 6, 3)
    heads: int = 32

    def __post_init__(self) -> None:
        _refuse_below_one(self, ("resolution", "width", "heads"))
        if len(self.layers) != 4 or min(self.layers) < 1:
            raise ValueError(f"layers must be four numbers ≥ 1, got {self.layers}")
        if self.width % 2:
            raise ValueError(f"width must be even, got {self.width}")
        if self.resolution % 32:
            raise ValueError(f"resolution must be a multiple of 32, got {self.resolution}")
        _refuse_heads(self.heads, 32 * self.width)


@dataclass(frozen=True)
class TextConfig:
    """A causal transformer over lower-cased BPE tokens; ids end with that of the end of text.

    - `vocab_size`: ids; the data decide it; `context`: positions; `width`: of hidden states;
      `layers`: how many; `heads`: of attention.
    """

    vocab_size: int = 49408
    context: int = 77
    width: int = 512
    layers: int = 12
    heads: int = 8

    def __post_init__(self) -> None:
        _refuse_below_one(self, ("vocab_size", "context", "width", "layers", "heads"))
        _refuse_heads(self.heads, self.width)


@dataclass(frozen=True)
class ClipConfig:
    """Two towers into one space of `embed` dimensions. Defaults are ViT-B/32's.

    - `embed`: dimensions of both; `image`, `text`: the towers; `norm_eps`: added to the variance.
    - `activation`: quick_gelu in OpenAI's weights; most of open_clip's own were trained with gelu.
    """

    embed: int = 512
    image: VisionConfig | ResNetConfig = field(default_factory=VisionConfig)
    text: TextConfig = field(default_factory=TextConfig)
    activation: Literal["quick_gelu", "gelu"] = "quick_gelu"
    norm_eps: float = 1e-5

    objective = "barrow.train.tasks.contrastive:ContrastiveTask"
    scoring = ""
    usage = "barrow model zeroshot IMAGES --classes A,B --model {run}"

    def __post_init__(self) -> None:
        _refuse_below_one(self, ("embed",))
        if self.activation not in ("quick_gelu", "gelu"):
            raise ValueError(f"activation must be quick_gelu or gelu, got {self.activation!r}")

    @property
    def example(self) -> tuple[Any, ...]:
        """An image and a text."""
        side = self.image.resolution
        return (
            jax.ShapeDtypeStruct((1, side, side, 3), jnp.float32),
            jax.ShapeDtypeStruct((1, self.text.context), jnp.int32),
        )

    def module(
        self, *, unroll: bool = False, remat: Policy | None = None, dtype: str = "float32"
    ) -> CLIP:
        """See `Family`."""
        from barrow.models.clip.model import CLIP
        from barrow.models.clip.tower import Running

        return CLIP(self, Running(unroll, remat, dtype=dtype))

    def save_huggingface(self, folder: Path, params: Any, about: Mapping[str, Any]) -> None:
        """See `Exported`; its tokenizer adds its own ids around a text."""
        from barrow.models.clip.load import named_tokenizer
        from barrow.models.clip.save import save_huggingface

        name = about.get("tokenizer")
        known = None if name is None else named_tokenizer(name)
        save_huggingface(folder, self, params, tokenizer=known)


def _refuse_below_one(config: object, names: tuple[str, ...]) -> None:
    for name in names:
        if getattr(config, name) < 1:
            raise ValueError(f"{name} must be ≥ 1, got {getattr(config, name)}")


def _refuse_heads(heads: int, width: int) -> None:
    if width % heads:
        raise ValueError(f"{heads} heads do not divide a width of {width}")
