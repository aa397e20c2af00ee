"""A network of plain functions, as the tutorial of JAX trains one: lists of arrays and SGD."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

import barrow

rt = barrow.Runtime()

layer_sizes = [16, 32, 10]
step_size = 0.1
num_epochs = 2
batch_size = 64


def random_layer_params(m, n, key, scale=1e-1):
    w_key, b_key = jax.random.split(key)
    return scale * jax.random.normal(w_key, (n, m)), scale * jax.random.normal(b_key, (n,))


def init_network_params(sizes, key):
    keys = jax.random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = jax.nn.relu(jnp.dot(w, activations) + b)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - logsumexp(logits)


batched_predict = jax.vmap(predict, in_axes=(None, 0))


def loss(params, images, targets):
    preds = batched_predict(params, images)
    return -jnp.mean(preds * targets)


@jax.jit
def num_correct(params, images, targets):
    predicted_class = jnp.argmax(batched_predict(params, images), axis=1)
    return jnp.sum(predicted_class == jnp.argmax(targets, axis=1))


@jax.jit
def update(params, x, y):
    value, grads = rt.value_and_grad(loss)(params, x, y)
    params = [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)]
    return params, value


class Digits:
    """1,003 images, shuffled in each epoch: the last batch has 43."""

    def __init__(self):
        self.rng = np.random.default_rng(0)
        labels = self.rng.integers(0, 10, 1003)
        centres = self.rng.normal(size=(10, 16))
        self.images = (centres[labels] + self.rng.normal(size=(1003, 16))).astype(np.float32)
        self.targets = np.eye(10, dtype=np.float32)[labels]

    def __iter__(self):
        order = self.rng.permutation(1003)
        for start in range(0, 1003, batch_size):
            rows = order[start : start + batch_size]
            yield self.images[rows], self.targets[rows]


params = init_network_params(layer_sizes, jax.random.key(0))
params, training_generator = rt.prepare(params, Digits())
for epoch in range(num_epochs):
    values, correct = [], 0
    for x, y in training_generator:
        params, value = update(params, x, y)
        values.append(float(value))
        correct += int(num_correct(params, x, y))
    rt.print(f"epoch {epoch} first {values[0]:.6f} last {values[-1]:.6f} correct {correct} of 1003")
