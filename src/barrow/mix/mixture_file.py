"""`mixture.json`: the weights of domains that a search recommends, or anybody's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.config import parse_json, to_json
from barrow.errors import ConfigError, NotFound
from barrow.files import write_bytes
from barrow.mix.law import Law, interval
from barrow.mix.runs import Array, checked_weights

if TYPE_CHECKING:
    from barrow.mix.recommend import Recommendation

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


def write_mixture(
    folder: Path,
    law: Law,
    given: Recommendation,
    *,
    others: Mapping[str, Array],
    counts: Array,
    about: Mapping[str, Any],
) -> None:
    """Write a recommendation with what it rests on.

    `others` are mixtures that it is compared with, "current" among them; `counts` is how much each
    scored domain counts.
    """
    transfer = law.transfer()
    low, high = interval(transfer)

    def by_domain(row: Array) -> dict[str, float]:
        return dict(zip(law.domains, row.tolist(), strict=True))

    made = {
        "format": "barrow-mixture-1",
        # Rounded: the last digits of a minimum differ from one computation to the next.
        "weights": by_domain(given.weights.round(6)),
        "low": by_domain(given.low),
        "high": by_domain(given.high),
        "is_supported": given.is_supported,
        "current": by_domain(others["current"]),
        "counts": dict(zip(law.scored, counts.tolist(), strict=True)),
        "params": law.params,
        "expected": {
            name: _expected(law, given.weights, row, counts) for name, row in others.items()
        },
        "best": list(given.objective),
        "transfer": {
            scored: {
                name: [float(some[place, column]) for some in (transfer[0], low, high)]
                for column, name in enumerate(law.domains)
            }
            for place, scored in enumerate(law.scored)
        },
        **about,
    }
    write_bytes(folder / FILE, to_json(made).encode())


def _expected(law: Law, weights: Array, other: Array, counts: Array) -> dict[str, Any]:
    """Changes from one mixture to another, with intervals: of the objective, and by domain."""
    losses = law.predict(np.stack([weights, other]))
    change = losses[:, 0] - losses[:, 1]
    columns = np.concatenate([(change @ counts)[:, None], change], axis=1)
    low, high = interval(columns)
    rows = np.stack([columns[0], low, high], axis=1).tolist()
    return {"objective": rows[0], "domains": dict(zip(law.scored, rows[1:], strict=True))}
