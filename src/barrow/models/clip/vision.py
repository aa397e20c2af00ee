"""CLIP's Vision Transformer: patches of an image, a class token, and its embedding."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from barrow.models.clip.config import VisionConfig
from barrow.models.clip.tower import Running, Tower
from barrow.nn.initialisers import fan_in, normal
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.norms import LayerNorm
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class VisionTransformer(Module):
    """Images [batch, side, side, 3], normalised, to embeddings [batch, embed]."""

    config: VisionConfig
    embed: int
    activation: str = "quick_gelu"
    eps: float = 1e-5
    running: Running = field(default_factory=Running)

    def forward(self, scope: Scope, images: jax.Array) -> jax.Array:
        """The embedding, in float32, not normalised."""
        config, width = self.config, self.config.width
        refuse_images(scope, images, config.resolution)
        scale = width**-0.5
        x = images.astype(self.running.dtype)
        # A convolution whose stride is its window is a product with each patch by itself.
        side, patch = config.resolution // config.patch, config.patch
        x = x.reshape(-1, side, patch, side, patch, 3).transpose(0, 1, 3, 2, 4, 5)
        patches = Dense(
            width,
            bias=False,
            num_in=3,
            axes=(None, None, None, "embed"),
            weight_init=fan_in(1 / 3, num_in=3),
        )
        x = patches(scope / "patches", x.reshape(-1, side * side, patch, patch, 3))
        token = scope.param("token", (width,), normal(scale), ("embed",)).astype(x.dtype)
        x = jnp.concatenate([jnp.broadcast_to(token, (len(x), 1, width)), x], axis=1)
        # Added by number, not looked up: one row for all.
        positions = (scope / "positions").param(
            "table", (1 + config.num_patches, width), normal(scale), ("positions", "embed")
        )
        x = x + positions.astype(x.dtype)
        x = scope.constrain(x, "batch", "length", "embed")
        x = LayerNorm(eps=self.eps)(scope / "norm_before", x)
        tower = Tower(
            config.layers,
            config.heads,
            causal=False,
            activation=self.activation,
            eps=self.eps,
            running=self.running,
        )
        x = LayerNorm(eps=self.eps)(scope / "norm", tower(scope / "tower", x, 0))
        projection = Dense(
            self.embed, bias=False, axes=("embed", "joint"), weight_init=normal(scale)
        )
        y: jax.Array = projection(scope / "projection", x)
        return y.astype(jnp.float32)


def refuse_images(scope: Scope, images: jax.Array, resolution: int) -> None:
    """Raise unless images are [batch, resolution, resolution, 3] of floating numbers."""
    shape = (resolution, resolution, 3)
    if (
        images.ndim == 4
        and images.shape[1:] == shape
        and jnp.issubdtype(images.dtype, jnp.floating)
    ):
        return
    hint = ""
    if images.ndim == 4 and images.shape[1:] == (3, resolution, resolution):
        hint = "; channels come last: images.transpose(0, 2, 3, 1)"
    elif images.ndim == 3 and math.prod(images.shape) == math.prod(shape):
        hint = "; one image is images[None]"
    elif jnp.issubdtype(images.dtype, jnp.integer):
        hint = "; normalise the pixels first (preprocess)"
    raise ValueError(
        f"{scope.name}: expected floating point [batch, {resolution}, {resolution}, 3], "
        f"got {images.dtype}{list(images.shape)}{hint}"
    )
