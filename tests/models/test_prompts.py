"""The ids of a prompt are those of transformers; of a run they begin with its begin id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

from barrow.checkpoint.params import save_params
from barrow.models import Decoder, DecoderConfig, family_table
from barrow.models.convert import convert
from barrow.models.open_model import open_model
from barrow.models.text import open_tokenizer, prompt_tokens
from barrow.nn.module import describe
from barrow.nn.tree import from_paths
from barrow.tokens import JsonTokenizer, load
from barrow.tokens.chat import find_template
from barrow.tokens.tokenizer_json import check, put_around

TEXTS = ["a", "two words", " x<s>y</s> ", "naïve 🙂\n"]
BEGIN, END = {"<s>": 256}, {"</s>": 257}
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": True,
    "trim_offsets": False,
    "use_regex": True,
}
POST_PROCESSORS: dict[str, Any] = {
    "none": None,
    "byte level": BYTE_LEVEL,
    "begin": put_around(BEGIN, {}),
    "begin and end": put_around(BEGIN, END),
    "two before": put_around({**BEGIN, **END}, {}),
    "in a sequence": {"type": "Sequence", "processors": [BYTE_LEVEL, put_around(BEGIN, {})]},
    "roberta": {
        "type": "RobertaProcessing",
        "sep": ["</s>", 257],
        "cls": ["<s>", 256],
        "trim_offsets": True,
        "add_prefix_space": False,
    },
    "bert": {"type": "BertProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256]},
}


def contents(post_processor: Any = None) -> dict[str, Any]:
    """Bytes and three special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<s>", "</s>", "<unk>"])
    return {**json.loads(made.to_str()), "post_processor": post_processor}


def write(folder: Path, name: str, value: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize("kind", ["LlamaTokenizerFast", "GPT2Tokenizer", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("post_processor", POST_PROCESSORS)
def test_a_tokenizer_json(post_processor: str, kind: str, tmp_path: Path) -> None:
    """`add_bos_token` and `add_eos_token` beside it say nothing: the post-processor does."""
    write(tmp_path, "tokenizer.json", contents(POST_PROCESSORS[post_processor]))
    write(tmp_path, "config.json", {"model_type": "llama" if "Llama" in kind else "gpt2"})
    for flag in (None, True, False):
        flags = {} if flag is None else {"add_bos_token": flag, "add_eos_token": flag}
        names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        write(tmp_path, "tokenizer_config.json", {"tokenizer_class": kind, **names, **flags})
        theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), load(tmp_path)
        for text in TEXTS:
            assert prompt_tokens(ours, text) == theirs(text).input_ids
            plain = theirs(text, add_special_tokens=False).input_ids
            assert prompt_tokens(ours, text, begin=False) == plain
        assert ours.begin == 256  # a store and a score begin with it as before


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("gpt2", {}),
        ("gpt2", {"add_bos_token": True}),
        ("gpt2", {"add_bos_token": False, "bos_token": "<|endoftext|>"}),
        ("gpt2", {"add_bos_token": True, "add_eos_token": True}),
        ("roberta", {}),
        ("roberta", {"add_bos_token": True}),
    ],
)
def test_a_vocabulary_and_merges(kind: str, flags: dict[str, Any], tmp_path: Path) -> None:
    alphabet = [letter for letter in contents()["model"]["vocab"] if len(letter) == 1]
    names = ["<|endoftext|>"] if kind == "gpt2" else ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    write(tmp_path, "vocab.json", {name: i for i, name in enumerate([*names, *alphabet])})
    write(tmp_path, "merges.txt", "#version: 0.2\n")
    write(tmp_path, "config.json", {"model_type": kind})
    write(tmp_path, "tokenizer_config.json", flags)
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), load(tmp_path)
    for text in TEXTS[:2]:
        assert prompt_tokens(ours, text) == theirs(text).input_ids
    assert ours.begin == 0


def test_a_chat_template_that_writes_the_begin_token(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer.json", contents(put_around(BEGIN, {})))
    template = "{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}"
    settings = {"bos_token": "<s>", "chat_template": template}
    write(tmp_path, "tokenizer_config.json", settings)
    chat = [{"role": "user", "content": "hi"}]
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    found = find_template(folder=tmp_path)
    assert found is not None
    ids = found.encode(chat, load(tmp_path)).tolist()
    assert ids == theirs.apply_chat_template(chat, return_dict=False)
    assert ids.count(256) == 1
    found.close()


def test_an_empty_prompt_begins_a_document() -> None:
    ours = JsonTokenizer(check(contents(), "x"))
    assert prompt_tokens(ours, "") == [256]
    with pytest.raises(ValueError, match="character 1 is half of a surrogate pair"):
        prompt_tokens(ours, "a\ud800")


def test_a_run_begins_prompts_as_its_documents_and_so_do_its_exports(tmp_path: Path) -> None:
    """Its tokenizer, as older versions saved it, puts nothing before a text."""
    write(tmp_path / "words", "tokenizer.json", contents(BYTE_LEVEL))
    write(tmp_path / "words", "tokenizer_config.json", {"bos_token": "<s>"})
    config = DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=24, context=16)
    specs = describe(Decoder(config), *config.example)
    params = from_paths({path: np.zeros(spec.shape, np.float32) for path, spec in specs.items()})
    about = {"model": family_table(config), "tokenizer": tmp_path / "words", "begin": 256}
    save_params(tmp_path / "run", params, {**about, "end": 256})
    convert(tmp_path / "run", tmp_path / "hf", to="hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    for path in ("run", "hf"):
        ours = open_model(tmp_path / path).words.open()
        for text in TEXTS:
            assert prompt_tokens(ours, text) == theirs(text).input_ids
            assert prompt_tokens(ours, text)[0] == 256
    assert prompt_tokens(open_tokenizer(tmp_path / "words"), "a") == [
        *load(tmp_path / "words").encode("a")
    ]
