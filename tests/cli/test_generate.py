from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models import Decoder, DecoderConfig, generate, save
from barrow.models.load import load
from barrow.tokens import ByteTokenizer


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


def saved(folder: Path, *, hidden: int = 16) -> Path:
    """A decoder of bytes with random weights and its tokenizer, in a Hugging Face folder."""
    config = DecoderConfig(
        vocab_size=259, width=16, layers=1, heads=2, hidden=hidden, context=48, init_std=0.5
    )
    made = Decoder(config)
    params = drawn(made, jnp.zeros((1, 1), jnp.int32))
    save(folder, made, params, tokenizer="bytes", begin=256, stops=(256,))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path / "model")


def test_text_behind_a_prompt(barrow: Callable, model: Path) -> None:
    code, out, err = barrow("generate", model, "--prompt", "ab", "--max-tokens", 12)
    assert (code, err) == (0, "")
    assert out.startswith("ab")
    assert barrow("generate", model, "--prompt", "ab", "--max-tokens", 12).out == out


def test_programs_are_kept(barrow: Callable, tmp_path: Path, cache: Path) -> None:
    def kept(name: str) -> int:
        return len(list((cache / "compiled").glob(f"jit_{name}-*")))

    before = kept("prefill"), kept("decode")
    model = saved(tmp_path / "other", hidden=24)  # nothing else here compiles its programs
    assert barrow("generate", model, "--prompt", "ab", "--max-tokens", 2).code == 0
    assert kept("prefill") > before[0]
    assert kept("decode") > before[1]


