from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.interrupted import dropped

from barrow import nn
from barrow.interrupt import remembered
from barrow.models import Completion, Decoder, DecoderConfig, Sampling, generate, stream
from barrow.models.decoder.decoding import decode, prefill
from barrow.models.decoder.generate import for_decoding
from barrow.nn.attention.rotary import Rotary

PROMPTS = [[5, 6, 7], [1] * 9, [20, 3, 9, 30, 4, 4]]


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


@cache
def model() -> tuple[Decoder, Any]:
    config = DecoderConfig(
        vocab_size=40,
        width=16,
        layers=2,
        heads=4,
        kv_heads=2,
        hidden=24,
        context=64,
        rotary=Rotary(),
        init_std=0.4,
    )
    made = Decoder(config)
    return made, for_decoding(drawn(made, jnp.zeros((1, 1), jnp.int32)))


def slowly(prompt: list[int], num: int) -> list[int]:
    """Greedy, by the whole forward pass for every token."""
    made, params = model()
    whole = Decoder(made.config, unroll=True)
    ids = list(prompt)
    run = jax.jit(lambda tokens: whole.apply(params, tokens)[0])
    for _ in range(num):
        row = np.zeros((1, 64), np.int32)
        row[0, : len(ids)] = ids
        ids.append(int(run(jnp.asarray(row))[0, len(ids) - 1].argmax()))
    return ids[len(prompt) :]


def test_with_a_cache_as_without() -> None:
    """Incremental decoding equals the full forward, rows of different lengths together."""
    found = generate(*model(), PROMPTS, max_tokens=20)
    for prompt, completion in zip(PROMPTS, found, strict=True):
        assert completion.tokens.tolist() == slowly(prompt, 20)
        assert completion.reason == "length"


def test_stacked_parameters_give_the_same() -> None:
    made, apart = model()
    stacked = drawn(made, jnp.zeros((1, 1), jnp.int32))
    found = [generate(made, p, PROMPTS[:1], max_tokens=5)[0].tokens for p in (apart, stacked)]
    assert np.array_equal(*found)


def test_rows_end_at_their_own_stop() -> None:
    whole = [
        completion.tokens.tolist() for completion in generate(*model(), PROMPTS, max_tokens=20)
    ]
    stops = [whole[0][4], whole[2][0]]
    found = generate(*model(), PROMPTS, max_tokens=20, stops=stops)
    for row, completion in zip(whole, found, strict=True):
        ends = [i for i, token in enumerate(row) if token in stops]
        expected = row[: ends[0]] if ends else row
        assert completion.tokens.tolist() == expected
        assert completion.reason == ("stop" if ends else "length")
    assert len(found[2].tokens) == 0


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_pieces_do_not_depend_on_how_they_are_cut(chunk: int) -> None:
    sampling = Sampling(0.9, top_k=20, top_p=0.95)
    whole = generate(*model(), PROMPTS, max_tokens=12, sampling=sampling, seed=4)
    stops = [int(whole[1].tokens[5])]
    pieces = list(
        stream(
            *model(), PROMPTS, max_tokens=12, sampling=sampling, seed=4, chunk=chunk, stops=stops
        )
    )
    assert [len(row) for row in pieces[0]] == [1, 1, 1]
    assert all(len(row) <= chunk for piece in pieces[1:] for row in piece)
    for row, completion in zip(zip(*pieces, strict=True), whole, strict=True):
        tokens = np.concatenate(row).tolist()
        full = completion.tokens.tolist()
        end = full.index(stops[0]) + 1 if stops[0] in full else len(full)
        assert tokens == full[:end]


def test_a_dropped_ctrl_c_stops_before_the_next_piece() -> None:
    sampling = Sampling(0.9, top_k=20, top_p=0.95)
    pieces = stream(*model(), PROMPTS, max_tokens=12, sampling=sampling, chunk=3, stops=[7])
    with pytest.raises(KeyboardInterrupt), remembered():
        assert len(next(pieces)) == 3
        dropped()
        pytest.fail(f"{next(pieces)}")


