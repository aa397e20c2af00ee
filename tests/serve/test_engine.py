"""The engine: whole answers, beside `generate` and transformers (DEEPSPEED-2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models import Decoder, DecoderConfig, generate, save
from barrow.models.decoder.generate import for_decoding
from barrow.nn.attention.rotary import Rotary
from barrow.nn.attention.visible import Sparse
from barrow.nn.layers.experts import Routing
from barrow.nn.layers.repeat import put_together
from barrow.serve.engine import Engine
from barrow.serve.pages import PAGE
from barrow.serve.programs import EngineSettings
from barrow.serve.requests import Answer, Choice, Request
from barrow.tokens import ByteTokenizer

CONFIG = DecoderConfig(
    vocab_size=259,
    width=32,
    layers=2,
    heads=4,
    kv_heads=2,
    hidden=48,
    context=320,
    norm="rms",
    activation="silu",
    gated=True,
    attention_bias=False,
    out_bias=False,
    mlp_bias=False,
    rotary=Rotary(),
    init_std=0.4,
)


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


@cache
def model() -> tuple[Decoder, Any]:
    made = Decoder(CONFIG)
    return made, for_decoding(drawn(made, jnp.zeros((1, 1), jnp.int32)))


def prompts(num: int) -> list[list[int]]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 256, rng.integers(1, 200)).tolist() for _ in range(num)]


@pytest.fixture(scope="module")
def engine() -> Engine:
    settings = EngineSettings(
        slots=4, parts=(2,), max_tokens_in_flight=PAGE * 24, reads_prompts=True
    )
    return Engine(*model(), settings=settings, tokenizer=ByteTokenizer())


@pytest.fixture(scope="module")
def exact() -> Engine:
    """So few pages that requests take them from one another."""
    settings = EngineSettings(
        slots=3, parts=(2,), max_tokens_in_flight=PAGE * 5, exact=True, reads_prompts=True
    )
    return Engine(*model(), settings=settings)


def answered(engine: Engine, requests: Sequence[Request]) -> list[Answer]:
    answers = [engine.submit(request) for request in requests]
    while not engine.is_idle:
        engine.step()
    engine.scheduler.check()
    assert engine.scheduler.pages.num_used == 0
    return answers


@contextmanager
def compilations() -> Iterator[list[str]]:
    events: list[str] = []

    def heard(event: str, seconds: float, **_: Any) -> None:
        del seconds
        if "compile" in event:
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        yield events
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)


def test_greedy_as_generate(engine: Engine) -> None:
    found = answered(engine, [Request(prompt, 40) for prompt in prompts(6)])
    expected = generate(*model(), prompts(6), max_tokens=40)
    assert [answer.tokens for answer in found] == [row.tokens.tolist() for row in expected]
    assert {answer.reason for answer in found} == {"length"}


def test_greedy_as_transformers(engine: Engine, tmp_path: Path) -> None:
    import torch
    import transformers

    made, params = model()
    save(tmp_path / "model", made, put_together(params, "layers"))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    chosen = prompts(3)
    # The same prompts before them: what is read is computed, though others could share its pages.
    answered(engine, [Request(prompt, 1) for prompt in chosen])
    asked = [Request(prompt, 24, num_top=5, reads_prompt=True) for prompt in chosen]
    found = answered(engine, asked)
    assert max(map(len, chosen)) > 2 * PAGE
    for prompt, answer in zip(chosen, found, strict=True):
        ids = torch.tensor([prompt])
        whole = theirs.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=24,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        assert answer.tokens == whole.sequences[0, len(prompt) :].tolist()
        logits = torch.stack(whole.logits)[:, 0].log_softmax(-1)
        expected = logits[torch.arange(24), torch.tensor(answer.tokens)]
        np.testing.assert_allclose(answer.logprobs, expected.numpy(), atol=1e-3)
        with torch.no_grad():
            logits = torch.cat([theirs(ids).logits[0, :-1].log_softmax(-1), logits])
        every = [*prompt[1:], *answer.tokens]
        expected = logits[torch.arange(len(every)), torch.tensor(every)]
        known = [*answer.prompt_logprobs, *answer.logprobs]
        np.testing.assert_allclose(known, expected.numpy(), atol=1e-3)
        tops = np.array([*answer.prompt_top, *answer.top])
        np.testing.assert_allclose(tops[..., 1], logits.topk(5).values.numpy(), atol=1e-3)
        assert (tops[..., 0] == logits.topk(5).indices.numpy()).mean() > 0.99


def test_a_prompt_alone_may_be_read(engine: Engine) -> None:
    prompt = prompts(3)[2]
    reading = Request(prompt, 0, reads_prompt=True)
    one, more = answered(engine, [reading, Request(prompt, 2, reads_prompt=True)])
    assert (one.tokens, one.reason, one.prompt_top[0]) == ([], "length", ())
    assert one.prompt_logprobs == more.prompt_logprobs
    assert len(one.prompt_logprobs) == len(prompt) - 1
    longest = Request([3] * 320, 0, reads_prompt=True)
    assert len(answered(engine, [longest])[0].prompt_logprobs) == 319


def mixed(num: int, *, seed: int) -> list[Request]:
    """Requests with common prefixes, and all kinds of settings."""
    rng = np.random.default_rng(seed)
    common = rng.integers(0, 256, 150).tolist()
    found = []
    for number in range(num):
        prompt = rng.integers(0, 256, rng.integers(1, 150)).tolist()
        if number % 3 == 0:
            prompt = common[: rng.integers(64, 150)] + prompt[:30]
        choice = Choice(
            temperature=number % 4 / 2,
            top_k=int(rng.integers(1, 60)) if number % 5 == 0 else None,
            top_p=float(rng.uniform(0.5, 1)) if number % 2 else 1.0,
            min_p=0.02 * (number % 3),
            repetition=1.1 if number % 7 == 0 else 1.0,
            presence=0.3 * (number % 6 == 0),
            frequency=0.2 * (number % 5 == 1),
            bias={7: 2.0} if number % 8 == 0 else {},
            seed=number,
        )
        num = int(rng.integers(1, 24))
        found.append(
            Request(prompt, num, choice, num_top=3 * (number % 3), reads_prompt=number % 6 == 3)
        )
    return found


def exactly_as_alone(engine: Engine, num: int) -> None:
    requests = mixed(num, seed=1)
    alone = [answered(engine, [request])[0] for request in requests]
    rng = np.random.default_rng(2)
    order = rng.permutation(num).tolist()
    together: dict[int, Answer] = {}
    before = engine.scheduler.num_preempted, engine.scheduler.num_shared
    while order or not engine.is_idle:
        for _ in range(rng.integers(0, 3)):
            if order:
                number = order.pop()
                together[number] = engine.submit(requests[number])
        engine.step()
    assert engine.scheduler.num_preempted > before[0]
    assert engine.scheduler.num_shared > before[1]
    for number, answer in enumerate(alone):
        assert together[number].tokens == answer.tokens
        assert together[number].logprobs == answer.logprobs
        assert together[number].top == answer.top
        assert together[number].prompt_logprobs == answer.prompt_logprobs


def test_exact_answers_do_not_depend_on_the_others(exact: Engine) -> None:
    exactly_as_alone(exact, 60)


@pytest.mark.soak
def test_a_thousand_exact_answers_do_not_depend_on_the_others(exact: Engine) -> None:
    exactly_as_alone(exact, 1000)


def test_preempted_requests_are_computed_again(engine: Engine, exact: Engine) -> None:
    """Greedy answers of an engine with few pages are those of one with enough."""
    requests = [Request(prompt[:60], 80) for prompt in prompts(4)]
    before = exact.scheduler.num_preempted
    few = answered(exact, requests)
    assert exact.scheduler.num_preempted > before
    assert [a.tokens for a in few] == [a.tokens for a in answered(engine, requests)]


def test_nothing_is_compiled_after_the_start(engine: Engine) -> None:
    with compilations() as events:
        answered(engine, mixed(12, seed=5))
        answered(engine, [Request([1, 2], 3, allowed=lambda _: np.arange(259) < 9)])
    assert events == []
    with compilations() as events:
        jax.jit(lambda x: x * 3 - 1)(jnp.arange(7.0))
    assert events


def test_results_are_read_one_step_late(engine: Engine) -> None:
    """The device has the next step before the host waits for the last."""
    answer = engine.submit(Request([1, 2], 3))
    assert engine.step() == []
    assert engine.step() == [answer]
    assert len(answer.tokens) == 1
    while not engine.is_idle:
        engine.step()


def test_pages_are_what_memory_leaves(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an accelerator: what the largest program needs, by its analysis, is not for pages."""

    class Device:
        platform = "gpu"
        limit = 0

        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": self.limit, "bytes_in_use": 1000}

    device, programs = Device(), engine.programs
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    page = 2 * CONFIG.layers * CONFIG.num_kv_heads * PAGE * CONFIG.size_of_head * 4
    with pytest.raises(MemoryError, match="keys and values of 320 tokens need 0.0 GB"):
        programs._num_pages(None)
    device.limit = 10**12
    assert programs._num_pages(None) == 40  # all slots with the longest text, twice
    device.limit = 10 * page
    with pytest.raises(MemoryError):  # ten pages, but for what the program needs
        programs._num_pages(None)


