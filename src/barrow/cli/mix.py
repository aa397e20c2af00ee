"""`barrow mix`: which mixture of domains to train on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.mix import Law, Runs


def fit(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="CSV with a row for each run: run, params, weight:DOMAIN…, loss:DOMAIN….",
            show_default=False,
        ),
    ],
    predict: Annotated[
        Path | None,
        typer.Option(help="CSV of mixtures (weight:DOMAIN…) to predict the losses of."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --predict: write the predictions to this CSV file.")
    ] = None,
    params: Annotated[
        float | None,
        typer.Option(
            help="The size of the models to predict for.",
            show_default="the largest in the runs",
            min=1,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit the law of mixtures to runs, and predict the losses of other mixtures."""
    from barrow import mix

    if (predict is None) != (out is None):
        raise typer.BadParameter("give --predict MIXTURES and --out FILE together, or neither")
    table = mix.read_runs(runs)
    mixtures = None if predict is None else mix.read_mixtures(predict, table.domains)
    law = mix.fit(table, params=params, seed=seed)
    if mixtures is not None and out is not None:
        from barrow.files import write_bytes
        from barrow.mix.runs import table_of

        write_bytes(out, table_of(mix.prediction(law, mixtures)).encode())
    _show(law, table, as_json=as_json)
    if out is not None and not as_json:
        typer.echo(f"written to {printable(str(out))}")


def _show(law: Law, runs: Runs, *, as_json: bool) -> None:
    """What each scored domain receives from the others, and how well the law fits the runs."""
    import numpy as np

    from barrow.config import to_json
    from barrow.mix import interval

    transfer = law.transfer()
    low, high = interval(transfer)
    at_size = runs.params == law.params
    error = np.abs(law.predict(runs.weights[at_size])[0] - runs.losses[at_size])
    typical = np.median(error, axis=0) if at_size.any() else np.full(len(law.scored), np.nan)
    if as_json:
        found = {
            "params": law.params,
            "runs": len(runs.names),
            "domains": {
                scored: {
                    "error": None if np.isnan(typical[place]) else float(typical[place]),
                    "transfer": {
                        name: [float(some[place, column]) for some in (transfer[0], low, high)]
                        for column, name in enumerate(law.domains)
                    },
                }
                for place, scored in enumerate(law.scored)
            },
        }
        typer.echo(to_json(found), nl=False)
        return
    typer.echo(
        f"{len(runs.names):,} runs of {len(law.domains)} domains; for models of {law.params:,.0f} "
        "parameters. Helped by: the transfer from a domain, where its own is 1"
    )
    rows = []
    for place, scored in enumerate(law.scored):
        order = np.argsort(-transfer[0, place])
        helped = [
            f"{law.domains[column]} {transfer[0, place, column]:.2f}"
            for column in order
            if law.domains[column] != scored and transfer[0, place, column] >= 0.005
        ]
        rows.append((scored, f"{typical[place]:.4f}", ", ".join(helped[:3]) or "none"))
    print_table(("domain", "median error", "helped by"), rows, left=("domain", "helped by"))
