"""Modules as frozen descriptions; parameters as an immutable tree; everything pure."""

from __future__ import annotations

from barrow.nn.activations import activation, gelu, gelu_tanh, quick_gelu, relu, silu
from barrow.nn.batch_norm import BatchNorm
from barrow.nn.conv import Conv
from barrow.nn.dense import Dense
from barrow.nn.dot import Weight, dot
from barrow.nn.dropout import Dropout
from barrow.nn.embed import Embed
from barrow.nn.flops import Flops, flops
from barrow.nn.initialisers import Initialiser, fan_in, normal, ones, uniform, zeros
from barrow.nn.mlp import MLP
from barrow.nn.module import Module, axes, describe, init_collections, num_params
from barrow.nn.norms import GroupNorm, LayerNorm, RMSNorm
from barrow.nn.recurrent import Cell, GRUCell, LSTMCell, Recurrent
from barrow.nn.remat import Policy, Remat, named
from barrow.nn.repeat import Repeat
from barrow.nn.scope import Scope
from barrow.nn.summary import summary
from barrow.nn.tree import Tree, from_paths, paths

__all__ = [
    "MLP",
    "BatchNorm",
    "Cell",
    "Conv",
    "Dense",
    "Dropout",
    "Embed",
    "Flops",
    "GRUCell",
    "GroupNorm",
    "Initialiser",
    "LSTMCell",
    "LayerNorm",
    "Module",
    "Policy",
    "RMSNorm",
    "Recurrent",
    "Remat",
    "Repeat",
    "Scope",
    "Tree",
    "Weight",
    "activation",
    "axes",
    "describe",
    "dot",
    "fan_in",
    "flops",
    "from_paths",
    "gelu",
    "gelu_tanh",
    "init_collections",
    "named",
    "normal",
    "num_params",
    "ones",
    "paths",
    "quick_gelu",
    "relu",
    "silu",
    "summary",
    "uniform",
    "zeros",
]
