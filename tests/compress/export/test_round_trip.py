"""What makes a model usable survives exports: hf, gguf and barrow's own folders, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import pytest
import transformers
from tests.compress.export.published import FAMILIES, decided, publish

from barrow.compress.compressed import open_original, save_small
from barrow.compress.export.gguf import export_gguf
from barrow.compress.export.hf import export_hf
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme
from barrow.models.decoder.generate import generate
from barrow.models.open_model import open_model
from barrow.models.text import prompt_tokens
from barrow.models.tokenizer_files import TokenizerFiles
from barrow.weights.gguf.tensors import open_gguf
from barrow.weights.gguf.tokenizer import gguf_tokenizer, gguf_tokenizer_config

CHAT = [
    {"role": "user", "content": "How  many stones?"},
    {"role": "assistant", "content": "1234"},
    {"role": "user", "content": "A cart?"},
]
# A sample; `make soak` runs them all.
SOME = [
    family if family in ("llama2", "qwen2") else pytest.param(family, marks=pytest.mark.soak)
    for family in FAMILIES
]
PROMPTS = ["The barrow", " 56 stones,\n\tnaïve 日本", "a<s>b<|im_end|>c <tool_call>d", "[PAD415]"]


def facts(folder: Path) -> dict[str, Any]:
    """As transformers has them."""
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    ends = config["eos_token_id"]
    said = json.loads((folder / "tokenizer_config.json").read_text())
    unsaid = ("chat_template", "added_tokens_decoder")
    flags = {key: value for key, value in said.items() if key not in unsaid}
    kept = ("bos_token", "eos_token", "unk_token", "pad_token")
    template = theirs.chat_template
    chat = template and theirs.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    return {
        "flags": {key: value for key, value in flags.items() if key not in kept},
        "special": [getattr(theirs, name) for name in kept],
        "template": template,
        "chat": chat,
        "ids": [theirs(text).input_ids for text in PROMPTS],
        "config": [
            config["bos_token_id"],
            set(ends if isinstance(ends, list) else [ends]),
            config.get("pad_token_id"),
        ],
        "readme": [
            line.replace('"', "").replace("''", "'").replace("'h", "h").replace("s'", "s")
            for line in (folder / "README.md").read_text().splitlines()
            if line.startswith("license")
        ],
    }


def ours(path: Path) -> dict[str, Any]:
    """As they are here."""
    words = open_model(path).words
    tokenizer, template = words.open(), words.template()
    return {
        "ids": [tokenizer.encode_prompt(text).tolist() for text in PROMPTS],
        "roles": (tokenizer.begin, tokenizer.end, tokenizer.pad),
        "text": tokenizer.decode(tokenizer.encode("The  barrow's 12")),
        "template": None if template is None else (template.source, template.variables),
        "ends": (words.begin, set(words.stops), words.pad),
        "license": words.card["license"],
    }


@pytest.mark.parametrize("family", SOME)
def test_a_model_is_as_usable_after_exports(family: str, tmp_path: Path) -> None:
    first = publish(family, tmp_path / "Tiny-Model")
    export_gguf(first, tmp_path / "model.gguf", stored="q8_0")
    export_hf(tmp_path / "model.gguf", tmp_path / "hf")
    wanted, found = facts(first), facts(tmp_path / "hf")
    assert found == wanted
    mine = ours(first)
    # transformers 5 ignores the normalizer of a Llama's tokenizer.json: see PROMPTS[1:].
    num = 1 if family == "llama2" else len(PROMPTS)
    assert mine["ids"][:num] == wanted["ids"][:num]
    assert ours(tmp_path / "model.gguf") == ours(tmp_path / "hf") == mine
    original = open_original(tmp_path / "model.gguf")
    small = quantized(original.model, original.params, Scheme("int8", method="nearest"), None)
    save_small(tmp_path / "small", original, small, "int8")
    assert ours(tmp_path / "small") == mine
    export_hf(tmp_path / "small", tmp_path / "again")
    assert facts(tmp_path / "again") == facts(tmp_path / "hf")


def metadata(path: Path) -> dict[str, Any]:
    """Of a file, read by the library of the format."""
    fields = gguf.GGUFReader(path).fields
    return {name: field.contents() for name, field in fields.items()}


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (
            "llama2",
            {
                "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.add_space_prefix": True,
                "tokenizer.ggml.add_bos_token": True,
                "tokenizer.ggml.add_eos_token": False,
                "tokenizer.ggml.unknown_token_id": 0,
            },
        ),
        (
            "llama3",
            {
                "tokenizer.ggml.model": "gpt2",
                "tokenizer.ggml.pre": "llama-bpe",
                "tokenizer.ggml.add_bos_token": True,
                "eos": "<|eot_id|>",
                "padding": "<|finetune_right_pad_id|>",
            },
        ),
        (
            "smollm2",
            {
                "tokenizer.ggml.add_bos_token": False,
                "tokenizer.ggml.add_space_prefix": False,
                "bos": "<|im_start|>",
                "unknown": "<|endoftext|>",
            },
        ),
    ],
)
def test_what_llama_cpp_reads_is_there(family: str, expected: Any, tmp_path: Path) -> None:
    folder = publish(family, tmp_path / "Tiny-Model")
    kinds = {"f16": 1, "q8_0": 7, "q4_0": 2, "f32": 0}
    for stored in ("f16", "q4_0") if family == "llama3" else ("q8_0",):
        export_gguf(folder, tmp_path / f"{stored}.gguf", stored=stored)  # type: ignore[arg-type]
        found = metadata(tmp_path / f"{stored}.gguf")
        assert found["general.file_type"] == kinds[stored]
        assert ("general.quantization_version" in found) == (stored[0] == "q")
    pieces = found["tokenizer.ggml.tokens"]
    for role in ("bos", "eos", "unknown", "padding"):
        if f"tokenizer.ggml.{role}_token_id" in found:
            found[role] = pieces[found[f"tokenizer.ggml.{role}_token_id"]]
    assert {key: found[key] for key in expected} == expected
    assert found["general.name"] == "Tiny-Model"
    assert found["general.license"] == "apache-2.0"
    assert found["general.license.link"] == "https://example.org/it's"
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    assert found["tokenizer.chat_template"] == settings["chat_template"]


@pytest.mark.parametrize("family", SOME)
def test_without_what_barrow_keeps_beside(family: str, tmp_path: Path) -> None:
    """As in a file that another program wrote: the format's own keys are enough for a model."""
    first = publish(family, tmp_path / "model")
    export_gguf(first, tmp_path / "model.gguf", stored="f32")
    known = open_gguf(tmp_path / "model.gguf").metadata
    plain = {key: value for key, value in known.items() if not key.startswith("barrow.")}
    settings = gguf_tokenizer_config(plain, max_length=128, path="x")
    words = TokenizerFiles(gguf_tokenizer(plain, path="x"), settings)
    (tmp_path / "out").mkdir()
    words.save(tmp_path / "out")
    ours = words.open()
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    before = transformers.AutoTokenizer.from_pretrained(first)
    for text in PROMPTS[:1] if family.startswith("llama") else PROMPTS:
        ids = before(text).input_ids
        assert theirs(text).input_ids == prompt_tokens(ours, text) == ids
    assert theirs.eos_token == before.eos_token
    assert theirs.pad_token == before.pad_token
    assert theirs.chat_template == before.chat_template


