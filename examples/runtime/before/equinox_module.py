"""A classifier in Equinox, as its tutorial trains one: a module that is a pytree, and optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH_SIZE = 64
LEARNING_RATE = 3e-3
STEPS = 32
PRINT_EVERY = 15


class MLP(eqx.Module):
    """Layers and functions, in one list."""

    layers: list

    def __init__(self, key):
        key1, key2 = jax.random.split(key)
        self.layers = [
            eqx.nn.Linear(16, 32, key=key1),
            jax.nn.relu,
            eqx.nn.Linear(32, 10, key=key2),
            jax.nn.log_softmax,
        ]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def loss(model, x, y):
    pred_y = jax.vmap(model)(x)
    return cross_entropy(y, pred_y)


def cross_entropy(y, pred_y):
    pred_y = jnp.take_along_axis(pred_y, jnp.expand_dims(y, 1), axis=1)
    return -jnp.mean(pred_y)


class Digits:
    """1,003 images, shuffled in each epoch: the last batch has 43."""

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.labels = self.rng.integers(0, 10, 1003)
        centres = self.rng.normal(size=(10, 16))
        noise = self.rng.normal(size=(1003, 16))
        self.images = (centres[self.labels] + noise).astype(np.float32)

    def __iter__(self):
        order = self.rng.permutation(1003)
        for start in range(0, 1003, BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            yield self.images[rows], self.labels[rows].astype(np.int32)


def infinite_trainloader(trainloader):
    while True:
        yield from trainloader


model = MLP(jax.random.key(0))
optim = optax.adamw(LEARNING_RATE)
opt_state = optim.init(eqx.filter(model, eqx.is_array))
trainloader = Digits()


@eqx.filter_jit
def make_step(model, opt_state, x, y):
    loss_value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    model = eqx.apply_updates(model, updates)
    return model, opt_state, loss_value


for step, (x, y) in zip(range(STEPS), infinite_trainloader(trainloader)):
    model, opt_state, train_loss = make_step(model, opt_state, x, y)
    if (step % PRINT_EVERY) == 0 or (step == STEPS - 1):
        print(f"step {step} rows {len(x)} loss {train_loss.item():.6f}")
