"""A page of heat maps: every layer and head of an encoder for one text, in one HTML file.

The same maps give the same bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.pages.escape import escaped, one_line
from barrow.pages.frame import page, static
from barrow.pages.markup import Markup

MAX_TOKENS = 256


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
