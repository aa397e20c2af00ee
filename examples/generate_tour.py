"""Make a small decoder, save it for other libraries, open it again, and generate text."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

import barrow
from barrow.models import Decoder, DecoderConfig, Sampling
from barrow.models.text import open_tokenizer, prompt_tokens, text_pieces
from barrow.nn import Rotary

config = DecoderConfig(
    vocab_size=259, width=64, layers=2, heads=4, kv_heads=2, hidden=128, context=128,
    norm="rms", gated=True, activation="silu", rotary=Rotary(), tied=False,
    attention_bias=False, out_bias=False, mlp_bias=False,
)  # fmt: skip
model = Decoder(config)
params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, 1), jnp.int32))

folder = Path(tempfile.mkdtemp()) / "model"
print("saved:", barrow.models.save(folder, model, params, tokenizer="bytes", stops=(256,)))
print("files:", sorted(path.name for path in folder.iterdir()))

loaded = barrow.models.open(folder, unstack=True)
print("loaded:", loaded.report)
tokenizer = open_tokenizer(loaded.tokenizer)
prompts = [prompt_tokens(tokenizer, text) for text in ("A barrow", "Stone by stone")]
for sampling in (Sampling(), Sampling(temperature=1.0, top_k=20)):
    written = barrow.models.generate(
        loaded.model, loaded.params, prompts, max_tokens=16, sampling=sampling, stops=loaded.stops
    )
    print(sampling, [len(completion.tokens) for completion in written])
print("in pieces:", [len(piece[0]) for piece in barrow.models.stream(
    loaded.model, loaded.params, prompts[:1], max_tokens=16, chunk=4)])  # fmt: skip
print("as text:", repr("".join(text_pieces(tokenizer, [written[0].tokens], prompt=prompts[0]))))
