"""The initial parameters of a run, taken from an existing model."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jax

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import read_index
from barrow.errors import ConfigError, NotFound
from barrow.models.family import Family, described_family
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded
from barrow.models.open_model import is_run, open_model
from barrow.models.quantized import is_quantized_tree
from barrow.stream.store import store_tokenizer
from barrow.train.tasks.task import Data
from barrow.train.tasks.token_data import TokenData
from barrow.weights.matching import Mismatch
from barrow.weights.place import Place


def initial_params(
    init: str,
    wanted: Mapping[str, Any],
    data: Data,
    *,
    fresh: Collection[str] = (),
    trust: Collection[str] = (),
    place: Place | None = None,
) -> dict[str, Any]:
    """Parameters by path of the model at `init`: a run, a checkpoint, a folder or a file.

    `wanted` is the tree that the run has. Parameters of other shapes are an error, and so are ids
    that mean other texts. Those that only one of the two has are reported. Parts named in `fresh`
    are not used. `place` divides them over devices (`barrow.parallel.placing`).
    """
    unstack = isinstance(wanted.get("layers"), tuple)
    loaded = open_model(init, dtype="float32", unstack=unstack, trust=trust, place=place)
    if is_quantized_tree(loaded.params):
        raise ConfigError(
            f"init={init} is quantized, and integers are not trained: begin with the model that it "
            "was made from"
        )
    if isinstance(data, TokenData):
        _refuse_other_vocabulary(init, loaded, data)
    theirs = {name: tree for name, tree in loaded.params.items() if name not in fresh}
    found, report = _matched(_by_path(theirs), _by_path(wanted))
    if report.mismatched or not report.matched:
        raise ConfigError(
            f"init={init} does not match the run's model: {report}. On the command line, "
            "leave out model.… to use its settings"
        )
    if not report.is_exact:
        warnings.warn(
            f"init={init}: {report}. Missing parameters are initialised from the seed", stacklevel=2
        )
    return found


def initial_family(init: str, *, trust: Collection[str] = ()) -> Family:
    """The settings of the model at `init`."""
    if not is_run(Path(init)):
        return open_model(init).family
    folder = find_checkpoint(Path(init))
    return described_family(read_index(folder).about, folder, trust=trust)


def _by_path(tree: Any) -> dict[str, Any]:
    found = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in found}


def _matched(
    theirs: Mapping[str, jax.Array], ours: Mapping[str, Any]
) -> tuple[dict[str, Any], KeysReport]:
    both = [path for path in ours if path in theirs]
    other = [path for path in both if theirs[path].shape != ours[path].shape]
    report = KeysReport(
        matched=tuple(path for path in both if path not in other),
        missing=tuple(path for path in ours if path not in theirs),
        unexpected=tuple(path for path in theirs if path not in ours),
        mismatched=tuple(Mismatch(p, ours[p].shape, theirs[p].shape) for p in other),
    )
    return {path: theirs[path] for path in report.matched}, report


def _refuse_other_vocabulary(init: str, loaded: Loaded, data: TokenData) -> None:
    if loaded.tokenizer is None:
        return
    try:
        theirs = loaded.words.open()
    except NotFound as error:
        warnings.warn(f"init={init}: its tokenizer cannot be compared: {error}", stacklevel=3)
        return
    ours = store_tokenizer(data.store)
    if theirs.hash == ours.hash:
        return
    num = ours.vocab_size
    other = [
        i
        for i in range(num)
        if i >= theirs.vocab_size or theirs.token_bytes(i) != ours.token_bytes(i)
    ]
    if other:
        raise ConfigError(
            f"init={init}: its vocabulary differs from the store's in {len(other):,} of {num:,} "
            f"ids, first {other[0]}. Tokenize with the model's tokenizer: "
            f"barrow tokenize CORPUS --tokenizer {init} --out STORE"
        )
