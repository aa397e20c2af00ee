"""Modules as frozen descriptions; parameters as an immutable tree; everything pure."""

from __future__ import annotations

from barrow.nn.attention.attention import attention, attention_weights
from barrow.nn.attention.cache import Cache, KeyValues
from barrow.nn.attention.multi_head import MultiHead
from barrow.nn.attention.rotary import RopeScaling, Rotary
from barrow.nn.attention.visible import Visible
from barrow.nn.dot import Weight, dot
from barrow.nn.flops import Flops, flops
from barrow.nn.initialisers import Initialiser, constant, fan_in, normal, ones, uniform, zeros
from barrow.nn.layers.activations import activation, gelu, gelu_tanh, quick_gelu, relu, silu
from barrow.nn.layers.batch_norm import BatchNorm
from barrow.nn.layers.block import Block
from barrow.nn.layers.conv import Conv
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.dropout import Dropout
from barrow.nn.layers.embed import Embed
from barrow.nn.layers.experts import Experts, Routing
from barrow.nn.layers.mlp import MLP
from barrow.nn.layers.norms import GroupNorm, LayerNorm, RMSNorm
from barrow.nn.layers.recurrent import Cell, GRUCell, LSTMCell, Recurrent
from barrow.nn.layers.remat import Policy, Remat, named
from barrow.nn.layers.repeat import Repeat, put_together, take_apart
from barrow.nn.module import Module, axes, describe, init_collections, num_params
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
    "Experts",
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
    "RopeScaling",
    "Rotary",
    "Routing",
    "Scope",
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
