"""Records as rows of tokens: only answers are learned."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.align.conftest import CONFIG, TEMPLATE, make_model, write_tokenizer
from tests.align.data_files import chat, chats, pairs, write

from barrow import config
from barrow.align.data.batches import Order, PackedRows, PairedRows
from barrow.align.data.records import Bad, answered, labelled, pair, prompted, read
from barrow.align.data.rows import Words, answer_rows, pair_rows, prompt_rows
from barrow.align.data.settings import Chats, Pairs
from barrow.align.rollouts.settings import Prompts
from barrow.align.tasks.start import open_words
from barrow.archive import Document, Writer
from barrow.errors import ConfigError
from barrow.models.save import save


@pytest.fixture(scope="module")
def words(chat_model: Path) -> Words:
    return open_words(str(chat_model), "", "")


def shown(words: Words, row: Any) -> str:
    """The text of the learned tokens."""
    return words.tokenizer.decode_marked(row.ids[row.is_answer])


def test_only_answers_are_learned(words: Words) -> None:
    record = chat("hi", "well met")
    record["messages"] += [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    ((row, _),) = answer_rows(words, [answered("f:1", record)], Bad(), length=120)
    assert shown(words, row) == "well met<|end|>y<|end|>"
    plain = answered("f:2", {"prompt": "two and two is", "completion": " four"})
    ((row, _),) = answer_rows(words, [plain], Bad(), length=120)
    assert shown(words, row) == " four<|end|>"
    assert words.tokenizer.decode_marked(row.ids) == "<|begin|>two and two is four<|end|>"


def test_the_mask_is_that_of_transformers(words: Words, chat_model: Path) -> None:
    from transformers import AutoTokenizer

    record = chat("what?", "that — ünïcode 🙂")
    ((row, _),) = answer_rows(words, [answered("f:1", record)], Bad(), length=120)
    peer = AutoTokenizer.from_pretrained(chat_model)
    found = peer.apply_chat_template(
        record["messages"], return_dict=True, return_assistant_tokens_mask=True
    )
    assert found["input_ids"] == row.ids.tolist()
    assert found["assistant_masks"] == row.is_answer.astype(int).tolist()


def test_prompts_of_an_earlier_version_always_begin_with_the_begin_token(tmp_path: Path) -> None:
    """Its runs do not say it in their settings, and resume with the same rows."""
    write_tokenizer(tmp_path / "words")
    params = CONFIG.module().init(jax.random.key(1), *CONFIG.example)
    model, words_folder = CONFIG.module(), tmp_path / "words"
    save(tmp_path / "model", model, params, tokenizer=words_folder, stops=(258,))
    record = answered("f:1", {"prompt": "a <|end|>", "completion": "b"})
    found = {}
    for begin in ("tokenizer", "always"):
        words = open_words(str(tmp_path / "model"), "", "", begin)
        ((row, _),) = answer_rows(words, [record], Bad(), length=64)
        found[begin] = row.ids.tolist()
        assert words.prompt("f:1", "a").tolist() == row.ids.tolist()[: 1 + (begin == "always")]
    plain = words.tokenizer.encode("a <|end|>b").tolist()
    assert found["tokenizer"] == [*plain[:2], 258, *plain[-1:], 258]
    assert found["always"] == [256, *plain, 258]
    assert words.about()["before"] == [256]

    for kind in (Chats, Pairs, Prompts):
        assert config.from_dict(kind, {"path": "x"}).begin == "always"
        settings = kind("x")
        assert settings.begin == "tokenizer"
        assert config.from_dict(kind, config.to_dict(settings)) == settings


def test_answers_within_the_prompt_are_not_learned(words: Words) -> None:
    before = [*chat("a", "b")["messages"], {"role": "user", "content": "c"}]
    both = pair(
        "f:1",
        {
            "prompt": before,
            "chosen": [{"role": "assistant", "content": "good"}],
            "rejected": [{"role": "assistant", "content": "bad"}],
        },
    )
    ((one, other),) = pair_rows(words, [both], Bad(), length=120)
    assert shown(words, one) == "good<|end|>"
    assert shown(words, other) == "bad<|end|>"


def test_pairs_of_whole_chats_have_their_beginning_as_the_prompt() -> None:
    found = pair(
        "f:1", {"chosen": chat("q", "a")["messages"], "rejected": chat("q", "b")["messages"]}
    )
    assert [len(found.prompt), len(found.chosen), len(found.rejected)] == [1, 1, 1]


def test_single_answers_of_pairs_and_of_labels() -> None:
    good, bad = labelled("f:1", pairs(1)[0])
    assert (good.is_good, bad.is_good) == (True, False)
    (one,) = labelled("f:1", {"prompt": "p", "completion": "c", "label": False})
    assert one.is_good is False


def test_jsonl_parquet_and_archives_give_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = chats(5)
    files = [write(tmp_path / "a.jsonl", records), str(tmp_path / "a.parquet")]
    pq.write_table(pa.Table.from_pylist(records), files[1])
    with Writer(tmp_path / "arch") as writer:
        for record in records:
            writer.add(Document("shown", record))
    found = [
        [(one.prompt, one.answer) for one in read(f, answered, Bad())]
        for f in [*files, str(tmp_path / "arch")]
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 5


BAD = {
    "no message of the assistant": {"messages": [{"role": "user", "content": "x"}]},
    "the completion is empty": {"prompt": "x", "completion": ""},
    "there is no completion": {"prompt": "x"},
    "all be texts, or all messages": {
        "prompt": "x",
        "completion": [{"role": "assistant", "content": "y"}],
    },
    "label must be true or false": {"prompt": "x", "completion": "y", "label": "yes"},
    "must be a text, or messages": {"messages": "hello"},
}
BAD_PAIRS = {
    "are the same": {"prompt": "x", "chosen": "y", "rejected": "y"},
    "the rejected answer is empty": {"prompt": "x", "chosen": "y", "rejected": ""},
    "there is no chosen": {"prompt": "x", "rejected": "y"},
    "there is no prompt": {"chosen": "x", "rejected": "y"},
}


@pytest.mark.parametrize("message", [*BAD, *BAD_PAIRS])
def test_bad_records_are_named_or_counted(message: str, tmp_path: Path) -> None:
    record, make = (BAD[message], answered) if message in BAD else (BAD_PAIRS[message], pair)
    good = {"prompt": "p", "completion": "c", "chosen": "a", "rejected": "b"}
    file = write(tmp_path / "bad.jsonl", [good, record])
    with pytest.raises(ConfigError, match=f"line 2: .*{message}.*on_bad=count"):
        read(file, make, Bad())
    bad = Bad("count")
    assert len(read(file, make, bad)) == 1
    (line,) = bad.lines()
    assert "1 ×" in line
    assert message in line


def test_a_file_without_any_good_record_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "bad.jsonl", [{"prompt": "x"}])
    with pytest.raises(
        ConfigError, match="no records that can be used; left out: 1 × no-completion"
    ):
        read(file, answered, Bad("count"))


def test_a_model_without_a_template(tmp_path: Path) -> None:
    model = make_model(tmp_path, template=False)
    bare = open_words(str(model), "", "")
    record = answered("f:1", chat("a", "b"))
    with pytest.raises(
        ConfigError, match="f:1 has messages, but .* no chat template; pass data.template"
    ):
        answer_rows(bare, [record], Bad(), length=64)
    with pytest.raises(ConfigError, match="nothing.jinja does not exist"):
        open_words(str(model), "", str(tmp_path / "nothing.jinja"))
    file = tmp_path / "t.jinja"
    file.write_text(TEMPLATE.replace("{{ bos_token }}", "<|begin|>"))
    given = open_words(str(model), "", str(file))
    ((row, _),) = answer_rows(given, [record], Bad(), length=64)
    assert shown(given, row) == "b<|end|>"
    assert given.about()["tokenizer_config"]["chat_template"] == file.read_text()


def test_what_is_too_long(words: Words) -> None:
    record = answered("f:1", chat("hi", "x" * 100))
    ((row, _),) = answer_rows(words, [record], Bad(), length=40)
    assert len(row.ids) == 41
    long = answered("f:1", chat("x" * 100, "hi"))
    with pytest.raises(
        ConfigError, match="no answer is left of .* tokens in rows of 40; set data.length"
    ):
        answer_rows(words, [long], Bad(), length=40)
    prompt = prompted("f:1", {"prompt": "x" * 100})
    with pytest.raises(
        ConfigError, match="the prompt has 101 tokens; with 28 of an answer at most 100"
    ):
        prompt_rows(words, [prompt], Bad(), most=100, room=28)
    with pytest.raises(ConfigError, match="the prompt is empty"):
        Bad().made(prompted, "f:1", {"prompt": ""})


def test_packed_rows_have_borders(words: Words) -> None:
    records = [answered(f"f:{n}", one) for n, one in enumerate(chats(9))]
    rows = [row for row, _ in answer_rows(words, records, Bad(), length=100)]
    packed, alone = PackedRows(rows, 100, True), PackedRows(rows, 100, False)
    assert len(packed.places) < len(alone.places) == 9
    assert sorted(place for row in packed.places for place in row) == sorted(
        row.place for row in rows
    )
    out = packed(np.arange(len(packed.places)), len(packed.places) + 1)
    assert not any(x[-1].any() for x in out.values())  # the row that fills up
    assert out["mask"].sum() == sum(row.is_answer[1:].sum() for row in rows)
    for line in range(len(packed.places)):
        for segment in range(1, out["segments"][line].max() + 1):
            at = out["segments"][line] == segment
            assert out["positions"][line][at].tolist() == list(range(at.sum()))
            ids = np.append(out["tokens"][line][at], out["targets"][line][at][-1])
            assert any(np.array_equal(ids, row.ids) for row in rows)


@pytest.mark.parametrize("good", [None, [True, False] * 3])
def test_the_first_batch_of_pairs_is_as_long_as_any(words: Words, good: Any) -> None:
    """Memory fails at step 0 or never."""
    records = [pair(f"f:{n}", one) for n, one in enumerate(pairs(6))]
    records[4] = pair("f:4", {"prompt": "x" * 60, "chosen": "y", "rejected": "z"})
    records[5] = pair("f:5", {"prompt": "x", "chosen": "y" * 50, "rejected": "z"})
    rows = PairedRows(pair_rows(words, records, Bad(), length=120), 120, good)
    every = [np.array(some) for some in itertools.permutations(range(6), 2)]
    lengths = [rows(some, 2)["tokens"].shape[2] for some in every]
    first = rows(np.array([0, 1]), 2, True)
    assert first["tokens"].shape[2] == max(lengths) > min(lengths)
    usual = rows(np.array([0, 1]), 2)
    assert not first["mask"][..., usual["mask"].shape[2] :].any()


def test_the_order_reads_all_in_every_epoch() -> None:
    order = Order(10, 4, 7)
    seen = np.concatenate([order(step) for step in range(5)])
    assert sorted(seen[:10]) == sorted(seen[10:]) == list(range(10))
    assert seen[:10].tolist() != seen[10:].tolist()
    assert order.steps(1) == 3
    assert json.dumps(order(2).tolist()) == json.dumps(Order(10, 4, 7)(2).tolist())