@pytest.mark.soak
def test_int8_weights_and_cache(engine: Engine) -> None:
    """Log-probabilities near those of float32, and not the same."""
    small = EngineSettings(
        slots=2, parts=(1,), max_tokens_in_flight=PAGE * 6, cache_dtype="int8", int8_weights=True
    )
    request = Request(prompts(3)[2], 1)
    (plain,), (rounded,) = (
        answered(one, [request]) for one in (engine, Engine(*model(), settings=small))
    )
    assert rounded.tokens == plain.tokens
    assert 0 < abs(rounded.logprobs[0] - plain.logprobs[0]) < 0.3


def test_the_seed_and_the_position_decide(engine: Engine) -> None:
    requests = [Request([5, 6], 20, Choice(temperature=1.0, seed=seed)) for seed in (1, 1, 2)]
    first, second, other = (answer.tokens for answer in answered(engine, requests))
    assert first == second
    assert first != other


def test_a_plain_engine_draws_the_same(engine: Engine) -> None:
    settings = EngineSettings(slots=4, parts=(2,), max_tokens_in_flight=PAGE * 24, plain=True)
    plain = Engine(*model(), settings=settings)
    requests = [
        Request(prompt, 8, Choice(temperature=number % 2, seed=number))
        for number, prompt in enumerate(prompts(6))
    ]
    one, other = answered(engine, requests), answered(plain, requests)
    assert [a.tokens for a in one] == [a.tokens for a in other]
    with pytest.raises(ValueError, match="need EngineSettings\\(plain=False\\)"):
        plain.submit(Request([1], 1, Choice(temperature=1.0, top_k=3)))


