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
STATISTICS = "statistics"  # of norms: a few numbers for each row


@dataclass(frozen=True)
class Policy:
    """What is kept for the backward pass; everything else is recomputed.

    `keep` are names given with `nn.named`. `keep_dots` keeps the results of matrix products with
    weights: what is computed again is then attention within itself (products of activations, the
    softmax) and what is cheap.
    """

    keep: tuple[str, ...] = ()
    keep_dots: bool = False

    def saveable(self) -> Callable[..., Any]:
        """As `jax.checkpoint` takes it."""
        # There is no "all but these names": JAX would keep the same values from before the naming.
        policies = jax.checkpoint_policies
        chosen: Callable[..., Any] = policies.nothing_saveable
        if self.keep_dots:
            chosen = policies.dots_with_no_batch_dims_saveable
        if self.keep:
            chosen = policies.save_from_both_policies(
                chosen, policies.save_only_these_names(*self.keep)
            )
        return chosen


EVERYTHING = Policy()
ATTENTION_ONLY = Policy(keep_dots=True)
STATISTICS_ONLY = Policy(keep=(STATISTICS,))


def named(x: Any, name: str) -> Any:
    """x, under a name that a `Policy` may speak of."""
    return checkpoint_name(x, name)


@dataclass(frozen=True)
class Remat(Module):
    """A module whose inner results are computed again in the backward pass.

    Parameters, keys and collections are those of the body without it: it may come and go. Inside a
    scan it saves memory everywhere; outside one, XLA for CPUs finds that the two computations are
    the same and keeps the first after all.
    """

    body: Module
    policy: Policy = EVERYTHING

    def forward(self, scope: Scope, *args: Any, **kwargs: Any) -> Any:
        """As the body does."""
        if scope.trace.is_describing:
            return describe_inner(scope, self.body, *args, **kwargs)
        function = jax.checkpoint(pure(scope, self.body), policy=self.policy.saveable())
        output, written = function(variables(scope), *args, **kwargs)
        write_back(scope, written)
        return output
