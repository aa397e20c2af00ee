"""`barrow mix`: which mixture of domains to train on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.finetune import remember_programs
from barrow.cli.options import AsJson
from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.mix import Law, Runs
    from barrow.mix.find import Found


_INTERRUPTED = 130


def search(
    store: Annotated[str, typer.Argument(help="A token store.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The folder of the search.", show_default=False)],
    target: Annotated[
        Path | None,
        typer.Option(
            help='JSON, how much each domain counts: {"DOMAIN": 2, …}.',
            show_default="all the same",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(help="The corpus with validation text.", show_default="the store's own"),
    ] = None,
    split: Annotated[str, typer.Option(help="The split of that corpus.")] = "validation",
    proxies: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERxSIZE,…",
            help="How many small models of which size (parameters without the embedding table), "
            "as 68x2M,8x30M.",
            show_default="for n domains 4n of 2M, n/2 of 30M",
        ),
    ] = None,
    tokens_per_param: Annotated[
        float, typer.Option(help="Tokens that each is trained on, for each parameter.")
    ] = 20,
    max_epochs: Annotated[
        float, typer.Option(help="How often a mixture may read a domain in --tokens.")
    ] = 4,
    tokens: Annotated[
        int,
        typer.Option(help="That the mixture is for.", show_default="as many as the store has"),
    ] = 0,
    floor: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN=WEIGHT", help="The least weight; may be repeated."),
    ] = None,
    ceiling: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN=WEIGHT", help="The largest weight; may be repeated."),
    ] = None,
    max_loss: Annotated[
        float | None, typer.Option(help="No domain may lose more bits per byte than this.")
    ] = None,
    prior: Annotated[
        str, typer.Option(help="The mixtures are spread around: size, uniform, or a mixture.json.")
    ] = "size",
    current: Annotated[
        Path | None,
        typer.Option(help="The present weights: a mixture.json.", show_default="by size"),
    ] = None,
    seq_len: Annotated[int, typer.Option(help="Tokens of a row.", min=16)] = 256,
    validation_bytes: Annotated[
        int, typer.Option(help="Validation text of each domain that is scored.", min=1)
    ] = 1_000_000,
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Size of the models of the confirmation; none leaves it out.",
            show_default="the largest of --proxies",
        ),
    ] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(help="Take over the valid runs of another search; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of mixtures, models and batches.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Search for the best mixture: train small models, fit a law, recommend, confirm.

    A search that was stopped resumes; other targets and bounds reuse all its runs.
    """
    from barrow.interrupt import Interrupted
    from barrow.mix.find import find
    from barrow.mix.mixture_file import read_mixture
    from barrow.mix.plan import Design, Question
    from barrow.mix.proxies import read_proxies
    from barrow.mix.swarm import use_all_cores
    from barrow.score import open_corpus
    from barrow.tokens import open_store

    opened = open_store(store)
    names = opened.domains
    number = len(names)
    wanted = read_proxies(proxies or f"{4 * number}x2M,{max(4, -(-number // 2))}x30M")
    priors = {"size": None, "uniform": dict.fromkeys(names, 1 / max(1, number))}
    design = Design(
        wanted,
        tokens_per_param=tokens_per_param,
        max_epochs=max_epochs,
        budget=tokens,
        prior=priors[prior] if prior in priors else read_mixture(prior),
        seq_len=seq_len,
        seed=seed,
        validation_bytes=validation_bytes,
    )
    question = Question(
        target=None if target is None else _target(target),
        floors=_weights(floor, "--floor"),
        ceilings=_weights(ceiling, "--ceiling"),
        max_loss=max_loss,
    )
    size = None
    if confirm != "none":
        size = wanted[-1].params if confirm is None else read_proxies(f"1x{confirm}")[0].params
    remember_programs()
    use_all_cores()
    try:
        found = find(
            store,
            out,
            design=design,
            question=question,
            validation=open_corpus(validation or opened.manifest.corpus.path, split=split),
            current=None if current is None else read_mixture(current),
            confirm_at=size,
            reuse=reuse or (),
            say=lambda words: typer.echo(printable(words), err=True),
        )
    except Interrupted as stopped:
        typer.echo(f"{stopped}. To resume, run the same command", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    _show_found(found, as_json=as_json)
    if not as_json:
        typer.echo(printable(f"Next: barrow train … --store {store} --mixture {out}"))


def show(
    folder: Annotated[Path, typer.Argument(help="The folder of a search.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this HTML file.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a search found: weights, expected and measured changes, and a page."""
    from barrow.mix.find import read_found

    found = read_found(folder)
    _show_found(found, as_json=as_json)
    if out is not None:
        from barrow.files import write_bytes
        from barrow.mix.page import page

        write_bytes(out, page(found).encode())
        if not as_json:
            typer.echo(f"written to {printable(str(out))}")


def _show_found(found: Found, *, as_json: bool) -> None:
    from barrow.config import to_dict, to_json
    from barrow.mix.page import change, cost, headline, remarks

    if as_json:
        verdict = None if found.verdict is None else to_dict(found.verdict)
        typer.echo(to_json({**found.mixture, "verdict": verdict}), nl=False)
        return
    made, verdict = found.mixture, found.verdict
    expected = made["expected"]
    rows = []
    for name in dict.fromkeys([*made["weights"], *expected["current"]["domains"]]):
        weights = ("", "", "")
        if name in made["weights"]:
            low, high = made["low"][name], made["high"][name]
            now, then = made["current"][name], made["weights"][name]
            weights = (f"{now:.1%}", f"{then:.1%}", f"{low:.1%} to {high:.1%}")
        delta = expected["current"]["domains"].get(name)
        measured = None if verdict is None else verdict.domains.get(name)
        rows.append(
            (
                name,
                *weights,
                "" if delta is None else change(delta),
                "" if measured is None else f"{measured.difference:+.4f}",
            )
        )
    print_table(("domain", "current", "recommended", "95%", "expected Δ", "measured Δ"), rows)
    for key in expected:
        typer.echo(f"expected against {key}: {change(expected[key]['objective'])} bits per byte")
    if verdict is not None:
        one = verdict.objective
        words = change((one.difference, one.low, one.high))
        typer.echo(f"measured against current: {words} bits per byte, p = {one.p:.2g}")
    typer.echo(f"{headline(found)}. {cost(found)}.")
    for words in remarks(found):
        typer.echo(printable(words))


def _weights(given: list[str] | None, option: str) -> dict[str, float]:
    found = {}
    for text in given or ():
        name, equals, weight = text.rpartition("=")
        try:
            found[name] = float(weight)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise typer.BadParameter(f"{option} must be DOMAIN=WEIGHT, got {text!r}")
    return found


def _target(path: Path) -> dict[str, float]:
    from barrow.config import parse_json
    from barrow.errors import ConfigError

    found = parse_json(path.read_bytes(), path)
    if not isinstance(found, dict) or not all(
        isinstance(w, int | float) and not isinstance(w, bool) for w in found.values()
    ):
        raise ConfigError(f'{path}: a target must be {{"DOMAIN": WEIGHT, …}}')
    return {name: float(weight) for name, weight in found.items()}


def fit(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="CSV with a row for each run: run, params, weight:DOMAIN…, loss:DOMAIN…; or the "
            "folder of a search.",
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
