"""Whether N + M steps equal N, a restart, and M, bit for bit, on the devices of this machine.

    python benchmarks/check_resume.py [gpt2] [documents] [clip] [--steps 10] [--small]
        [--not-deterministic]

Three processes: one trains through, one stops half way with a checkpoint, the third resumes from
it; then all arrays of both last states are compared. GPT-2 124M with dropout, 8 rows of 512, fused
attention, AdamW, bfloat16 on a GPU; the same with documents masked from each other and norms and
activations computed again; and CLIP's ViT-B/32 with 64 pairs, whose attention is our own kernel.
GPUs add in an order of their own unless `step.deterministic`, as here. Only jax, optax, numpy and
safetensors need be installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def build(kind: str, small: bool) -> tuple[Any, Any, Any]:
    """What makes parameters, the objective, and the batch of a step."""
    import jax.numpy as jnp
    import numpy as np
    import optax

    from barrow.train import Loss, Objective

    dtype = "float32" if small else "bfloat16"
    if kind in ("gpt2", "documents"):
        import jax

        from barrow.models.decoder.model import Decoder, DecoderConfig
        from barrow.nn.cross_entropy import cross_entropy
        from barrow.nn.layers.remat import CHEAP

        size = {"vocab_size": 512, "width": 64, "layers": 2, "heads": 2, "hidden": 128}
        config = DecoderConfig(**(size if small else {}), dropout=0.1)
        is_masked = kind == "documents"
        policy = CHEAP if is_masked else None
        model: Any = Decoder(config, unroll=True, dtype=dtype, remat=policy)
        length = 32 if small else 512

        def loss(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
            more: Any = {"keys": {"dropout": key}}
            if is_masked:  # four documents in a row
                ids = jnp.broadcast_to(jnp.arange(length) * 4 // length, batch["tokens"].shape)
                more["segments"] = ids + 1
            hidden, _ = model.apply(params, batch["tokens"], **more, method=model.hidden)
            weight, transposed = Decoder(config).head_weight(params)
            ones = jnp.ones(batch["targets"].shape, jnp.float32)
            total = cross_entropy(hidden, weight, batch["targets"], ones, transposed=transposed)
            return Loss(total, ones.sum(), {}, collections)

        def batch(step: int) -> Any:
            ids = np.random.default_rng(step).integers(0, config.vocab_size, (8, length + 1))
            return {"tokens": ids[:, :-1].astype(np.int32), "targets": ids[:, 1:].astype(np.int32)}

        shape = jax.ShapeDtypeStruct((1, 8), jnp.int32)
        return lambda k: model.init(k, shape), Objective(loss), batch

    from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
    from barrow.models.clip.model import CLIP, normalised
    from barrow.models.clip.tower import Running

    sizes = (32, VisionConfig(32, 8, 64, 2, 2), TextConfig(64, 12, 32, 2, 2)) if small else ()
    clip = CLIP(ClipConfig(*sizes), Running(unroll=True, dtype=dtype))
    side, text = clip.config.image.resolution, clip.config.text

    def contrast(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
        a, b, scale = clip.apply(params, batch["images"], batch["texts"])
        logits = scale * jnp.dot(normalised(a), normalised(b).T)
        right = jnp.arange(len(logits))
        nats = optax.softmax_cross_entropy_with_integer_labels
        total = (nats(logits, right) + nats(logits.T, right)).sum() / 2
        return Loss(total, jnp.float32(len(logits)), {}, collections)

    def pairs(step: int) -> Any:
        rng = np.random.default_rng(step)
        images = rng.standard_normal((64, side, side, 3), np.float32)
        return {"images": images, "texts": rng.integers(1, text.vocab_size, (64, text.context))}

    return (
        lambda k: clip.init(k, *clip.config.example),
        Objective(contrast, is_sum_over_rows=False),
        pairs,
    )


def train(
    kind: str, small: bool, folder: str, stop: int, num: int, deterministic: bool
) -> dict[str, str]:
    """Train from the folder's last step up to a step; a digest of every array there."""
    import hashlib

    import jax
    import jax.numpy as jnp
    import numpy as np

    from barrow.checkpoint import Checkpoints
    from barrow.train import (
        AdamW,
        Precision,
        StepSettings,
        init_state,
        make_step,
    )

    init, objective, batch = build(kind, small)
    precision = Precision("fp32" if small else "bf16")
    settings = StepSettings(precision, ema=0.99, deterministic=deterministic)
    optimizer = AdamW().make(num)
    state = init_state(init, optimizer, settings, jax.random.key(0))
    step = make_step(objective, optimizer, settings)
    checkpoints = Checkpoints(Path(folder))
    latest = checkpoints.latest()
    if latest is not None:
        state = checkpoints.restore(latest, state)
    while int(state.step) < stop:
        state, _ = step(state, batch(int(state.step)))
    checkpoints.save(state, {}, wait=True)
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        found[jax.tree_util.keystr(path)] = hashlib.sha256(array.tobytes()).hexdigest()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", help="gpt2, documents, clip; none: all")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--small", action="store_true", help="small models, to see that it runs")
    parser.add_argument("--not-deterministic", action="store_true", help="step.deterministic=false")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(train(**json.loads(args.one))))
        return
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    env["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    worst = 0
    for kind in args.kinds or ("gpt2", "documents", "clip"):
        with tempfile.TemporaryDirectory() as folder:

            def run(name: str, stop: int, kind: str = kind, folder: str = folder) -> Any:
                job = {"kind": kind, "small": args.small, "num": args.steps, "stop": stop}
                job["folder"] = f"{folder}/{name}"
                job["deterministic"] = not args.not_deterministic
                command = [sys.executable, __file__, "--one", json.dumps(job)]
                done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(done.stderr[-2000:])
                return json.loads(done.stdout.splitlines()[-1])

            whole = run("whole", args.steps)
            run("parts", args.steps // 2)
            parts = run("parts", args.steps)
        other = [name for name in whole if whole[name] != parts[name]]
        print(f"{kind}: {len(whole)} arrays, {len(other)} differ {other[:3]}", flush=True)
        worst = max(worst, len(other))
    sys.exit(1 if worst else 0)


if __name__ == "__main__":
    main()
