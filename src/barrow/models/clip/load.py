"""Open CLIP models: from a name and a file of weights."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.errors import WeightsError
from barrow.images import LIMITS, ImageLike, Limits, load_images, normalise
from barrow.images.normalise import MEAN, STD
from barrow.models.clip.config import ClipConfig
from barrow.models.clip.encoder import DEFAULT_BATCH, Clip, in_type
from barrow.models.clip.files import ClipFiles, open_clip_files
from barrow.models.clip.model import CLIP
from barrow.models.clip.names import STATISTICS, read
from barrow.models.clip.tower import Running, towers_apart
from barrow.models.clip.variants import VARIANTS, variant
from barrow.models.clip.zero_shot import Floats
from barrow.models.keys_report import KeysReport
from barrow.models.load import Layout, layout_of
from barrow.models.open_model import is_run, of_kind, open_model
from barrow.nn.module import init_collections
from barrow.nn.tree import Tree, from_paths, paths
from barrow.tokens.clip.merges import find_merges
from barrow.tokens.clip.tokenizer import ClipTokenizer
from barrow.weights.hub.cache import cache_folder
from barrow.weights.matching import match
from barrow.weights.place import Place

DTYPES = ("float32", "bfloat16", "float16")
# A tokenizer that needs no file: each byte is a token. For few captions of few words.
BYTES = "bytes"


@dataclass(frozen=True)
class Preprocess:
    """Images (paths, bytes of files, Pillow images, arrays of pixels) as model inputs."""

    resolution: int

    def __call__(self, images: Sequence[Any]) -> Floats:
        """float32 [n, resolution, resolution, 3], normalised."""
        return preprocess(images, resolution=self.resolution)


def load(
    name: str | ClipConfig | None = None,
    *,
    weights: str | os.PathLike[str] | None = None,
    bpe: str | os.PathLike[str] | None = None,
    trust: Collection[str] = (),
    activation: Literal["quick_gelu", "gelu"] | None = None,
    dtype: str = "float32",
    strict: bool = True,
    seed: int = 0,
    batch: int = DEFAULT_BATCH,
    place: Place | None = None,
) -> tuple[Clip, Preprocess]:
    """A model that encodes, and the preprocessing of its images.

    `name` is one of the nine variants, or an architecture; None uses that of the file. `weights` is
    an OpenAI .pt file (a TorchScript archive or a state dict; nothing in it is executed), a Hugging
    Face folder, open_clip's folder or file, or a run of `barrow train`. Without weights they are
    random, from `seed`, as `Clip.origin` records. Keys that do not match are an error; unless
    `strict`, they are only reported, and parameters without a tensor are random. `trust` is for a
    run (see `open_model`).

    `bpe` is the tokenizer's vocabulary; by default it is searched beside the weights, in
    barrow's cache folder, in ~/.cache/clip and in installed packages, when a text is first encoded.
    `activation` is for files that do not have it (bare open_clip weights trained with gelu).
    Weights are kept and computed with in `dtype`, whatever the type of the file. `place`
    (`barrow.parallel.placing`) divides those of files over devices.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    wanted = variant(name) if isinstance(name, str) else name
    if weights is not None and is_run(Path(weights)):
        if name is not None:
            raise ValueError("a run names its model: leave out the name")
        return _of_run(Path(weights), bpe, dtype, batch, trust)
    if weights is None:
        if wanted is None:
            raise ValueError(
                f"pass weights, or the name of a model for random ones: {', '.join(VARIANTS)}"
            )
        config, files = wanted, None
    else:
        files = open_clip_files(weights)
        _refuse_other_normalisation(files)
        # The shapes decide whether the file matches the name; its config has the activation.
        config = files.config if wanted is None else _named(wanted, files, str(name))
    config = config if activation is None else replace(config, activation=activation)
    # Unstacked layers run faster on accelerators; a loop compiles in a fraction of the time.
    running = Running(unroll=jax.default_backend() != "cpu", dtype=dtype)
    module = CLIP(config, running)
    report: KeysReport | None = None
    leaves: dict[str, Any] = {}
    if files is not None:
        layout = layout_of(place, module, config.example)
        report, leaves = read_files(files, config, strict=strict, layout=layout)
    params, collections = _completed(module, leaves, seed)
    params = in_type(params, dtype)
    clip = Clip(
        module,
        towers_apart(params) if running.unroll else params,
        collections,
        _tokenizer(bpe, files),
        report,
        f"random weights of seed {seed}" if files is None else str(files.path),
        batch,
    )
    return clip, Preprocess(config.image.resolution)


def _of_run(
    run: Path,
    bpe: str | os.PathLike[str] | None,
    dtype: str,
    batch: int,
    trust: Collection[str],
) -> tuple[Clip, Preprocess]:
    """The newest checkpoint of a run, with the tokenizer that it was trained with."""
    loaded = open_model(run, dtype=dtype, unstack=jax.default_backend() != "cpu", trust=trust)
    module = of_kind(loaded, run, CLIP)
    tokenizer = str(loaded.tokenizer or "") if bpe is None else os.fspath(bpe)
    clip = Clip(
        module,
        loaded.params,
        loaded.collections,
        lambda: named_tokenizer(tokenizer),
        loaded.report,
        str(run),
        batch,
    )
    return clip, Preprocess(module.config.image.resolution)