def test_answers_end_before_a_stop(engine: Engine) -> None:
    (whole,) = answered(engine, [Request(prompts(1)[0], 40)])
    stop = whole.tokens[10]
    end = whole.tokens.index(stop)
    (cut,) = answered(engine, [Request(prompts(1)[0], 40, stops=[stop])])
    assert cut.tokens == whole.tokens[:end]
    assert cut.reason == "stop"
    text = whole.text
    assert text == ByteTokenizer().decode(whole.tokens)
    part = next(text[i : i + 3] for i in range(5, len(text)) if text[i : i + 3].isprintable())
    (cut,) = answered(engine, [Request(prompts(1)[0], 40, stop_texts=["never", part])])
    assert cut.text == text[: text.index(part)]
    assert cut.reason == "stop"


def test_only_allowed_tokens_are_drawn(engine: Engine) -> None:
    """`allowed` sees every token of the answer before the next is drawn."""
    seen: list[tuple[int, ...]] = []

    def allowed(tokens: Sequence[int]) -> np.ndarray:
        seen.append(tuple(tokens))
        return np.arange(259) == 40 + len(tokens)

    one = Request([3], 10, Choice(temperature=1.0), allowed=allowed)
    found = answered(engine, [Request([4], 30), one])
    assert found[1].tokens == list(range(40, 50))
    assert seen == [tuple(range(40, 40 + num)) for num in range(10)]


