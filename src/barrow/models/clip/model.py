"""CLIP: images and texts into one space, and the scale of their cosines."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from barrow.models.clip.config import ClipConfig, VisionConfig
from barrow.models.clip.resnet import ModifiedResNet
from barrow.models.clip.text import TextTransformer
from barrow.models.clip.tower import Running
from barrow.models.clip.vision import VisionTransformer
from barrow.nn.initialisers import constant
from barrow.nn.module import Module
from barrow.nn.scope import Scope

MAX_SCALE = 100.0


@dataclass(frozen=True)
class CLIP(Module):
    """Both towers, and the logarithm of the scale of cosines, a parameter.

    `apply(params, images, method=model.image)` is one tower alone. A ResNet takes and returns the
    collection `batch_stats`.
    """

    config: ClipConfig = field(default_factory=ClipConfig)
    running: Running = field(default_factory=Running)

    def forward(
        self, scope: Scope, images: jax.Array, texts: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Embeddings of images and of texts, [batch, embed], not normalised; and the scale."""
        return self.image(scope, images), self.text(scope, texts), self.scale(scope)

    def image(self, scope: Scope, images: jax.Array) -> jax.Array:
        """Embeddings [batch, embed] in float32 of images [batch, side, side, 3], normalised."""
        config = self.config
        if isinstance(config.image, VisionConfig):
            tower: Module = VisionTransformer(
                config.image, config.embed, config.activation, config.norm_eps, self.running
            )
        else:
            tower = ModifiedResNet(config.image, config.embed, self.running)
        return tower(scope / "image", images)  # type: ignore[no-any-return]

    def text(self, scope: Scope, ids: jax.Array) -> jax.Array:
        """Embeddings [batch, embed] in float32 of ids [batch, length]."""
        config = self.config
        tower = TextTransformer(
            config.text, config.embed, config.activation, config.norm_eps, self.running
        )
        return tower(scope / "text", ids)  # type: ignore[no-any-return]

    def scale(self, scope: Scope) -> jax.Array:
        """What cosines are multiplied by: at most 100."""
        held = scope.param("logit_scale", (), constant(math.log(1 / 0.07)), ())
        return jnp.minimum(jnp.exp(held.astype(jnp.float32)), MAX_SCALE)


def normalised(x: jax.Array) -> jax.Array:
    """Vectors of length 1, in float32; zeros stay zeros."""
    x = x.astype(jnp.float32)
    return x * jax.lax.rsqrt(jnp.maximum(jnp.sum(x * x, axis=-1, keepdims=True), 1e-24))