def test_the_seed_decides() -> None:
    def draw(seed: int, prompts: list[list[int]]) -> list[list[int]]:
        sampling = Sampling(1.0)
        found = generate(*model(), prompts, max_tokens=16, sampling=sampling, seed=seed)
        return [completion.tokens.tolist() for completion in found]

    first = draw(1, PROMPTS)
    assert first == draw(1, PROMPTS)
    assert first != draw(2, PROMPTS)
    assert draw(1, PROMPTS[:2]) == first[:2]
    same = draw(1, [PROMPTS[0]] * 2)
    assert same[0] != same[1]


def test_other_lengths_need_no_other_program() -> None:
    generate(*model(), [[1, 2, 3]], max_tokens=9)
    before = prefill._cache_size(), decode._cache_size()
    for prompt, num in (([1], 9), ([4, 5, 6, 7, 8], 8), ([9] * 7, 9)):
        generate(*model(), [prompt], max_tokens=num, stops=[3])
        generate(*model(), [prompt], max_tokens=num, stops=[3, 4, 5], seed=9)
    assert (prefill._cache_size(), decode._cache_size()) == before


def test_up_to_the_last_position() -> None:
    (completion,) = generate(*model(), [[3] * 60], max_tokens=4)
    assert completion.tokens.tolist() == slowly([3] * 60, 4)


@pytest.mark.parametrize(
    ("prompts", "options", "message"),
    [
        ([], {}, "no prompts"),
        ([[1], []], {}, "prompt 1 is empty: start it with"),
        ([[1] * 60], {"max_tokens": 5}, "the model's 64 positions; max_tokens can be at most 4"),
        ([[1] * 65], {"max_tokens": 1}, "at most 0, or shorten the prompt"),
        ([[40]], {}, "prompt 0 has token 40; ids must be from 0 to 39"),
        ([[-1]], {}, "prompt 0 has token -1"),
        ([[1]], {"max_tokens": 0}, "max_tokens and chunk must be ≥ 1"),
        ([[1]], {"stops": [-1]}, "stops must be ids ≥ 0"),
    ],
)
def test_bad_input(prompts: list[list[int]], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(*model(), prompts, **{"max_tokens": 3, **options})


def test_a_completion_has_its_fields() -> None:
    (found,) = generate(*model(), [[2]], max_tokens=1)
    assert isinstance(found, Completion)
    assert found.tokens.shape == (1,)


def test_several_tokens_in_a_turn_are_the_same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, params = model()
    prompts = [[1, 2, 3], [4]]
    (long, _) = generate(decoder, params, prompts, max_tokens=12)
    stop = int(long.tokens[9])
    cases: list[dict[str, Any]] = [
        {"max_tokens": 12},
        {"max_tokens": 12, "stops": [stop]},
        {"max_tokens": 12, "sampling": Sampling(1.0), "seed": 3},
        {"max_tokens": decoder.config.context - 3},  # whose buckets are no multiple of a turn
    ]
    wanted = [generate(decoder, params, prompts, **case) for case in cases]
    monkeypatch.setattr("barrow.models.decoder.decoding._tokens_of_a_turn", lambda: 5)
    decode.clear_cache()
    for case, before in zip(cases, wanted, strict=True):
        after = generate(decoder, params, prompts, **case)
        for ours, theirs in zip(after, before, strict=True):
            assert ours.reason == theirs.reason
            np.testing.assert_array_equal(ours.tokens, theirs.tokens)
    # Pieces that end within a turn.
    pieces = zip(*stream(decoder, params, prompts, max_tokens=12, chunk=7), strict=True)
    for ours, theirs in zip(map(np.concatenate, pieces), wanted[0], strict=True):
        np.testing.assert_array_equal(ours, theirs.tokens)
    decode.clear_cache()
