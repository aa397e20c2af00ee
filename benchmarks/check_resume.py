"""Whether N + M steps equal N, a restart, and M, bit for bit, on the devices of this machine.

    python benchmarks/check_resume.py [gpt2] [documents] [masked] [clip] [resnet] [--steps 10]
        [--small] [--not-deterministic]

Three processes: one trains through, one stops half way with a checkpoint, the third resumes from
it; then all arrays of both last states are compared. AdamW, bfloat16 on a GPU:

gpt2       GPT-2 124M with dropout, 8 rows of 512, fused attention
documents  the same, documents masked from each other, norms and activations computed again
masked     distilroberta's size with dropout, 8 rows of 512, the objective of `barrow train`
clip       CLIP's ViT-B/32, 64 pairs: its attention is our own kernel
resnet     CLIP's ResNet-50, 64 pairs: convolutions and batch norms

GPUs add in an order of their own unless `step.deterministic`, as here. Kinds run at the same time.
Only jax, optax, numpy and safetensors need be installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

KINDS = ("gpt2", "documents", "masked", "clip", "resnet")


def build(kind: str, small: bool) -> tuple[Any, Any, Any, Any]:
    """The model, what its first parameters are drawn for, the objective, and a step's batch.

    All with the objectives of `barrow train`.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    from barrow.models.decoder.model import Decoder, DecoderConfig
    from barrow.models.roberta.model import Roberta, RobertaConfig
    from barrow.nn.layers.remat import CHEAP
    from barrow.stream.rows.masking import Mlm
    from barrow.train.objectives.causal import causal_objective
    from barrow.train.objectives.masked import masked_objective

    if kind in ("clip", "resnet"):
        return build_clip(kind, small)
    dtype, length = ("float32", 32) if small else ("bfloat16", 512)
    size = {"vocab_size": 512, "width": 64, "layers": 2, "heads": 2, "hidden": 128} if small else {}
    tokens = np.arange(length, dtype=np.int32)
    shape = (8, length)
    if kind == "masked":
        full = {} if small else {"layers": 6}
        bert = Roberta(RobertaConfig(**size, **full), unroll=True, dtype=dtype)
        model, objective = bert, masked_objective(bert, Mlm())
    else:
        documents = kind == "documents"
        remat = CHEAP if documents else None
        config = DecoderConfig(**size, dropout=0.1)
        gpt = Decoder(config, unroll=True, dtype=dtype, remat=remat)
        model, objective = gpt, causal_objective(gpt, mask_documents=documents)

    def batch(step: int) -> Any:
        rng = np.random.default_rng(step)
        ids = rng.integers(5, model.config.vocab_size, (8, length + 1)).astype(np.int32)
        quarter = length // 4  # four documents in a row
        found = {
            "tokens": ids[:, :-1],
            "targets": ids[:, 1:],
            "mask": np.ones(shape, np.float32),
            "segments": np.broadcast_to(tokens // quarter + 1, shape),
            "positions": np.broadcast_to(tokens % quarter, shape),
        }
        if kind == "masked":
            found["mask"] = (rng.random(shape) < 0.15).astype(np.float32)
            found["targets"] = ids[:, :-1]
            found["tokens"] = np.where(found["mask"], 4, ids[:, :-1])
        return found

    return model, (jax.ShapeDtypeStruct((1, 8), jnp.int32),), objective, batch


def build_clip(kind: str, small: bool) -> tuple[Any, Any, Any, Any]:
    """The same for CLIP."""
    import numpy as np

    from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
    from barrow.nn.layers.batch_norm import COLLECTION
    from barrow.train.objectives.contrastive import contrastive_objective

    texts = TextConfig(64, 12, 32, 2, 2) if small else TextConfig()
    if kind == "resnet":
        image: Any = ResNetConfig(32, 8, (1, 1, 1, 1), 4) if small else ResNetConfig()
    else:
        image = VisionConfig(32, 8, 64, 2, 2) if small else VisionConfig()
    config = ClipConfig(32 if small else 512, image, texts)
    clip = config.module(unroll=True, dtype="float32" if small else "bfloat16")
    mutable = (COLLECTION,) if kind == "resnet" else ()

    def pairs(step: int) -> Any:
        rng = np.random.default_rng(step)
        side = image.resolution
        return {
            "images": rng.integers(0, 256, (64, side, side, 3), np.uint8),
            "texts": rng.integers(1, texts.vocab_size, (64, texts.context)).astype(np.int32),
            "mask": np.ones(64, np.float32),
        }

    return clip, config.example, contrastive_objective(clip, mutable=mutable), pairs


def train(
    kind: str, small: bool, folder: str, stop: int, num: int, deterministic: bool
) -> dict[str, str]:
    """Train from the folder's last step up to a step; a digest of every array there."""
    import hashlib

    import jax
    import jax.numpy as jnp
    import numpy as np

    from barrow.checkpoint import Checkpoints
    from barrow.nn.module import init_collections
    from barrow.train import (
        AdamW,
        Precision,
        StepSettings,
        init_state,
        make_step,
    )

    model, example, objective, batch = build(kind, small)
    precision = Precision("fp32" if small else "bf16")
    settings = StepSettings(precision, ema=0.99, deterministic=deterministic)
    optimizer = AdamW().make(num)
    state = init_state(
        lambda key: model.init(key, *example),
        optimizer,
        settings,
        jax.random.key(0),
        collections=init_collections(model, *example),
    )
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
    parser.add_argument("kinds", nargs="*", help="see above; none: all")
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
    kinds = args.kinds or list(KINDS)
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"kinds are {', '.join(KINDS)}; got {', '.join(sorted(unknown))}")

    def compared(kind: str) -> int:
        """How many arrays differ."""
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as beside:

            def run(name: str, stop: int) -> Any:
                job = {"kind": kind, "small": args.small, "num": args.steps, "stop": stop}
                job["folder"] = f"{folder}/{name}"
                job["deterministic"] = not args.not_deterministic
                command = [sys.executable, __file__, "--one", json.dumps(job)]
                done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(f"{kind}: {done.stderr[-2000:]}")
                return json.loads(done.stdout.splitlines()[-1])

            through = beside.submit(run, "whole", args.steps)
            run("parts", args.steps // 2)
            parts, whole = run("parts", args.steps), through.result()
        other = [name for name in whole if whole[name] != parts[name]]
        took = time.perf_counter() - began
        print(
            f"{kind}: {len(other)} of {len(whole)} arrays differ {other[:3]}, {took:.0f} s",
            flush=True,
        )
        return len(other)

    with ThreadPoolExecutor(len(kinds)) as pool:
        sys.exit(1 if sum(pool.map(compared, kinds)) else 0)


if __name__ == "__main__":
    main()