def greedy_here(path: Path, prompt: str) -> tuple[list[int], list[int]]:
    """The ids of a prompt, and the likeliest 32 after them."""
    loaded = open_model(path, dtype="float32", unstack=True)
    ids = prompt_tokens(loaded.words.open(), prompt)
    model: Any = loaded.model
    (found,) = generate(model, loaded.params, [ids], max_tokens=32, stops=loaded.stops)
    return ids, found.tokens.tolist()


def greedy_of_transformers(folder: Path, prompt: str) -> tuple[list[int], list[int]]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    given = tokenizer(prompt, return_tensors="pt")
    out = model.generate(**given, do_sample=False, max_new_tokens=32)[0].tolist()
    ids = given["input_ids"][0].tolist()
    return ids, out[len(ids) :]


def greedy_of_llama_cpp(path: Path, prompt: str) -> tuple[int, list[int]]:
    """How many tokens the prompt has, and what follows."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = str(path), 128, 1
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.port, settings.verbosity, settings.warmup, settings.ui = 0, -1, False, False
    settings.cpuparams.n_threads = 1
    server = xllamacpp.Server(settings)
    asked = {"prompt": prompt, "n_predict": 32, "temperature": 0, "return_tokens": True}
    found = server.handle_completions({**asked, "verbose": True})["__verbose"]
    return found["tokens_evaluated"], found["tokens"]


@pytest.mark.soak
@pytest.mark.parametrize("stored", ["f32", "q8_0", "q4_0"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_likeliest_tokens(family: str, stored: Any, tmp_path: Path) -> None:
    """Here, in transformers and in llama.cpp, of each of the exports."""
    # llama.cpp rounds the activations too where weights are quantized.
    change = (lambda x: x) if stored == "f32" else decided
    first = publish(family, tmp_path / "model", change=change)
    export_gguf(first, tmp_path / "model.gguf", stored=stored)
    export_hf(tmp_path / "model.gguf", tmp_path / "hf")
    for prompt in PROMPTS[:1] if family.startswith("llama") else PROMPTS[:3]:
        ids, found = greedy_here(tmp_path / "model.gguf", prompt)
        assert greedy_here(tmp_path / "hf", prompt) == (ids, found)
        theirs = greedy_of_transformers(tmp_path / "hf", prompt)
        assert (theirs[0], theirs[1][: len(found)]) == (ids, found)
        num, tokens = greedy_of_llama_cpp(tmp_path / "model.gguf", prompt)
        assert (num, tokens[: len(found)]) == (len(ids), found)
        if stored == "f32":
            assert greedy_here(first, prompt) == (ids, found)
            assert greedy_of_transformers(first, prompt)[1][: len(found)] == found
