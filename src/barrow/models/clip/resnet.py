"""CLIP's modified ResNet: an averaging stem, strides as average pools, attention at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from barrow.models.clip.config import ResNetConfig
from barrow.models.clip.tower import Running
from barrow.models.clip.vision import refuse_images
from barrow.nn.attention.attention import attention
from barrow.nn.initialisers import Initialiser, normal, ones, zeros
from barrow.nn.layers.activations import relu
from barrow.nn.layers.batch_norm import BatchNorm
from barrow.nn.layers.conv import Conv
from barrow.nn.layers.dense import Dense
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class ModifiedResNet(Module):
    """Images [batch, side, side, 3], normalised, to embeddings [batch, embed].

    Batch norms keep running statistics in the collection `batch_stats`.
    """

    config: ResNetConfig
    embed: int
    running: Running = field(default_factory=Running)

    def forward(self, scope: Scope, images: jax.Array) -> jax.Array:
        """The embedding, in float32, not normalised."""
        config, width = self.config, self.config.width
        refuse_images(scope, images, config.resolution)
        x = images.astype(self.running.dtype)
        stem = scope / "stem"
        for number, (features, stride) in enumerate(
            ((width // 2, 2), (width // 2, 1), (width, 1)), start=1
        ):
            x = relu(_conv(stem, number, x, features, window=3, stride=stride))
        x = _halved(x)
        for stage, num in enumerate(config.layers):
            for number in range(num):
                block = Bottleneck(width << stage, stride=2 if stage and not number else 1)
                x = block(scope / f"stage{stage + 1}" / f"block{number}", x)
        x = scope.constrain(x, "batch", None, None, "embed")
        pool = AttentionPool(config.heads, self.embed)
        y: jax.Array = pool(scope / "pool", x)
        return y.astype(jnp.float32)


@dataclass(frozen=True)
class Bottleneck(Module):
    """1×1, 3×3 and 1×1 convolutions to 4·`features`, beside x; a stride is an average pool."""

    features: int
    stride: int = 1

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """[batch, h, w, c] → [batch, h / stride, w / stride, 4·features]."""
        y = relu(_conv(scope, 1, x, self.features))
        y = relu(_conv(scope, 2, y, self.features, window=3))
        y = _halved(y) if self.stride > 1 else y
        # Zero: at first every block passes x on.
        y = _conv(scope, 3, y, 4 * self.features, scale_init=zeros)
        if self.stride > 1 or x.shape[-1] != 4 * self.features:
            x = _halved(x) if self.stride > 1 else x
            x = _conv(scope / "beside", 1, x, 4 * self.features)
        return relu(x + y)


@dataclass(frozen=True)
class AttentionPool(Module):
    """Attention of the mean over all places, itself among them; learned positions."""

    heads: int
    embed: int

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """[batch, h, w, c] → [batch, embed]."""
        batch, height, width, channels = x.shape
        x = x.reshape(batch, height * width, channels)
        x = jnp.concatenate([jnp.mean(x, axis=1, keepdims=True), x], axis=1)
        init = normal(channels**-0.5)
        positions = (scope / "positions").param(
            "table", (height * width + 1, channels), init, ("positions", "embed")
        )
        x = x + positions.astype(x.dtype)

        def project(name: str, given: jax.Array) -> jax.Array:
            dense = Dense(
                (self.heads, channels // self.heads),
                axes=("embed", "heads", "head_dim"),
                weight_init=init,
            )
            return dense(scope / name, given)  # type: ignore[no-any-return]

        q, k, v = project("q", x[:, :1]), project("k", x), project("v", x)
        y = attention(q, k, v, backend="xla")
        back = Dense(self.embed, num_in=2, axes=("heads", "head_dim", "joint"), weight_init=init)
        return back(scope / "out", y)[:, 0]  # type: ignore[no-any-return]


def _conv(
    scope: Scope,
    number: int,
    x: jax.Array,
    features: int,
    *,
    window: int = 1,
    stride: int = 1,
    scale_init: Initialiser = ones,
) -> jax.Array:
    """A convolution without bias, and its batch norm."""
    around = window // 2
    conv = Conv(
        features,
        (window, window),
        strides=stride,
        padding=((around, around), (around, around)),
        bias=False,
        axes=(None, "embed"),
    )
    norm = BatchNorm(scale_init=scale_init)
    return norm(scope / f"norm{number}", conv(scope / f"conv{number}", x))  # type: ignore[no-any-return]


def _halved(x: jax.Array) -> jax.Array:
    """Means of 2×2 places; an odd last row or column is left out."""
    batch, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2]
    return x.reshape(batch, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))
