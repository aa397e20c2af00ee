"""Modules as frozen descriptions; parameters as an immutable tree; everything pure."""

from __future__ import annotations

from barrow.nn.activations import activation, gelu, gelu_tanh, quick_gelu, relu, silu
from barrow.nn.attention import Visible, attention, attention_weights
from barrow.nn.batch_norm import BatchNorm
from barrow.nn.block import Block
from barrow.nn.cache import Cache, KeyValues
from barrow.nn.conv import Conv
from barrow.nn.dense import Dense
from barrow.nn.dot import Weight, dot
from barrow.nn.dropout import Dropout
from barrow.nn.embed import Embed
from barrow.nn.flops import Flops, flops
from barrow.nn.initialisers import Initialiser, constant, fan_in, normal, ones, uniform, zeros
from barrow.nn.mlp import MLP
from barrow.nn.module import Module, axes, describe, init_collections, num_params
from barrow.nn.multi_head import MultiHead
from barrow.nn.norms import GroupNorm, LayerNorm, RMSNorm
from barrow.nn.recurrent import Cell, GRUCell, LSTMCell, Recurrent
from barrow.nn.remat import Policy, Remat, named
from barrow.nn.repeat import Repeat, put_together, take_apart
from barrow.nn.rotary import Rotary, Stretch
from barrow.nn.scope import Scope
from barrow.nn.summary import summary
from barrow.nn.tree import Tree, from_paths, paths

__all__ = [
    "MLP",
    "BatchNorm",
    "Block",
    "Cache",
    "Cell",
    "Conv",
    "Dense",
    "Dropout",
    "Embed",
    "Flops",
    "GRUCell",
    "GroupNorm",
    "Initialiser",
    "KeyValues",
    "LSTMCell",
    "LayerNorm",
    "Module",
    "MultiHead",
    "Policy",
    "RMSNorm",
    "Recurrent",
    "Remat",
    "Repeat",
    "Rotary",
    "Scope",
    "Stretch",
    "Tree",
    "Visible",
    "Weight",
    "activation",
    "attention",
    "attention_weights",
    "axes",
    "constant",
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
    "put_together",
    "quick_gelu",
    "relu",
    "silu",
    "summary",
    "take_apart",
    "uniform",
    "zeros",
]
