"""`barrow align grpo` and `ppo`: learning from rewards of one's own answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.align.arguments import Corpus, Init, Out, overridden, show_keys, train
from barrow.cli.options import Overrides, Show, Trust

if TYPE_CHECKING:
    from barrow.align.rollouts.rewards import Weighed
    from barrow.train import Run

RewardOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[WEIGHT*]REWARD",
        help="module:function or file.py:function of yours, a run of `align reward`, exact, "
        "regex:PATTERN, or code; may be repeated.",
        show_default=False,
    ),
]
PromptFile = Annotated[
    str,
    typer.Option(
        "--prompts",
        metavar="FILE",
        help="A .jsonl or .parquet file, or an archive.",
        show_default=False,
    ),
]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="The reward `code` may run what the model writes."),
]


def grpo(
    model: Init,
    overrides: Overrides = None,
    reward: RewardOption = None,
    prompts: PromptFile = "",
    out: Out = "",
    corpus: Corpus = "",
    allow_code: AllowCode = False,
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Learn from rewards of groups of answers to each prompt; algorithm=rloo for the other kind.

    --show lists every KEY of KEY=VALUE.
    """
    from barrow.align.runs import grpo_settings

    given = (model, overrides, reward, prompts, out, trust)
    _run(grpo_settings, *given, corpus=corpus, code=allow_code, show=show)


def ppo(
    model: Init,
    overrides: Overrides = None,
    reward: RewardOption = None,
    prompts: PromptFile = "",
    out: Out = "",
    corpus: Corpus = "",
    allow_code: AllowCode = False,
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Learn from rewards with a critic (PPO), which shares the policy's layers; or critic=own."""
    from barrow.align.runs import ppo_settings

    given = (model, overrides, reward, prompts, out, trust)
    _run(ppo_settings, *given, corpus=corpus, code=allow_code, show=show)


def _run(
    make: Any,
    model: str,
    overrides: list[str] | None,
    rewards: list[str] | None,
    prompts: str,
    out: str,
    trust: list[str] | None,
    *,
    corpus: str,
    code: bool,
    show: bool,
) -> None:
    from barrow.align.rollouts.rewards import Exact, Weighed

    if not show and not (prompts and rewards):
        raise typer.BadParameter("pass --prompts FILE and --reward REWARD")
    weighed = tuple(_weighed(one) for one in rewards or ()) or (Weighed(Exact()),)
    # `code` needs the permission before it is there.
    settings = make(prompts, (Weighed(Exact()),))
    objective = replace(settings.objective, rewards=weighed, allow_code=code)
    settings = overridden(replace(settings, objective=objective), overrides, trust)
    if show:
        show_keys(settings)
        return
    from barrow.align.runs import align_run

    train(lambda init: align_run(settings, init), model, out, summary=_summary, corpus=corpus)


def _weighed(given: str) -> Weighed:
    from barrow.align.rollouts.code import UnitTests
    from barrow.align.rollouts.rewards import Exact, Matches, RewardModel, Weighed

    number, star, name = given.partition("*")
    try:
        weight = float(number) if star else 1.0
    except ValueError:
        weight, star = 1.0, ""
    name = name if star else given
    if name == "exact":
        return Weighed(Exact(), weight)
    if name == "code":
        return Weighed(UnitTests(), weight)
    if name.startswith("regex:"):
        return Weighed(Matches(name.removeprefix("regex:")), weight)
    if Path(name).is_dir():
        return Weighed(RewardModel(str(Path(name).resolve())), weight)
    return Weighed(_function(name), weight)


def _function(name: str) -> Any:
    """A function that the user named, and so trusts."""
    import importlib
    import sys

    from barrow import config

    module, _, function = name.rpartition(":")
    if not module or not function:
        raise typer.BadParameter(
            f"no reward {name!r}: a folder, module:function, exact, regex:PATTERN, or code"
        )
    if module.endswith(".py"):
        found: Any = config.import_file(Path(module))
    else:
        if "" not in sys.path and "." not in sys.path:
            sys.path.insert(0, "")  # as `python -m` has it
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0]:
                raise
            raise typer.BadParameter(f"there is no module {module!r} for {name!r}") from None
    if not callable(getattr(found, function, None)):
        raise typer.BadParameter(f"{module} has no function {function!r}")
    return getattr(found, function)


def _summary(run: Run) -> list[str]:
    from barrow.align.tasks.rollouts import open_run_prompts

    found, bad = open_run_prompts(run)
    policy: Any = run.objective
    per = f"{found.settings.prompts} prompts × {found.settings.answers} answers"
    most = found.settings.max_tokens
    words = f"{len(found.ids):,} prompts; a step is {per} of up to {most} tokens"
    rewards = ", ".join(f"{one.weight:g} × {one.name}" for one in policy.rewards)
    return [words, f"rewards: {rewards}", *bad.lines()]
