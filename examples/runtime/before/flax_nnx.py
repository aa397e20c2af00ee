"""A classifier in Flax NNX, as its tutorial trains one: a model, an optimizer, running metrics."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

learning_rate = 0.005
num_epochs = 2
batch_size = 64


class Classifier(nnx.Module):
    """Two layers with batch normalisation."""

    def __init__(self, rngs: nnx.Rngs):
        self.linear1 = nnx.Linear(16, 32, rngs=rngs)
        self.batch_norm = nnx.BatchNorm(32, rngs=rngs)
        self.linear2 = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x):
        return self.linear2(nnx.relu(self.batch_norm(self.linear1(x))))


def loss_fn(model: Classifier, batch):
    logits = model(batch["image"])
    loss = optax.softmax_cross_entropy_with_integer_labels(
        logits=logits, labels=batch["label"]
    ).mean()
    return loss, logits


@nnx.jit
def train_step(model: Classifier, optimizer: nnx.Optimizer, metrics: nnx.MultiMetric, batch):
    """Train for a single step."""
    grad_fn = nnx.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)
    return loss


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
        for start in range(0, 1003, batch_size):
            rows = order[start : start + batch_size]
            yield {"image": self.images[rows], "label": self.labels[rows].astype(np.int32)}


model = Classifier(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(learning_rate), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
train_ds = Digits()
for epoch in range(num_epochs):
    values = [float(train_step(model, optimizer, metrics, batch)) for batch in train_ds]
    found = {name: jnp.round(value, 6) for name, value in metrics.compute().items()}
    print(f"epoch {epoch} first {values[0]:.6f} last {values[-1]:.6f} {found}")
    metrics.reset()
