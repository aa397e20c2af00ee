"""Decoders as families publish them, small and random: all files that are beside the weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from barrow.models import Decoder, DecoderConfig, save
from barrow.nn.attention.rotary import Rotary
from barrow.nn.module import describe
from barrow.nn.tree import from_paths

TEXTS = [
    "The barrow's 1234 stones, they'll carry 56 more.\n\n  Ünïcode naïve e\u0301\t",
    "A barrow is a mound raised stone by stone, and the cart that carries the stones.",
]
VOCAB = 416
README = (
    "---\nlanguage:\n- en\nlicense: {license}\nlicense_link: 'https://example.org/it''s'\n---\n"
)
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}"
)
INST = (
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + "
    "message['content'] + ' [/INST]' }}{% else %}{{ ' ' + message['content'] + eos_token }}"
    "{% endif %}{% endfor %}"
)
HEADERS = (
    "{{- bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{% endif %}"
)
LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(
    cut: Any, specials: list[str], *, whole_words: bool = False, normalizer: Any = None
) -> Tokenizer:
    made = Tokenizer(models.BPE(ignore_merges=whole_words))
    made.pre_tokenizer, made.decoder = cut, decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(TEXTS * 3, trainer)
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in specials])
    return made


def sentencepiece(*, legacy: bool) -> Tokenizer:
    """Pieces with scores, and every pair that makes one: as transformers converts Llama 2."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    trained.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(vocab_size=150, show_progress=False))
    table = json.loads(trained.to_str())["model"]
    joined = ["".join(pair) for pair in table["merges"]]
    letters = [piece for piece in table["vocab"] if len(piece) == 1]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *joined, *letters]
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    merges = [
        (piece[:cut], piece[cut:])
        for piece in joined
        for cut in sorted(range(1, len(piece)), key=lambda cut: vocab.get(piece[:cut], 0))
        if piece[:cut] in vocab and piece[cut:] in vocab
    ]
    made = Tokenizer(
        models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    strip = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*strip, decoders.Strip(" ", 1, 0)])
    if legacy:
        links = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        made.normalizer = normalizers.Sequence(links)
    else:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    specials = [AddedToken(n, special=True, normalized=False) for n in ("<unk>", "<s>", "</s>")]
    made.add_special_tokens(specials)
    return made


def begun_by(made: Tokenizer, name: str) -> Any:
    return processors.TemplateProcessing(
        single=f"{name} $A",
        pair=f"{name} $A {name} $B",
        special_tokens=[(name, made.token_to_id(name))],
    )


def written_out(made: Tokenizer) -> dict[str, Any]:
    """`added_tokens_decoder`, as transformers writes it."""
    return {
        str(number): {
            "content": token.content,
            "lstrip": token.lstrip,
            "normalized": token.normalized,
            "rstrip": token.rstrip,
            "single_word": token.single_word,
            "special": token.special,
        }
        for number, token in made.get_added_tokens_decoder().items()
    }


def llama2() -> tuple[Tokenizer, dict[str, Any], dict[str, str]]:
    made = sentencepiece(legacy=True)
    made.post_processor = begun_by(made, "<s>")
    token = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    token["__type"] = "AddedToken"
    settings = {
        "add_bos_token": True,
        "add_eos_token": False,
        "bos_token": {**token, "content": "<s>"},
        "chat_template": INST,
        "clean_up_tokenization_spaces": False,
        "eos_token": {**token, "content": "</s>"},
        "legacy": False,
        "model_max_length": 1000000000000000019884624838656,
        "pad_token": None,
        "padding_side": "right",
        "sp_model_kwargs": {},
        "tokenizer_class": "LlamaTokenizer",
        "unk_token": {**token, "content": "<unk>"},
    }
    return made, settings, {}


def llama_of_transformers_5() -> tuple[Tokenizer, dict[str, Any], dict[str, str]]:
    made = sentencepiece(legacy=False)
    made.post_processor = begun_by(made, "<s>")
    settings = {
        "add_prefix_space": None,
        "backend": "tokenizers",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": 2048,
        "pad_token": "</s>",
        "tokenizer_class": "TokenizersBackend",
        "unk_token": "<unk>",
    }
    return made, settings, {"chat_template.jinja": INST}


