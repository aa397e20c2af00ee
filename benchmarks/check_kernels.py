"""Whether what runs only on a GPU gives the numbers of its plain twin.

    python benchmarks/check_kernels.py [rows [16|8|4|attention]]

With rows, only those for a few rows: what decoding uses; or of these one kind.
Values and gradients of each, against the same formula in float64 on the host or the plain JAX of
other hardware; the largest difference relative to the largest number. Exits with 1 above 1e-2
(bfloat16 has steps of 4e-3) or where two runs differ in a bit.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn import row_products
from barrow.nn.attention.attention import attention
from barrow.nn.attention.paged import Paged, Pages, Rows
from barrow.nn.attention.paged_kernel import attend_pages
from barrow.nn.attention.paged_kernel import has_kernel as has_paged_kernel
from barrow.nn.attention.row_kernel import append_and_attend
from barrow.nn.attention.row_kernel import has_kernel as has_row_kernel
from barrow.nn.attention.row_kernel import plain as plain_append
from barrow.nn.attention.short_attention import has_kernel as has_short_kernel
from barrow.nn.attention.short_attention import ids_of, short_attention
from barrow.nn.attention.visible import Visible
from barrow.nn.cross_entropy import _nats, _nats_and_excess
from barrow.nn.layers import act_product, act_rows
from barrow.nn.layers.activations import gelu, gelu_tanh, quick_gelu, silu
from barrow.nn.layers.norm_rows import has_kernel as has_norm_kernel
from barrow.nn.layers.norm_rows import norm_beside, norm_rows
from barrow.nn.layers.row_sums import sum_by_id
from barrow.nn.softmax_rows import has_kernel, softmax_kernel, softmax_rows

failed = False


def difference(got: Any, wanted: Any) -> float:
    """The largest of all arrays."""
    found = 0.0
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        found = max(found, float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)))
    return found


def report(name: str, got: Any, again: Any, wanted: Any, limit: float = 1e-2) -> None:
    global failed
    same = all(
        np.array_equal(np.asarray(a), np.asarray(b))
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(again), strict=True)
    )
    worst = difference(got, wanted)
    bad = not same or not worst <= limit
    failed |= bad
    print(f"{'FAILED' if bad else 'ok':6} {name}: {worst:.1e}, twice the same bits: {same}")


def main() -> None:
    if jax.default_backend() != "gpu":
        sys.exit("this needs a GPU")
    random = np.random.default_rng(0)
    check_rows(random, sys.argv[2:] or ["16", "8", "4", "attention"])
    if sys.argv[1:2] == ["rows"]:
        sys.exit(failed)
    for rows, columns, num in ((512, 50304, 50257), (64, 32000, 32000), (7, 2048, 2047)):
        x = jnp.asarray(random.normal(size=(rows, columns)) * 4, jnp.bfloat16)
        x = x.at[0].set(-300).at[0, 5].set(500)
        weight = jnp.asarray(random.uniform(size=rows), jnp.float32)
        assert has_kernel(x.shape, x.dtype)
        kernel, plain = (jax.jit(f, static_argnums=2) for f in (softmax_kernel, softmax_rows))
        got, again = (kernel(x, weight, num) for _ in range(2))
        report(f"softmax of {rows}×{columns}, {num} real", got, again, plain(x, weight, num))
    for queries, heads, kv_heads, dim, window in (
        (1, 16, 16, 128, None),
        (1, 9, 3, 64, None),
        (1, 32, 8, 128, 100),
        (64, 16, 16, 128, None),
        (64, 9, 3, 64, 300),
    ):
        report(*pages_twice(random, queries, heads, kv_heads, dim, window))
    hidden = jnp.asarray(random.normal(size=(256, 64)), jnp.bfloat16)
    matrix = jnp.asarray(random.normal(size=(2048, 64)), jnp.bfloat16)
    targets = jnp.asarray(random.integers(0, 2000, 256), jnp.int32)
    mask = jnp.asarray(random.uniform(size=256), jnp.float32)
    ours = jax.jit(lambda *given: _nats_and_excess(*given, 2000))
    got, again = (ours(hidden, targets, mask, matrix) for _ in range(2))
    nats, logits, norm = _nats(hidden, targets, mask, matrix, None, 2000)
    excess = jnp.exp(logits - norm[:, None]) - (jnp.arange(2048) == targets[:, None])
    report("cross-entropy", got, again, (nats, mask[:, None] * excess))
    for dtype in (jnp.float32, jnp.bfloat16):
        x = jnp.asarray(random.normal(size=(4096, 768)) * 3 + 1, dtype)
        above = jnp.asarray(random.normal(size=x.shape), dtype)
        scale, bias = (jnp.asarray(random.normal(size=768), dtype) for _ in range(2))

        ours = jax.jit(
            lambda *given: jax.vjp(lambda *p: norm_rows(*p, 1e-5), *given[:3])[1](given[3])
        )
        got, again = (ours(x, scale, bias, above) for _ in range(2))
        with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
            wide = [jnp.asarray(np.asarray(a, np.float64)) for a in (x, scale, bias, above)]
            wanted = jax.vjp(_float64_norm, *wide[:3])[1](wide[3])
            wanted = jax.tree.map(np.asarray, wanted)
        report(f"gradients of the norm, {dtype.__name__}", got, again, wanted, 1e-2)
        beside = jnp.asarray(random.normal(size=x.shape), dtype)
        ours = jax.jit(
            lambda *given: jax.vjp(lambda *p: norm_beside(*p, 1e-5), *given[:3])[1](given[3:])
        )
        got, again = (ours(x, scale, bias, beside, above) for _ in range(2))
        wanted = (wanted[0] + np.asarray(beside, np.float64), *wanted[1:])
        report(f"… beside a residual, {dtype.__name__}", got, again, wanted, 1e-2)
    short_rows(random)
    product_with_act(random)
    for rows, width in ((4096, 2048), (4096, 768)):
        x, above, beside = (
            jnp.asarray(random.normal(size=(rows, width)) * 3, jnp.bfloat16) for _ in range(3)
        )
        scale = jnp.asarray(random.normal(size=width), jnp.bfloat16)
        assert has_norm_kernel(x.shape, x.dtype)
        ours = jax.jit(lambda *given: jax.vjp(lambda *p: _rms(norm_beside, *p), *given))
        (got, back), (again, _) = (ours(x, scale) for _ in range(2))
        with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
            wide = [jnp.asarray(np.asarray(a, np.float64)) for a in (x, scale, above)]
            y, pull = jax.vjp(_float64_rms, *wide[:2])
            wanted = [np.asarray(a) for a in (y, *pull(wide[2]))]
        report(f"RMS norm of {rows}×{width}", got[1], again[1], wanted[0])
        got, again = (jax.jit(back)((beside, above)) for _ in range(2))
        wanted[1] = wanted[1] + np.asarray(beside, np.float64)
        report("… its gradients beside a residual", got, again, wanted[1:])
    for act in (gelu, gelu_tanh, quick_gelu):
        x, above = (jnp.asarray(random.normal(size=(4096, 3072)) * 2, jnp.bfloat16) for _ in "ab")
        bias = jnp.asarray(random.normal(size=3072), jnp.bfloat16)
        assert act_rows.has_kernel(x.shape, x.dtype, act)
        ours = jax.jit(lambda *g, act=act: jax.vjp(lambda *p: act_rows.act_rows(*p, act), *g[:2]))
        (got, back), (again, _) = (ours(x, bias) for _ in range(2))
        report(act.__name__, got, again, act_rows.plain(act, x, bias))
        got, again = (jax.jit(back)(above) for _ in range(2))
        report("… its gradient", got, again, act_rows.plain_gradient(act, x, bias, above))
    ids = jnp.asarray(np.minimum(random.zipf(1.2, 32768), 50257) - 1, jnp.int32)
    x = jnp.asarray(random.normal(size=(32768, 768)), jnp.bfloat16)
    wanted = np.zeros((50257, 768))
    np.add.at(wanted, np.asarray(ids), np.asarray(x, np.float64))
    ours = jax.jit(lambda ids, x: sum_by_id(ids, x, 50257))
    report("sums by id", ours(ids, x), ours(ids, x), wanted)
    sys.exit(failed)


def short_rows(random: np.random.Generator) -> None:
    """Attention of short rows and its gradients, against plain products in float32."""
    for num, heads, visible, merged in (
        (50, 12, Visible(), True),
        (77, 8, Visible(causal=True), True),
        (128, 12, Visible(lengths=jnp.asarray([128, 0, 3, 100, 1])), True),
        (128, 2, Visible(segments=(jnp.asarray([[0] * 50 + [1] * 70 + [2] * 8] * 5),) * 2), True),
        (33, 2, Visible(causal=True, lengths=jnp.asarray([33, 0, 3, 7, 1])), True),
        (64, 3, Visible(), False),
        (100, 3, Visible(causal=True, lengths=jnp.asarray([100, 0, 3, 70, 1])), False),
    ):
        parts = 3 if merged else 0
        shape = (5, num, heads, 64)
        q, k, v, above = (jnp.asarray(random.normal(size=shape), jnp.bfloat16) for _ in range(4))
        bias = jnp.asarray(random.normal(size=(3, heads, 64)), jnp.bfloat16) if parts else None
        assert has_short_kernel(shape, num, heads, q.dtype, visible)
        ids = ids_of(shape, visible)

        def ours(
            q: Any, k: Any, v: Any, bias: Any, *, visible: Any = visible, ids: Any = ids
        ) -> Any:
            arrays = (q, k, v) if bias is None else (jnp.stack([q, k, v], axis=2),)
            return short_attention(arrays, ids, bias, causal=visible.causal, scale=0.125)

        def plain(q: Any, k: Any, v: Any, bias: Any, *, visible: Any = visible) -> Any:
            q, k, v = (
                (q, k, v) if bias is None else (x + b for x, b in zip((q, k, v), bias, strict=True))
            )
            return attention(q, k, v, visible, scale=0.125, backend="xla")

        def both(run: Any, above: Any, *given: Any) -> Any:
            out, back = jax.vjp(run, *given)
            return out, back(above)

        run = jax.jit(lambda *given, ours=ours: both(ours, *given))
        got, again = (run(above, q, k, v, bias) for _ in range(2))
        wide = jax.tree.map(lambda x: x.astype(jnp.float32), (above, q, k, v, bias))
        with jax.default_matmul_precision("highest"):
            wanted = both(plain, *wide)
        got, again, wanted = ((x[0], *x[1]) for x in (got, again, wanted))
        for name, *each in zip(("out", "q", "k", "v", "bias"), got, again, wanted, strict=True):
            if each[0] is not None:
                report(f"short rows {num}, {visible_name(visible)}, {name}", *each, 3e-2)


def visible_name(visible: Visible) -> str:
    names = [name for name in ("lengths", "segments") if getattr(visible, name) is not None]
    return " ".join(["causal"] * visible.causal + names) or "all"


def product_with_act(random: np.random.Generator) -> None:
    """A product that ends in its activation, against XLA's."""
    given = [
        jnp.asarray(random.normal(size=shape) * size, jnp.bfloat16)
        for shape, size in (((8192, 768), 1), ((768, 3072), 0.04), ((3072,), 1))
    ]
    assert act_product.has_kernel(given[0], given[1], quick_gelu)
    run = jax.jit(lambda *given: act_product.act_product(*given, quick_gelu))
    got, again = run(*given), run(*given)
    report("product with quick-GELU", got, again, act_product.plain(quick_gelu, *given))


