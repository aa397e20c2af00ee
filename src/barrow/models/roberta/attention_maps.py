"""The internals of an encoder for some tokens: hidden states, attention maps and their page.

The same maps give the same page, byte for byte.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta
from barrow.pages.escape import escaped, one_line
from barrow.pages.frame import page, static
from barrow.pages.markup import Markup

_SEEN = "intermediates"
MAX_TOKENS = 256


@partial(jax.jit, static_argnames=("model",))
def hidden_states(
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None = None,
) -> jax.Array:
    """All hidden states [layers + 1, batch, length, width]; 0 goes into the first layer."""
    seen = _seen(model, params, tokens, lengths)
    return jnp.concatenate([seen["embedded"][None], seen["layers"]["hidden"]])


@partial(jax.jit, static_argnames=("model",))
def attention_maps(
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None = None,
) -> jax.Array:
    """Attention weights of each position, [layers, batch, heads, length, length].

    float32; each row [..., i, :] sums to 1, and only padding attends to padding.
    """
    maps: jax.Array = _seen(model, params, tokens, lengths)["layers"]["attention"]["weights"]
    return maps


def _seen(
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None,
) -> Any:
    body = model.body if isinstance(model, RobertaWithHead) else model
    _, found = body.apply_and_collect(params, tokens, lengths=lengths, mutable=(_SEEN,))
    return found[_SEEN]


def attention_page(
    maps: npt.NDArray[Any], tokens: Sequence[str], *, text: str, model: str = "", note: str = ""
) -> str:
    """The page of maps [layers, heads, length, length] of a text, whose tokens name both axes."""
    if maps.ndim != 4 or maps.shape[2:] != (len(tokens), len(tokens)):
        raise ValueError(
            f"maps must be [layers, heads, {len(tokens)}, {len(tokens)}], got {list(maps.shape)}"
        )
    if len(tokens) > MAX_TOKENS:
        raise ValueError(
            f"a page shows at most {MAX_TOKENS} tokens, got {len(tokens)}: shorten the "
            "text, or write the arrays"
        )
    layers, heads = maps.shape[:2]
    shares = np.rint(np.clip(maps, 0, 1) * 65535).astype("<u2")
    shown = {
        "tokens": list(tokens),
        "layers": layers,
        "heads": heads,
        "shares": base64.b64encode(shares.tobytes()).decode(),
    }
    columns = "".join(f'<th scope="col">{number}</th>' for number in range(1, heads + 1))
    said = f"{layers} layers of {heads} heads, {len(tokens)} tokens"
    said += f", {escaped(model)}" if model else ""
    body = f"""<header><h1>Attention</h1>
<blockquote><bdi>{escaped(text)}</bdi></blockquote>
<p class="soft">{said}. {escaped(note)}</p></header>
<main class="panes">
<section aria-labelledby="all"><h2 id="all">Every head</h2>
<p class="soft">Choose one with a click, or with Tab and the arrow keys.</p>
<div class="scroll"><table class="heads">
<thead><tr><th scope="col">head</th>{columns}</tr></thead><tbody id="grid"></tbody></table></div>
</section>
<section aria-labelledby="which"><h2 id="which">Layer 1, head 1</h2>
<div class="bar"><span>0 <span class="ramp" id="ramp"></span> <span id="most"></span></span>
<label>Full colour is <select id="scale"><option value="own">each head’s largest share</option>
<option value="one">100%</option></select></label></div>
<p id="said" aria-live="polite"></p>
<div class="scroll"><div class="map" id="map">
<div class="across" id="across" aria-hidden="true"></div>
<div class="down" id="down" role="group" aria-label="Tokens that read"></div>
<div class="sheet" id="sheet"><canvas role="img" aria-label="Heat map of the chosen head"></canvas>
<div class="row" id="row"></div></div>
</div></div>
<p class="soft">Each line is a token that reads, each column one that is read; a line sums to 100%.
Colour goes with the square root of the share, so that small ones are seen.</p>
</section></main>
<noscript><p>The maps are drawn by a program in this file; scripts are switched off.</p></noscript>
<footer>Made by barrow. Shares are rounded to 1/65535; the arrays are exact
(<code>--out NAME.safetensors</code>).</footer>
"""
    return page(
        f"Attention: {one_line(text, most=60)}",
        Markup(body),
        style=static("barrow.models.roberta", "attention.css"),
        script=static("barrow.models.roberta", "attention.js"),
        data=shown,
    )
