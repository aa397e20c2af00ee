"""`mixture.json`: the weights of domains that a search recommends, or anybody's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from barrow.config import parse_json
from barrow.errors import ConfigError, NotFound
from barrow.mix.runs import checked_weights

FILE = "mixture.json"


def read_mixture(path: str | os.PathLike[str]) -> dict[str, float]:
    """Weights by domain of a mixture.json, of the folder of a search, or of a JSON object.

    They sum to 1; an error of up to 0.02 is scaled away.
    """
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise NotFound(f"{file}: no such file; a mixture is the folder of a search or a JSON file")
    return weights_of(parse_json(file.read_bytes(), file), str(file))


def weights_of(data: object, where: str) -> dict[str, float]:
    """The weights in what `read_mixture` reads."""
    found = data.get("weights", data) if isinstance(data, Mapping) else data
    if not isinstance(found, Mapping) or not found:
        raise ConfigError(f'{where}: expected {{"weights": {{"DOMAIN": 0.5, …}}}}')
    for name, weight in found.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ConfigError(f"{where}: the weight of {name!r} must be a number, got {weight!r}")
        if not np.isfinite(weight):
            raise ConfigError(f"{where}: the weight of {name!r} must be finite, got {weight}")
    row = checked_weights(np.array([[float(weight) for weight in found.values()]]), [where])[0]
    return dict(zip(found, row.tolist(), strict=True))