def read_files(
    files: ClipFiles, config: ClipConfig, *, strict: bool = True, layout: Layout
) -> tuple[KeysReport, dict[str, Any]]:
    """A report of every key; and parameters, in float32, by path, with statistics."""
    entries = files.layout.entries(config)
    expected = {key: entry.line.shape for entry in entries for key in entry.names()}
    ignored = [key for key in files.tensors if re.fullmatch(files.layout.buffers, key)]
    found = match(files.tensors, expected, rename=lambda key: None if key in ignored else key)
    report = KeysReport(
        tuple(found.source.values()),
        found.missing,
        found.unexpected,
        tuple(ignored),
        found.mismatched,
    )
    if strict and not report.is_exact:
        raise WeightsError(f"the weights do not match the model: {report}", path=files.path)
    leaves: dict[str, Any] = {}
    for entry in entries:
        if all(key in found.source for key in entry.names()):
            leaves |= read(entry, files.tensors, found.source, np.float32, layout)
    return report, leaves


def _named(wanted: ClipConfig, files: ClipFiles, name: str) -> ClipConfig:
    """The named architecture, completed from the file; an error if they differ."""
    said = files.config
    config = replace(wanted, activation=said.activation, norm_eps=said.norm_eps)
    sizes = partial(_sizes, heads=files.says_heads)
    if sizes(config) != sizes(said):
        found = next((n for n, c in VARIANTS.items() if sizes(c) == sizes(said)), str(said))
        raise WeightsError(
            f"the weights are of {found}, not {name}; leave out the name to use {found}",
            path=files.path,
        )
    return config


def _completed(module: CLIP, leaves: Mapping[str, Any], seed: int) -> tuple[Tree, Tree]:
    """Parameters and statistics; what has no tensor is initialised."""
    example = module.config.example
    held = {path: jnp.asarray(x) for path, x in leaves.items()}
    params = {path: x for path, x in held.items() if not path.startswith(STATISTICS)}
    stats = {p.removeprefix(STATISTICS): x for p, x in held.items() if p.startswith(STATISTICS)}
    shapes = paths(jax.eval_shape(lambda key: module.init(key, *example), jax.random.key(0)))
    if set(shapes) - set(params):
        params = paths(module.init(jax.random.key(seed), *example)) | params
    first = init_collections(module, *example)
    if not first:
        return from_paths(params), Tree()
    whole = paths(first["batch_stats"]) | stats
    return from_paths(params), Tree({"batch_stats": from_paths(whole)})


def _sizes(config: ClipConfig, *, heads: bool) -> tuple[Any, ...]:
    """The sizes known from shapes; with `heads`, their numbers too."""
    towers = config.image, config.text
    kept = [{k: v for k, v in vars(t).items() if heads or k != "heads"} for t in towers]
    return config.embed, type(config.image), kept


def _tokenizer(bpe: str | os.PathLike[str] | None, files: ClipFiles | None) -> Any:
    """Opened when first needed: images do not need it."""
    if bpe is not None:
        given = ClipTokenizer.load(Path(bpe))
        return lambda: given

    @cache
    def look() -> ClipTokenizer:
        if files is not None and files.tokenizer is not None:
            return ClipTokenizer.load(files.tokenizer)
        places = bpe_folders(os.environ)
        if files is not None:
            beside = files.path if files.path.is_dir() else files.path.parent
            places = [beside, *places]
        return ClipTokenizer.load(find_merges(places))

    return look


def bpe_folders(environment: Mapping[str, str]) -> list[Path]:
    """Where the vocabulary file is searched: barrow's cache, and that of OpenAI's package."""
    home = Path(environment.get("HOME") or "~").expanduser()
    return [cache_folder(environment) / "clip", cache_folder(environment), home / ".cache" / "clip"]


def named_tokenizer(name: str) -> ClipTokenizer:
    """The tokenizer of a file or folder; ``bytes`` has no merges; "" is OpenAI's, looked for in the
    standard places.
    """
    if name == BYTES:
        return ClipTokenizer(())
    return ClipTokenizer.load(name or find_merges(bpe_folders(os.environ)))


def _refuse_other_normalisation(files: ClipFiles) -> None:
    for key, expected in (("mean", MEAN), ("std", STD)):
        found = (files.preprocessing or {}).get(key)
        if found is not None and not np.allclose(found, expected, atol=1e-4):
            raise WeightsError(
                f"its images are normalised with {key} {found}, expected {expected}: "
                "embeddings would be wrong",
                path=files.path,
            )


def preprocess(
    images: Sequence[ImageLike],
    *,
    resolution: int,
    background: tuple[int, int, int] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
) -> npt.NDArray[np.float32]:
    """Images as float32 [n, resolution, resolution, 3], normalised; see `barrow.images`.

    Paths, bytes of files, Pillow images or arrays of pixels. `BadImage` names one that is corrupt,
    cut off or too large.
    """
    pixels = load_images(
        images, resolution=resolution, background=background, limits=limits, threads=threads
    )
    normalised: npt.NDArray[np.float32] = normalise(pixels)
    return normalised
