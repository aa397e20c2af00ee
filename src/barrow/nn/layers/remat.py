"""Rematerialisation: the backward pass recomputes values instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name

from barrow.nn.inner import describe_inner, pure, variables, write_back
from barrow.nn.module import Module
from barrow.nn.scope import Scope

# Names that modules give to their values; see `named`.
ATTENTION = "attention"
HEADS = "heads"  # queries, keys and values as attention takes them
HIDDEN = "hidden"  # products of an MLP, before the activation
RESIDUAL = "residual"  # what a norm after attention reads
STATISTICS = "statistics"  # of norms: a few numbers for each row


@dataclass(frozen=True)
class Policy:
    """What is kept for the backward pass; everything else is recomputed.

    `keep` are names given with `nn.named`. `keep_dots` keeps the results of matrix products with
    weights: only attention (products of activations, the softmax) and cheap operations are then
    recomputed. `keep_fused` keeps the results of fused attention, so that it does not run again.
    """

    keep: tuple[str, ...] = ()
    keep_dots: bool = False
    keep_fused: bool = False

    def saveable(self) -> Callable[..., Any]:
        """The policy for `jax.checkpoint`."""
        # There is no "all but these names": JAX would keep the same values from before the naming.
        policies = jax.checkpoint_policies
        chosen: Callable[..., Any] = policies.nothing_saveable
        if self.keep_dots:
            chosen = policies.dots_with_no_batch_dims_saveable
        if self.keep:
            chosen = policies.save_from_both_policies(
                chosen, policies.save_only_these_names(*self.keep)
            )
        if self.keep_fused:
            chosen = policies.save_from_both_policies(chosen, _is_fused)
        return chosen


def _is_fused(primitive: Any, *_: Any, **__: Any) -> bool:
    """Of `jax.nn.dot_product_attention` by cuDNN: its output, and a number for each query."""
    return str(primitive).startswith("dot_product_attention_fwd")


EVERYTHING = Policy()
ATTENTION_ONLY = Policy(keep_dots=True)
# No product and no fused attention is computed again: norms and activations are.
CHEAP = Policy(keep=(ATTENTION, HEADS, HIDDEN, RESIDUAL), keep_fused=True)
STATISTICS_ONLY = Policy(keep=(STATISTICS,))


def named(x: Any, name: str) -> Any:
    """x, with a name for `Policy`."""
    return checkpoint_name(x, name)


@dataclass(frozen=True)
class Remat(Module):
    """A module whose intermediate values are recomputed in the backward pass.

    Parameters, keys and collections are those of the body: it may be added or removed at any time.
    Inside a scan it saves memory everywhere; outside one, XLA for CPUs merges the two equal
    computations and keeps the values after all.
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