def check_rows(random: np.random.Generator, kinds: list[str]) -> None:
    """Products of a few rows and attention of one place, against plain JAX in float32."""

    def drawn(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(size=shape), jnp.bfloat16)

    def wide(tree: Any) -> Any:
        return jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype == jnp.bfloat16 else x, tree)

    def weight(bits: int, outputs: int, width: int) -> row_products.Held:
        if bits == 16:
            return row_products.Held(drawn(outputs, width))
        if bits == 8:
            values = random.integers(-127, 128, (outputs, width))
            scales = random.uniform(0.5, 1, outputs)
            return row_products.Held(jnp.asarray(values, jnp.int8), jnp.asarray(scales))
        words = random.integers(0, 2**32, (outputs, width // 8), np.uint32)
        scales = random.uniform(0.5, 1, (width // 64, outputs))
        return row_products.Held(jnp.asarray(words), jnp.asarray(scales, jnp.float16))

    def check(name: str, kernel: Any, plain: Any, given: Any) -> None:
        run = jax.jit(kernel)
        got, again = run(*given), run(*given)
        with jax.default_matmul_precision("highest"):
            report(name, got, again, jax.jit(plain)(*wide(given)))

    for bits in (int(kind) for kind in kinds if kind != "attention"):
        for rows, width, outputs, norm_of, has_bias, act, is_gated in (
            (1, 768, (768, 768, 768), "layer", True, None, False),
            (1, 2048, (2048, 2048, 2048), "rms", False, None, False),
            (1, 2048, (5376, 5376), "rms", False, silu, True),
            (1, 5376, (2048,), None, False, None, False),
            (2, 3072, (768,), None, True, None, False),
            (3, 384, (771,), "rms", True, gelu_tanh, False),
            (4, 2048, (50257,), "layer", False, None, False),
        ):
            is_centred = norm_of == "layer"
            shift = drawn(width) if is_centred else None
            norm = row_products.Norm(drawn(width), shift, 1e-5, is_centred)
            around = row_products.Around(
                None if norm_of is None else norm,
                tuple(drawn(num) for num in outputs if has_bias),
                drawn(rows, outputs[0]) if norm_of is None else None,
            )
            held = tuple(weight(bits, num, width) for num in outputs)
            x = drawn(rows, width)
            assert row_products.has_kernel(x.shape, x.dtype, held, act)
            how = {"act": act, "is_gated": is_gated}
            check(
                f"{rows}×{width}×{outputs} in {bits} bits",
                partial(row_products.row_products, **how),
                partial(row_products.plain, **how),
                (x, held, around),
            )
    if "attention" not in kinds:
        return
    for batch, heads, kv_heads, dim, capacity, lengths in (
        (1, 12, 12, 64, 512, [300]),
        (1, 16, 16, 128, 1024, [1023]),
        (3, 8, 2, 128, 96, [0, 95, 32]),
    ):
        places = jnp.asarray(lengths, jnp.int32)
        angles = places[:, None] * 10_000.0 ** (-jnp.arange(0, dim, 2) / dim)
        turn = (jnp.cos(angles), jnp.sin(angles)) if dim == 128 else None
        new = (drawn(batch, num, dim) for num in (heads, kv_heads, kv_heads))
        caches = (drawn(batch, kv_heads, capacity, dim) for _ in range(2))
        assert has_row_kernel((batch, kv_heads, capacity, dim), jnp.bfloat16)
        check(
            f"attention of one place, {heads} heads of {dim}, {lengths} places",
            partial(append_and_attend, scale=0.1),
            partial(plain_append, scale=0.1),
            (*new, *caches, places, turn),
        )


def pages_twice(
    random: np.random.Generator,
    queries: int,
    heads: int,
    kv_heads: int,
    dim: int,
    window: int | None,
) -> tuple[str, Any, Any, Any]:
    """Attention to pages: the kernel twice, and the plain form on the host."""
    rows, width = 24, 12
    keys, values = (
        jnp.asarray(random.normal(size=(rows * width, kv_heads, 64, dim)), jnp.bfloat16)
        for _ in range(2)
    )
    q = jnp.asarray(random.normal(size=(rows, queries, heads, dim)), jnp.bfloat16)
    tables = jnp.asarray(random.permutation(rows * width).reshape(rows, width), jnp.int32)
    starts = random.integers(0, 64 * width, rows)
    starts = jnp.asarray(starts if queries == 1 else starts // 64 * 64, jnp.int32)
    nums = jnp.asarray(random.integers(1, queries + 1, rows), jnp.int32)
    assert has_paged_kernel(64, heads // kv_heads, dim, q.dtype)
    given = q, keys, values, tables, starts, starts + nums
    kernel = jax.jit(lambda *given: attend_pages(*given, scale=0.2, window=window))
    got, again = kernel(*given), kernel(*given)
    # In float32 there is no kernel, and with it the plain form.
    pages = Pages(keys.astype(jnp.float32)), Pages(values.astype(jnp.float32))
    plain = Paged(*pages, Rows(tables, starts, nums, rows if queries == 1 else 0))
    flat = q.astype(jnp.float32).reshape(1, -1, heads, dim)
    with jax.default_matmul_precision("highest"):
        wanted = plain.attend(flat, scale=0.2, window=window).reshape(q.shape)
    real = (jnp.arange(queries) < nums[:, None])[..., None, None]
    got, again, wanted = (jnp.where(real, x, 0) for x in (got, again, wanted))
    name = f"pages, {queries} queries, {heads} and {kv_heads} heads of {dim}, window {window}"
    return name, got, again, wanted


def _rms(norm: Any, x: jax.Array, scale: jax.Array) -> Any:
    return norm(x, scale, None, 1e-5, False)


def _float64_rms(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x / jnp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * scale


def _float64_norm(x: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    y = x - x.mean(axis=-1, keepdims=True)
    return y / jnp.sqrt((y * y).mean(axis=-1, keepdims=True) + 1e-5) * scale + bias


if __name__ == "__main__":
    main()
