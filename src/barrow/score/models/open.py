"""A model by its name: a path, a baseline, a compressor, a server, or your own function."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow.errors import NotFound, ScoreError, nearest_path
from barrow.objects import resolve
from barrow.score.models.model import DomainModel, Model, ModelInfo, TokenModel
from barrow.score.models.windowed import WindowedModel
from barrow.score.protocol import PROTOCOLS, Protocol

if TYPE_CHECKING:
    from barrow.models.family import CausalModule
    from barrow.models.onnx.model import OnnxModel
    from barrow.models.roberta.model import Roberta
    from barrow.tokens import Tokenizer


_FUNCTION = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_FORMS = (
    "a run, a checkpoint, a Hugging Face folder, a .gguf, .onnx or llama2.c file; uniform, "
    "unigram, ngram:5; zstd:19, xz, brotli, ppmd; the http(s):// address of a server; or "
    "module:function"
)
# Text taken at a time, in batches: enough to sort rows by length.
_BATCHES = 16
_BYTES_PER_TOKEN = 4
_MASKED_TOKENS = 4096
_WEIGHTS = (".safetensors", ".gguf", ".bin", ".onnx", ".pt", ".pth")
_NOT_WEIGHTS = ("tok", "training_args", "optimizer", "scheduler")


@dataclass(frozen=True)
class ModelOptions:
    """How a model is opened.

    `train` is a corpus to train baselines on, `cache` a folder for their counts.
    `tokenizer` names one (a path, or "bytes") where the model has none beside it. `dtype` None is
    float32 on a CPU, else the type of the file. `server_model` is a server's name for its model,
    `key_variable` the environment variable that holds its key. `trust` names modules and files
    outside barrow that a run's model may be imported from. `tensor` devices share the parameters of
    a causal model of ours.
    """

    protocol: Protocol = PROTOCOLS["barrow"]
    dtype: str | None = None
    batch_tokens: int | None = None
    tokenizer: str | None = None
    train: str | None = None
    cache: Path | None = None
    server_model: str | None = None
    key_variable: str | None = None
    trust: tuple[str, ...] = ()
    tensor: int = 1

    def __post_init__(self) -> None:
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise ValueError(f"batch_tokens must be ≥ 1, got {self.batch_tokens}")


def open_model(name: str, options: ModelOptions | None = None) -> Model | DomainModel:
    """A model to score, by its name. A file with the name of a baseline is written ./uniform."""
    from barrow.score.baselines.baselines import is_baseline, open_baseline
    from barrow.score.baselines.compressors import is_compressor, open_compressor

    options = ModelOptions() if options is None else options
    if is_baseline(name):
        return open_baseline(name, train=options.train, cache=options.cache)
    if is_compressor(name):
        return open_compressor(name)
    if name.startswith(("http://", "https://")):
        return _server(name, options)
    path = Path(name)
    if path.is_dir() and (path / "config.json").is_file():
        return _folder(path, options)
    if path.exists():
        return _loaded(path, options)
    function = _FUNCTION.fullmatch(name)
    if function is not None:
        return _custom(function[1], function[2], options)
    raise NotFound(f"{name} is not a model; {nearest_path(name) or f'pass {_FORMS}'}")


def causal_model(
    model: CausalModule | OnnxModel,
    params: Any,
    tokenizer: Tokenizer,
    info: ModelInfo,
    options: ModelOptions,
) -> Model:
    """A causal model and its parameters, as a model to score."""
    from barrow.models.onnx.model import OnnxModel
    from barrow.score.models.decoder import DecoderTokenModel
    from barrow.score.models.onnx import OnnxTokenModel

    opened: DecoderTokenModel | OnnxTokenModel
    if isinstance(model, OnnxModel):
        opened = OnnxTokenModel(model, tokenizer, batch_tokens=options.batch_tokens)
    else:
        opened = DecoderTokenModel(
            model, params, tokenizer, batch_tokens=options.batch_tokens, tensor=options.tensor
        )
    return WindowedModel(
        opened,
        options.protocol,
        info,
        group_bytes=_BATCHES * _BYTES_PER_TOKEN * opened.batch_tokens,
    )


def pseudo_likelihood_model(
    model: Roberta | OnnxModel,
    params: Any,
    tokenizer: Tokenizer,
    info: ModelInfo,
    options: ModelOptions,
) -> Model:
    """A masked model and its parameters, scored by pseudo-likelihood."""
    from barrow.models.onnx.model import OnnxModel
    from barrow.score.models.masked import MaskedModel, roberta_guess
    from barrow.score.models.onnx import onnx_guess

    guess = (
        onnx_guess(model, tokenizer)
        if isinstance(model, OnnxModel)
        else roberta_guess(model, params, tokenizer)
    )
    return MaskedModel(
        guess,
        tokenizer,
        info,
        options.protocol,
        max_length=model.config.context,
        batch_tokens=options.batch_tokens or _MASKED_TOKENS,
    )


def _folder(path: Path, options: ModelOptions) -> Model:
    """A Hugging Face folder: ours if we know the family, else opened by transformers."""
    from barrow.models.huggingface.config import ENCODERS, FAMILIES
    from barrow.models.sources import CONFIG, read_json

    config = read_json(path / CONFIG)
    named = config.get("model_type")
    if named in FAMILIES or (named in ENCODERS and is_masked(config)):
        return _loaded(path, options)
    return _transformers(path, config, options)


def _loaded(path: Path, options: ModelOptions) -> Model:
    import jax

    from barrow.checkpoint.folder import name_of
    from barrow.models.open_model import is_run, open_model
    from barrow.models.quantized import num_elements
    from barrow.models.text import open_tokenizer
    from barrow.parallel import placing_over

    trained = is_run(path)
    dtype = options.dtype
    if dtype is None and jax.default_backend() == "cpu":
        dtype = "float32"
    elif dtype is None and trained:
        dtype = "bfloat16"
    loaded = open_model(
        path,
        dtype=dtype,
        unstack=not trained or options.tensor > 1,
        trust=options.trust,
        place=placing_over(options.tensor),
    )
    scoring = loaded.family.scoring
    if not scoring or loaded.labels:
        raise ScoreError(
            f"{path.resolve().name} cannot be scored: it has no language-modelling head"
        )
    tokenizer = (
        loaded.words.open() if options.tokenizer is None else open_tokenizer(options.tokenizer)
    )
    leaves = jax.tree.leaves(loaded.params)
    info = ModelInfo(
        name=name_of(path.resolve()),
        kind="barrow",
        identity="",
        num_params=num_elements(loaded.params) or None,
        dtype=getattr(loaded.model, "dtype", None),
    )
    if trained:
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
        info = replace(_run_info(path, info), size_bytes=size)
    else:
        identity, size = identity_of(path)
        about = {"path": os.fspath(path)}
        info = replace(info, identity=identity, size_bytes=size, about=about)
    # The model's own settings name it, and they are trusted.
    score_as = resolve(scoring, trust=(scoring.rpartition(":")[0],))
    made: Model = score_as(loaded.model, loaded.params, tokenizer, info, options)
    return made


def _run_info(path: Path, info: ModelInfo) -> ModelInfo:
    """The identity of the weights and their training, from the index of the checkpoint."""
    from barrow.checkpoint.folder import find_checkpoint
    from barrow.checkpoint.index import read_index

    index = read_index(find_checkpoint(path))
    facts = json.dumps({name: file.sha256 for name, file in sorted(index.files.items())})
    run = index.about.get("run")
    data = (run or {}).get("data") or {}
    batch, length = data.get("batch"), data.get("seq_len")
    # Steps × rows × tokens of a row, where these never changed.
    tokens = None
    if index.step is not None and isinstance(batch, int) and isinstance(length, int):
        tokens = index.step * batch * length
    return replace(
        info,
        identity=hashlib.sha256(facts.encode()).hexdigest(),
        train_tokens=tokens,
        about={"path": os.fspath(path), "step": index.step, "run": run},
    )


def _transformers(path: Path, config: dict[str, Any], options: ModelOptions) -> Model:
    from barrow.score.models.masked import MaskedModel, transformers_guess, usable_length
    from barrow.score.models.transformers import (
        TransformersTokenModel,
        load_pretrained,
        tokenizer_of,
    )
    from barrow.tokens import load

    tokenizer = tokenizer_of(path) if options.tokenizer is None else load(options.tokenizer)
    masked = is_masked(config)
    kind = "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM"
    model, device = load_pretrained(kind, path, options.dtype)
    identity, size = identity_of(path)
    info = ModelInfo(
        name=path.resolve().name,
        kind="transformers",
        identity=identity,
        num_params=sum(parameter.numel() for parameter in model.parameters()),
        size_bytes=size,
        dtype=str(model.dtype).removeprefix("torch."),
        about={"path": os.fspath(path), "class": type(model).__name__},
    )
    if masked:
        guess = transformers_guess(model, tokenizer, device=device)
        return MaskedModel(
            guess,
            tokenizer,
            info,
            options.protocol,
            max_length=usable_length(model.config),
            batch_tokens=options.batch_tokens or _MASKED_TOKENS,
        )
    opened = TransformersTokenModel(
        model, tokenizer, device=device, batch_tokens=options.batch_tokens
    )
    return WindowedModel(opened, options.protocol, info, group_bytes=1 << 18)


def is_masked(config: dict[str, Any]) -> bool:
    """Whether a config.json is that of a masked language model."""
    named = [str(name) for name in config.get("architectures") or ()]
    if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in named):
        return False
    if any(name.endswith(("ForMaskedLM", "ForPreTraining")) for name in named):
        return True
    families = ("bert", "electra", "mpnet", "longformer")
    is_decoder = bool(config.get("is_decoder"))
    return not is_decoder and any(name in str(config.get("model_type")) for name in families)


def _server(name: str, options: ModelOptions) -> Model:
    from barrow.score.models.completions import ServerSettings, key_from
    from barrow.score.models.server import ServerModel, ServerTokens, open_server
    from barrow.tokens import load

    key = key_from(os.environ, options.key_variable)
    server = open_server(ServerSettings(name, model=options.server_model, key=key))
    if options.tokenizer is None:
        return ServerModel(server)
    tokens = ServerTokens(server, load(options.tokenizer))
    return WindowedModel(tokens, options.protocol, server.info, group_bytes=1 << 16)


def _custom(module: str, function: str, options: ModelOptions) -> Model:
    # As `python -m` does, so that a file beside the user is found.
    here = os.fspath(Path.cwd())
    sys.path.insert(0, here)
    try:
        made = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise NotFound(f"there is no module {module!r}; pass {_FORMS}") from None
    finally:
        sys.path.remove(here)
    if not callable(made):
        raise NotFound(f"the module {module!r} has no function {function!r}")
    model = made()
    if isinstance(model, Model):
        return model
    if not isinstance(model, TokenModel):
        raise ValueError(
            f"{module}:{function} returned a {type(model).__name__}; expected an object "
            "with `tokenizer`, `max_length` and `log_probs` (see barrow.score.TokenModel)"
        )
    # The weights are not visible here: give two versions different names.
    named = getattr(model, "identity", f"{module}:{function}")
    info = ModelInfo(
        name=str(getattr(model, "name", f"{module}:{function}")),
        kind="custom",
        identity=hashlib.sha256(str(named).encode()).hexdigest(),
        about={"function": f"{module}:{function}"},
    )
    return WindowedModel(model, options.protocol, info)


def identity_of(path: Path) -> tuple[str, int]:
    """Of a file, or of the weights and config.json in a folder: a hash, and bytes of weights.

    Paths and times of the files do not matter.
    """
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if _counts(file))
    found = hashlib.sha256()
    size = 0
    for file in files:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        found.update(f"{file.suffix} {digest}\n".encode())
        size += file.stat().st_size if file.suffix in _WEIGHTS else 0
    return found.hexdigest(), size


def _counts(file: Path) -> bool:
    if not file.is_file() or file.name.startswith(_NOT_WEIGHTS):
        return False
    return file.suffix in _WEIGHTS or file.name == "config.json"
