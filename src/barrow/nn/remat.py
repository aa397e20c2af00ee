"""Rematerialisation: what the backward pass computes again instead of keeping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name

from barrow.nn.inner import describe_inner, pure, variables, write_back
from barrow.nn.module import Module
from barrow.nn.scope import Scope

# Modules give these names to what they compute; see `named`.
ATTENTION = "attention"


@dataclass(frozen=True)
class Policy:
    """What is kept for the backward pass.

    Everything is computed again but `keep` (names given with `nn.named`) and, with `keep_dots`, the
    results of matrix products; with `only`, all is kept but the names in it.
    """

    keep: tuple[str, ...] = ()
    keep_dots: bool = False
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.only and (self.keep or self.keep_dots):
            raise ValueError("`only` says what is computed again, `keep` what is not: give one")

    def saveable(self) -> Callable[..., Any]:
        """As `jax.checkpoint` takes it."""
        policies = jax.checkpoint_policies
        chosen: Callable[..., Any] = policies.nothing_saveable
        if self.only:
            chosen = policies.save_anything_except_these_names(*self.only)
        if self.keep_dots:
            chosen = policies.dots_with_no_batch_dims_saveable
        if self.keep:
            chosen = policies.save_from_both_policies(
                chosen, policies.save_only_these_names(*self.keep)
            )
        return chosen


EVERYTHING = Policy()
ATTENTION_ONLY = Policy(only=(ATTENTION,))


def named(x: Any, name: str) -> Any:
    """x, under a name that a `Policy` may speak of."""
    return checkpoint_name(x, name)


@dataclass(frozen=True)
class Remat(Module):
    """A module whose inner results are computed again in the backward pass."""

    body: Module
    policy: Policy = EVERYTHING

    def forward(self, scope: Scope, *args: Any) -> Any:
        """As the body does."""
        if scope.trace.is_describing:
            return describe_inner(scope, self.body, *args)
        function = jax.checkpoint(pure(scope, self.body), policy=self.policy.saveable())
        output, written = function(variables(scope), *args)
        write_back(scope, written)
        return output
