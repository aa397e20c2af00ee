"""Build, initialise, summarise, differentiate and vmap a small model."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from barrow import nn


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope: nn.Scope, x: jax.Array, _: None) -> tuple[jax.Array, None]:
        y = nn.MLP(64)(scope / "mlp", nn.LayerNorm()(scope / "norm", x))
        return x + nn.Dropout(0.1)(scope / "dropout", y), None


@dataclass(frozen=True)
class Model(nn.Module):
    def forward(self, scope: nn.Scope, ids: jax.Array) -> jax.Array:
        embed = nn.Embed(100, 16)
        x, _ = nn.Repeat(Layer(), 3)(scope / "layers", embed(scope / "embed", ids))
        return embed.attend(scope.again("embed"), x)  # the same table: tied weights


model, ids = Model(), jnp.arange(24).reshape(4, 6)
print(nn.summary(model, ids))
params = model.init(jax.random.key(0), ids)


def loss(params: nn.Tree, row: jax.Array, key: jax.Array) -> jax.Array:
    logits = model.apply(params, row[:-1], keys={"dropout": key})
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), row[1:, None], 1))


keys = jax.random.split(jax.random.key(1), len(ids))
gradients = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0)))(params, ids, keys)  # one for each row
print("gradients of the table, row by row:", gradients["embed"]["table"].shape)