def llama3() -> tuple[Tokenizer, dict[str, Any], dict[str, str]]:
    split = pre_tokenizers.Split(Regex(LLAMA3_WORDS), "isolated")
    cut = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad_id|>"]
    names += ["<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>"]
    made = byte_level(cut, names, whole_words=True)
    last = begun_by(made, "<|begin_of_text|>")
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), last])
    settings = {
        "added_tokens_decoder": written_out(made),
        "bos_token": "<|begin_of_text|>",
        "chat_template": HEADERS,
        "clean_up_tokenization_spaces": True,
        "eos_token": "<|eot_id|>",
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": 131072,
        "pad_token": "<|finetune_right_pad_id|>",
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    return made, settings, {"ends": "<|end_of_text|> <|eom_id|> <|eot_id|>"}


def smollm2() -> tuple[Tokenizer, dict[str, Any], dict[str, str]]:
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), words])
    made = byte_level(cut, ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>"])
    settings = {
        "add_prefix_space": False,
        "added_tokens_decoder": written_out(made),
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "bos_token": "<|im_start|>",
        "chat_template": CHATML,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "model_max_length": 8192,
        "pad_token": "<|im_end|>",
        "tokenizer_class": "GPT2Tokenizer",
        "unk_token": "<|endoftext|>",
        "vocab_size": VOCAB,
    }
    return made, settings, {}


def qwen2() -> tuple[Tokenizer, dict[str, Any], dict[str, str]]:
    split = pre_tokenizers.Split(Regex(LLAMA3_WORDS.replace("{1,3}", "")), "isolated")
    cut = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    made = byte_level(
        cut, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], normalizer=normalizers.NFC()
    )
    made.add_tokens([AddedToken("<tool_call>", special=False, normalized=False)])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    settings = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": written_out(made),
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 131072,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    more = {"begin": "<|endoftext|>", "ends": "<|im_end|> <|endoftext|>"}
    return made, settings, {**more, "chat_template.jinja": CHATML}


def gpt2() -> tuple[Tokenizer, dict[str, Any], dict[str, str]]:
    made = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    ids = {"begin": "<|endoftext|>", "ends": "<|endoftext|>"}
    return made, {"model_max_length": 1024}, ids


FAMILIES: dict[str, Callable[[], tuple[Tokenizer, dict[str, Any], dict[str, str]]]] = {
    "llama2": llama2,
    "llama of transformers 5": llama_of_transformers_5,
    "llama3": llama3,
    "smollm2": smollm2,
    "qwen2": qwen2,
    "gpt2": gpt2,
}


@cache
def model(*, is_gpt2: bool) -> tuple[Decoder, Any]:
    sizes = {"vocab_size": VOCAB, "width": 32, "layers": 1, "heads": 2, "context": 128}
    config = DecoderConfig(**sizes, hidden=64, init_std=0.6)  # type: ignore[arg-type]
    if not is_gpt2:
        config = DecoderConfig(
            **sizes,  # type: ignore[arg-type]
            hidden=64,
            init_std=0.3,
            rotary=Rotary(),
            norm="rms",
            gated=True,
            activation="silu",
            attention_bias=False,
            out_bias=False,
            mlp_bias=False,
            tied=False,
        )
    made = Decoder(config)
    draw = np.random.default_rng(1)
    params = {
        path: np.ones(spec.shape, np.float32)
        if path.endswith("scale")
        else draw.normal(0, config.init_std, spec.shape).astype(np.float32)
        for path, spec in describe(made, *config.example).items()
    }
    return made, from_paths(params)


def decided(params: Any) -> Any:
    """Parameters whose likeliest token leads so far that the rounding of activations keeps it."""
    layers = jax.tree.map(lambda x: x / 10, params["layers"])
    table = params["embed"]["table"]
    head = {"head": {"kernel": 4 * jnp.roll(table, 7, axis=0).T}} if "head" in params else {}
    return params | {"layers": layers} | head


def publish(family: str, folder: Path, *, change: Callable[[Any], Any] = lambda x: x) -> Path:
    """The family's folder, its parameters changed."""
    made, settings, more = FAMILIES[family]()
    module, params = model(is_gpt2=family == "gpt2")
    save(folder, module, change(params))
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    (folder / "README.md").write_text(README.format(license="apache-2.0") + "# A model\n")
    if "chat_template.jinja" in more:
        (folder / "chat_template.jinja").write_text(more["chat_template.jinja"])
    names = {key: settings.get(key) for key in ("bos_token", "eos_token", "pad_token")}
    plain = {k: v["content"] if isinstance(v, dict) else v for k, v in names.items()}
    begin = more.get("begin") or plain["bos_token"]
    ends = [made.token_to_id(name) for name in (more.get("ends") or plain["eos_token"]).split()]
    ids = {
        "bos_token_id": made.token_to_id(begin),
        "eos_token_id": ends if len(ends) > 1 else ends[0],
    }
    if plain["pad_token"] is not None:
        ids["pad_token_id"] = made.token_to_id(plain["pad_token"])
    for name in ("config.json", "generation_config.json"):
        table = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**table, **ids}, indent=2))
    generation = json.loads((folder / "generation_config.json").read_text())
    generation |= {"do_sample": True, "temperature": 0.6, "top_p": 0.9}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2))
    return folder
