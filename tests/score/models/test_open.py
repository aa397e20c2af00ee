from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.score.completion_server import Behaviour, serving

from barrow.errors import NotFound, ScoreError
from barrow.models import Decoder, save
from barrow.score import DomainModel, Model, ModelOptions, Protocol, WindowedModel, open_model
from barrow.score.models.open import identity_of, is_masked
from barrow.score.models.server import ServerModel

WRITTEN = """
import numpy as np
from barrow.tokens import load

class Uniform:
    name = "mine"
    identity = "version 1"
    tokenizer = load("bytes")
    max_length = None

    def log_probs(self, rows):
        return [np.full(len(row) - 1, -np.log(256)) for row in rows]

def make():
    return Uniform()

def wrong():
    return 3

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, decoder: tuple[Decoder, Any]) -> Path:
    model, params = decoder
    save(tmp_path / "model", model, params, tokenizer="bytes", begin=256, stops=(256,))
    return tmp_path / "model"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    import sys

    (tmp_path / "written_here.py").write_text(WRITTEN)
    monkeypatch.chdir(tmp_path)
    yield "written_here"
    sys.modules.pop("written_here", None)


def test_a_folder_of_ours(folder: Path, windowed: Any, reference: Any) -> None:
    model = open_model(str(folder))
    assert isinstance(model, Model)
    assert (model.info.kind, model.info.name, model.info.dtype) == ("barrow", "model", "float32")
    assert model.info.num_params is not None
    assert model.info.size_bytes is not None
    assert model.info.size_bytes > 4 * model.info.num_params
    (found,) = model.score([b"stones"])
    assert found.nats == pytest.approx(-reference([256, *b"stones"]).sum(), rel=1e-6)
    assert open_model(str(folder)).info.identity == model.info.identity


def test_devices_share_the_parameters(folder: Path, reference: Any) -> None:
    """ACCELERATE-13: each reads its part of the file; the score is that of one device."""
    model = open_model(str(folder), ModelOptions(tensor=2))
    assert isinstance(model, WindowedModel)
    (found,) = model.score([b"stones"])
    assert found.nats == pytest.approx(-reference([256, *b"stones"]).sum(), rel=1e-5)
    held: Any = model._model
    kernel = held._params["layers"][0]["mlp"]["up"]["kernel"]
    assert kernel.addressable_shards[0].data.shape[1] * 2 == kernel.shape[1]
    with pytest.raises(ValueError, match="8 devices cannot share 2 heads; pass one of 1, 2"):
        open_model(str(folder), ModelOptions(tensor=8))


def test_a_model_without_a_tokenizer_says_so(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(NotFound, match="the model has no tokenizer beside it"):
        open_model(str(folder))
    assert open_model(str(folder), ModelOptions(tokenizer="bytes")).info.tokenizer is not None


def test_a_dtype_is_taken(folder: Path) -> None:
    model = open_model(str(folder), ModelOptions(dtype="bfloat16"))
    assert model.info.dtype == "bfloat16"
    (found,) = model.score([b"stones"])  # type: ignore[union-attr]
    (exact,) = open_model(str(folder)).score([b"stones"])  # type: ignore[union-attr]
    assert found.nats == pytest.approx(exact.nats, rel=0.05)
    assert found.nats != exact.nats


def test_a_function_of_yours(module: str) -> None:
    model = open_model(f"{module}:make", ModelOptions(protocol=Protocol("custom", 8, 4, "begin")))
    assert isinstance(model, Model)
    assert (model.info.name, model.info.kind) == ("mine", "custom")
    (found,) = model.score([b"twenty bytes of text"])
    assert found.nats == pytest.approx(20 * np.log(256))


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("written_here:wrong", ValueError, "returned a int; expected an object with `tokenizer`"),
        ("written_here:absent", NotFound, "has no function 'absent'"),
        ("written_here:number", NotFound, "has no function 'number'"),
        ("no_such_module:make", NotFound, "there is no module 'no_such_module'"),
        ("no/such/path", NotFound, "no/such/path is not a model; pass a run"),
        ("ngram:5", ValueError, "needs a train split"),
    ],
)
def test_names_that_are_none(name: str, error: type[Exception], words: str, module: str) -> None:
    with pytest.raises(error, match=words):
        open_model(name)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(NotFound, match=r"runn is not a model; did you mean .*/run\?"):
        open_model(str(tmp_path / "runn"))


def test_baselines_and_compressors_by_name() -> None:
    uniform = open_model("uniform")
    assert isinstance(uniform, Model)
    assert uniform.score([b"abc"])[0].nats == pytest.approx(3 * np.log(256), rel=1e-15)
    assert open_model("xz").likelihood == "compressed"
    assert isinstance(open_model("whole:xz"), DomainModel)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"architectures": ["RobertaForMaskedLM"], "model_type": "roberta"}, True),
        ({"architectures": ["BertForPreTraining"], "model_type": "bert"}, True),
        ({"architectures": ["RobertaForCausalLM"], "model_type": "roberta"}, False),
        ({"architectures": ["OPTForCausalLM"], "model_type": "opt"}, False),
        ({"model_type": "distilbert"}, True),
        ({"model_type": "bert", "is_decoder": True}, False),
        ({"model_type": "opt"}, False),
    ],
)
def test_which_are_masked(config: dict[str, Any], expected: bool) -> None:
    assert is_masked(config) is expected


def test_a_batch_is_at_least_a_token() -> None:
    with pytest.raises(ValueError, match="batch_tokens must be ≥ 1, got 0"):
        ModelOptions(batch_tokens=0)


def test_a_server_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """As text where no tokenizer is named, else as ids under the protocol; the key goes along."""
    monkeypatch.setenv("SCORE_KEY", "secret")
    behaviour = Behaviour()
    with serving(behaviour) as url:
        as_text = open_model(url, ModelOptions(key_variable="SCORE_KEY"))
        assert isinstance(as_text, ServerModel)
        (found,) = as_text.score([b"abcdab"])
        assert as_text.info.kind == "server"
        assert as_text.window is None
        assert "secret" not in repr(as_text.info)
        protocol = Protocol("x", 8, 4, "begin")
        as_ids = open_model(url, ModelOptions(tokenizer="bytes", protocol=protocol))
        assert isinstance(as_ids, WindowedModel)
        assert as_ids.info.tokenizer is not None
        assert as_ids.window is not None
        assert as_ids.window.context == 8
    assert found.tokens == 3
    assert behaviour.keys[0] == "Bearer secret"
    assert behaviour.keys[-1] is None
    with pytest.raises(ScoreError, match=re.escape(url)):
        open_model(url)


def test_weights_and_config_decide_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "config.json").write_text("{}")
    (tmp_path / "b" / "README.md").write_text("words")
    (tmp_path / "b" / "tokenizer.bin").write_bytes(b"tokens")
    first, size = identity_of(tmp_path / "a")
    assert identity_of(tmp_path / "b") == (first, size)
    assert size == len(b"weights")
    (tmp_path / "b" / "config.json").write_text("{} ")
    assert identity_of(tmp_path / "b")[0] != first
    (tmp_path / "a" / "model.safetensors").write_bytes(b"weightz")
    assert identity_of(tmp_path / "a")[0] != first


def test_a_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights")
    identity, size = identity_of(file)
    assert (len(identity), size) == (64, 7)