def test_a_bias_and_penalties_change_the_choice(engine: Engine) -> None:
    (plain,) = answered(engine, [Request([9, 8], 20)])
    (biased,) = answered(engine, [Request([9, 8], 5, Choice(bias={77: 1e6}))])
    assert biased.tokens == [77] * 5
    choice = Choice(bias={77: 1e3, 78: 1e3 - 1}, presence=10.0)
    (varied,) = answered(engine, [Request([9, 8], 2, choice)])
    assert varied.tokens == [77, 78]
    (again,) = answered(engine, [Request([9, 8], 20)])
    assert again.tokens == plain.tokens


def test_a_cancelled_request_gives_its_pages_back(engine: Engine) -> None:
    kept, dropped = (engine.submit(Request(prompt, 100)) for prompt in prompts(2))
    for _ in range(6):
        engine.step()
    used = engine.scheduler.pages.num_used
    engine.cancel(dropped)
    assert engine.scheduler.pages.num_used < used
    assert dropped.reason == "cancelled"
    engine.cancel(dropped)
    while not engine.is_idle:
        engine.step()
    assert engine.scheduler.pages.num_used == 0
    assert kept.tokens == answered(engine, [Request(prompts(1)[0], 100)])[0].tokens


def test_answers_of_a_stream_of_requests(engine: Engine) -> None:
    found = list(engine.run(Request(prompt, 5) for prompt in prompts(20)))
    assert sorted(map(len, (answer.request.prompt for answer in found))) == sorted(
        map(len, prompts(20))
    )
    assert all(len(answer.tokens) == 5 for answer in found)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request([], 1), "the prompt is empty"),
        (Request([1], 0), "max_tokens must be ≥ 1, got 0"),
        (Request([1], -1, reads_prompt=True), "max_tokens must be ≥ 0, got -1"),
        (Request([1], 1, num_top=21), "num_top must be from 0 to 20, got 21"),
        (Request([1] * 300, 21), "positions; max_tokens can be at most 20"),
        (Request([259], 1), "the prompt has token 259; ids must be from 0 to 258"),
        (Request([1], 1, Choice(bias={-1: 1.0})), "the bias has token -1"),
        (Request([1], 1, stop_texts=[""]), "at least one character"),
    ],
)
def test_bad_requests(engine: Engine, request_: Request, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine.submit(request_)
    assert engine.is_idle


def test_what_cannot_be_served() -> None:
    experts = DecoderConfig(vocab_size=9, width=8, heads=2, experts=Routing(), mlp_bias=False)
    with pytest.raises(ValueError, match="exact cannot be promised with experts"):
        Engine(Decoder(experts), {}, settings=EngineSettings(exact=True))
    sparse = DecoderConfig(vocab_size=9, width=8, heads=2, sparse=Sparse())
    with pytest.raises(ValueError, match="sparse attention cannot be served"):
        Engine(Decoder(sparse), {})
    for wrong, message in (
        ({"slots": 0}, "slots must be ≥ 1, got 0"),
        ({"parts": ()}, "parts must be numbers ≥ 1"),
        ({"max_tokens_in_flight": 63}, "must be ≥ 64, got 63"),
        ({"cache_dtype": "int4"}, "cache_dtype must be"),
    ):
        with pytest.raises(ValueError, match=message):
            EngineSettings(**wrong)