def test_a_changed_text_is_said_in_one_line(barrow: Callable, model: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(model, tmp_path / "changed")
    with (changed / "config.json").open("a") as file:
        file.write("\n")
    words = "config.json changed after the model was written, and is used as it is"
    code, out, err = barrow("generate", changed, "--prompt", "a", "--max-tokens", 1)
    assert (code, err) == (0, f"barrow: {changed}: {words}\n")
    assert out == barrow("generate", model, "--prompt", "a", "--max-tokens", 1).out


def test_json_has_the_tokens(barrow: Callable, model: Path) -> None:
    """Two devices share the parameters, and draw what one draws."""
    asked = ("generate", model, "--prompt", "ab", "--max-tokens", 12)
    code, out, _ = barrow(*asked, "--json", "--tensor", 2)
    assert code == 0
    result = json.loads(out)
    assert result["prompt_tokens"] == [256, 97, 98]
    loaded = load(model, unstack=True)
    (expected,) = generate(loaded.model, loaded.params, [[256, 97, 98]], max_tokens=12, stops=[256])
    assert result["tokens"] == expected.tokens.tolist()
    assert result["reason"] == expected.reason
    assert result["text"] == ByteTokenizer().decode(expected.tokens)


def test_the_seed_decides(barrow: Callable, model: Path) -> None:
    def draw(seed: int) -> str:
        options = ("--temperature", 1.2, "--top-k", 50, "--top-p", 0.95, "--seed", seed)
        return str(barrow("generate", model, "--prompt", "a", *options, "--json").out)

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_an_empty_prompt_is_the_begin_token(barrow: Callable, model: Path) -> None:
    result = json.loads(barrow("generate", model, "--max-tokens", 2, "--json").out)
    assert result["prompt_tokens"] == [256]
    code, _, err = barrow("generate", model, "--no-begin")
    assert code == 1
    assert "the prompt is empty" in err


def test_without_a_number_it_fills_the_context(barrow: Callable, model: Path) -> None:
    result = json.loads(barrow("generate", model, "--prompt", "x" * 40, "--json").out)
    assert result["reason"] == "stop" or len(result["tokens"]) == 48 - 41


def test_bad_input(barrow: Callable, model: Path, tmp_path: Path) -> None:
    code, out, err = barrow("generate", model, "--prompt", "ab", "--max-tokens", 46)
    assert (code, out) == (1, "")
    assert "the model's 48 positions; max_tokens can be at most 45" in err
    code, _, err = barrow("generate", model, "--top-k", 3)
    assert code == 1
    assert "need a temperature above 0" in err
    code, _, err = barrow("generate", tmp_path / "nowhere", "--prompt", "a")
    assert code == 1
    assert "does not exist" in err
    code, _, err = barrow("generate", "no/where", "--prompt", "a")
    assert code == 1
    assert "there is no file or folder no/where; no/where is not in" in err
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (model / name).unlink(missing_ok=True)
    code, _, err = barrow("generate", model, "--prompt", "a")
    assert code == 1
    assert "the model has no tokenizer beside it" in err
    code, out, _ = barrow(
        "generate", model, "--prompt", "a", "--tokenizer", "bytes", "--max-tokens", 2
    )
    assert code == 0
    assert out.startswith("a")


def test_show_reads_no_weights(barrow: Callable, model: Path) -> None:
    code, out, _ = barrow("model", "show", model)
    assert code == 0
    assert "gpt2: " in out
    assert "context = 48" in out
    assert "keys matched" in out
    found = json.loads(barrow("model", "show", model, "--json").out)
    assert found["config"]["width"] == 16
    assert found["report"]["missing"] == []


def test_list_names_the_families(barrow: Callable, model: Path) -> None:
    out = barrow("model", "list").out
    for family in ("gpt2", "gpt_neox", "llama", "mistral", "qwen2"):
        assert family in out
    assert "llama" in json.loads(barrow("model", "list", "--json").out)["families"]


def test_an_unknown_architecture(barrow: Callable, model: Path) -> None:
    (model / "config.json").write_text('{"model_type": "t5"}')
    code, _, err = barrow("model", "show", model)
    assert code == 1
    assert "model_type 't5' is not supported; supported are gpt2" in err


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    lines = [{"prompt": "a" * (number % 7)} for number in range(12)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_a_file_of_prompts(barrow: Callable, model: Path, prompts: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    options = ("--prompts", prompts, "--out", out, "--max-tokens", 9)
    code, said, err = barrow("generate", model, *options)
    assert (code, err) == (0, "")
    assert said == f"12 answers in {out}\n"
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [answer["prompt"] for answer in found] == ["a" * (number % 7) for number in range(12)]
    one = json.loads(barrow("generate", model, "--prompt", "aaa", "--max-tokens", 9, "--json").out)
    assert found[3] == {key: one[key] for key in ("prompt", "text", "reason", "tokens")}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "answers.jsonl",
        "model",
        prompts.name,
    ]
    code, _, err = barrow("generate", model, *options)
    assert code == 1
    assert f"{out} exists; pass another file, or delete it" in err
    # Interrupted after three answers and a part of the fourth.
    lines = out.read_bytes().splitlines(keepends=True)
    out.unlink()
    asked = started(barrow, model, options, out)
    partial = tmp_path / "answers.jsonl.partial"
    mark = b'{"prompt": "", "text": "kept", "reason": "stop", "tokens": []}\n'
    partial.write_bytes(asked + mark + lines[1] + lines[2] + lines[3][:9])
    assert barrow("generate", model, *options).code == 0
    assert out.read_bytes() == mark + b"".join(lines[1:])
    out.unlink()
    partial.write_bytes(asked + lines[0])
    code, _, err = barrow("generate", model, *options, "--seed", 3)
    assert code == 1
    assert f"{partial} was begun with other prompts or options" in err


def started(barrow: Callable, model: Path, options: tuple[object, ...], out: Path) -> bytes:
    """The first line of a partial file: of a run that fails at its first answer."""
    tokenizer = model / "tokenizer.json"
    kept = tokenizer.read_bytes()
    tokenizer.unlink()
    assert barrow("generate", model, *options).code == 1
    tokenizer.write_bytes(kept)
    partial = out.with_name(f"{out.name}.partial")
    line = partial.read_bytes()
    assert line.count(b"\n") == 1
    return line


def test_files_of_prompts_that_cannot_be_answered(
    barrow: Callable, model: Path, prompts: Path, tmp_path: Path
) -> None:
    def refused(*options: object) -> str:
        code, _, err = barrow("generate", model, "--out", tmp_path / "a.jsonl", *options)
        assert code in (1, 2)
        return str(err)

    assert "pass --prompt, or --prompts with --out" in refused("--prompt", "a")
    assert "pass --prompt, or --prompts with --out" in refused()
    assert "max_tokens can be at most" in refused("--prompts", prompts, "--max-tokens", 46)
    assert "prompts.jsonl:3: " in refused("--prompts", prompts, "--max-tokens", 46)
    for text, message in (
        ("", "has no prompts"),
        ('{"prompt": 3}\n', 'prompts.jsonl:1: expected {"prompt": "…"}'),
        ('{"prompt": "a"}\n[]\n', "prompts.jsonl:2: expected"),
        ("{\n", "prompts.jsonl:1 is not JSON"),
    ):
        prompts.write_text(text)
        assert message in refused("--prompts", prompts)
    code, _, err = barrow("generate", model, "--exact")
    assert code == 2
    assert "--exact needs --prompts" in err
