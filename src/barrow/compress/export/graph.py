"""An ONNX graph under construction: weights, products, norms and activations as nodes.

Nodes of the domain com.microsoft are those that ONNX Runtime has fused kernels for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import MissingExtra
from barrow.nn.weights.grouped import ZERO, Grouped
from barrow.nn.weights.per_channel import PerChannel

FUSED = "com.microsoft"
_OPSET, _IR = 18, 9
_FLOAT = 1
_BY_INT8 = 4  # accuracy_level of MatMulNBits: activations become int8 by blocks


class Graph:
    """Names of values are strings; every method returns the name of what it computes."""

    def __init__(self, *, seven_bits: bool = False) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingExtra("onnx", "onnx", "writing an ONNX file") from None
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._held: dict[str, Any] = {}
        self._count = 0
        self._seven_bits = seven_bits

    def node(
        self, op: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any
    ) -> Any:
        """A node's output, or a list of them."""
        self._count += 1
        names = [f"{op}_{self._count}_{i}" for i in range(outputs)]
        made = self._onnx.helper.make_node(
            op, list(inputs), names, name=f"{op}_{self._count}", domain=domain, **attributes
        )
        self._nodes.append(made)
        return names[0] if outputs == 1 else names

    def held(self, name: str, array: Any) -> str:
        """An array in the file, once for each name."""
        if name not in self._held:
            data = np.asarray(array, order="C")
            self._held[name] = self._onnx.numpy_helper.from_array(data, name)
        return name

    def integers(self, name: str, *values: int) -> str:
        """A list of int64, such as a shape."""
        return self.held(name, np.array(values, np.int64))

    # What models are made of ----------------------------------------------------------------------

    def product(
        self, x: str, name: str, weight: Any, bias: Any | None = None, *, num_in: int = 1
    ) -> str:
        """x·W + b over the last dimension of x; the inputs and outputs of W in a row each."""
        outer = math.prod(weight.shape[:num_in]), math.prod(weight.shape[num_in:])
        added = None if bias is None else self.held(f"{name}.bias", _floats(bias).reshape(-1))
        if isinstance(weight, Grouped):
            y = self._by_groups(x, name, weight)
        elif isinstance(weight, PerChannel):
            return self._by_channels(x, name, weight, outer, added)
        else:
            y = self.node("MatMul", x, self.held(name, _floats(weight).reshape(outer)))
        return y if added is None else self.node("Add", y, added)

    def table(self, name: str, table: Any, ids: str) -> str:
        """Rows of a table of embeddings."""
        if not isinstance(table, PerChannel):
            return str(self.node("Gather", self.held(name, _floats(table)), ids))
        values, scales = self._integers_of(name, table)
        rows = self.node("Cast", self.node("Gather", values, ids), to=_FLOAT)
        steps = self.node("Gather", scales, ids)
        last = self.integers("last_dimension", -1)
        return str(self.node("Mul", rows, self.node("Unsqueeze", steps, last)))

    def tied_logits(self, x: str, name: str, table: Any, bias: Any | None = None) -> str:
        """x·Tᵀ + b with a table that is in the file once; the runtime transposes it at start."""
        added = None if bias is None else self.held(f"{name}.bias", _floats(bias))
        if isinstance(table, PerChannel):
            values, scales = self._integers_of(name, table)
            turned = self.node("Transpose", values, perm=[1, 0])
            return self._dynamic(x, turned, scales, added)
        turned = self.node("Transpose", self.held(name, _floats(table)), perm=[1, 0])
        y = self.node("MatMul", x, turned)
        return y if added is None else str(self.node("Add", y, added))

    def norm(self, x: str, name: str, params: Mapping[str, Any], eps: float) -> str:
        """A layer norm, or without a bias an RMS norm."""
        scale = self.held(f"{name}.scale", _floats(params["scale"]))
        if "bias" not in params:
            return str(self.node("SimplifiedLayerNormalization", x, scale, axis=-1, epsilon=eps))
        bias = self.held(f"{name}.bias", _floats(params["bias"]))
        return str(self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=eps))

    def sum_and_norm(
        self, x: str, y: str, name: str, params: Mapping[str, Any], eps: float
    ) -> tuple[str, str]:
        """X + y normed, and x + y; the runtime's node for both takes four times as long."""
        both = str(self.node("Add", x, y))
        return self.norm(both, name, params, eps), both

    def activation(self, kind: str, x: str) -> str:
        """By its name in Hugging Face's configurations."""
        if kind == "gelu":
            return str(self.node("Gelu", x, domain=FUSED))
        if kind in ("gelu_new", "gelu_pytorch_tanh"):
            return str(self.node("FastGelu", x, domain=FUSED))
        if kind in ("quick_gelu", "silu"):
            alpha = 1.702 if kind == "quick_gelu" else 1.0
            return str(self.node("QuickGelu", x, domain=FUSED, alpha=alpha))
        plain = {"relu": "Relu", "tanh": "Tanh"}
        if kind not in plain:
            raise ValueError(f"export lacks the activation {kind!r}")
        return str(self.node(plain[kind], x))

    def mlp(self, x: str, name: str, params: Mapping[str, Any], activation: str) -> str:
        """See `nn.MLP`."""
        if "experts" in params:
            raise ValueError("export lacks experts (nn.Experts): this model has them in its MLPs")

        def dense(x: str, part: str) -> str:
            return self.product(
                x, f"{name}.{part}", params[part]["kernel"], params[part].get("bias")
            )

        up = dense(x, "up")
        if "gate" in params:
            y = self.node("Mul", self.activation(activation, dense(x, "gate")), up)
        else:
            y = self.activation(activation, up)
        return dense(y, "down")

    # Quantized products ---------------------------------------------------------------------------

    def _by_channels(
        self, x: str, name: str, weight: PerChannel, shape: tuple[int, int], bias: str | None
    ) -> str:
        if weight.values.dtype != np.int8:
            raise ValueError(f"export lacks weights of {weight.values.dtype} ({name}); use int8")
        if weight.inputs is not None:
            factors = 1 / np.asarray(weight.inputs, np.float32).reshape(-1)
            x = self.node("Mul", x, self.held(f"{name}.inputs", factors))
        values, scales = self._integers_of(name, weight, shape)
        return self._dynamic(x, values, scales, bias)

    def _dynamic(self, x: str, values: str, scales: str, bias: str | None) -> str:
        inputs = (x, values, scales, "", *(() if bias is None else (bias,)))
        return str(self.node("DynamicQuantizeMatMul", *inputs, domain=FUSED))

    def integer_attention(
        self,
        name: str,
        weight: PerChannel,
        bias: Any,
        x: str,
        mask: str,
        kinds: Mapping[str, int],
    ) -> str:
        """Attention with its projections of queries, keys and values beside each other."""
        values, scales = self._integers_of(name, weight)
        integers, step, zero = self.node("DynamicQuantizeLinear", x, outputs=3)
        zeros = self.held(f"{name}.zeros", np.zeros(weight.shape[1], np.int8))
        added = self.held(f"{name}.bias", _floats(bias))
        inputs = (integers, values, added, step, scales, mask, zero, zeros)
        return str(self.node("QAttention", *inputs, domain=FUSED, **kinds))

    def _integers_of(
        self, name: str, weight: PerChannel, shape: tuple[int, ...] | None = None
    ) -> tuple[str, str]:
        values = np.asarray(weight.values)
        scales = np.asarray(weight.scales, np.float32).reshape(-1)
        if self._seven_bits:
            # A sum of two products of 8 bits saturates 16 where the processor lacks VNNI.
            values, scales = np.clip(np.rint(values / 2), -63, 63).astype(np.int8), scales * 2
        values = values if shape is None else values.reshape(shape)
        return self.held(f"{name}.values", values), self.held(f"{name}.scales", scales)

    def _by_groups(self, x: str, name: str, weight: Grouped) -> str:
        groups, _, outputs = weight.values.shape
        size = weight.values.shape[1] * (2 if weight.bits == 4 else 1)
        if size < 16 or size & (size - 1):
            raise ValueError(
                f"export lacks groups of {size} ({name}): ONNX Runtime takes powers of two from 16 "
                "on; compress with --group 32"
            )
        integers = _unpacked(np.asarray(weight.values), weight.bits)  # [groups, size, outputs]
        by_output = integers.transpose(2, 0, 1)
        if weight.bits == 4:
            pairs = (by_output + ZERO).astype(np.uint8).reshape(outputs, groups, size // 2, 2)
            blob = pairs[..., 0] | pairs[..., 1] << 4
        else:
            blob = (by_output.astype(np.int16) + 128).astype(np.uint8)
        scales = np.asarray(weight.scales, np.float32).T.reshape(-1)
        y = self.node(
            "MatMulNBits",
            x,
            self.held(f"{name}.values", blob),
            self.held(f"{name}.scales", scales),
            domain=FUSED,
            K=math.prod(weight.inputs),
            N=outputs,
            bits=weight.bits,
            block_size=size,
            accuracy_level=_BY_INT8,
        )
        return str(y)

    # The whole ------------------------------------------------------------------------------------

    def finished(
        self,
        inputs: Mapping[str, tuple[str, Sequence[str | int]]],
        outputs: Mapping[str, tuple[str, Sequence[str | int]]],
        metadata: Mapping[str, str],
    ) -> bytes:
        """The file. `inputs` have types (int32, float32) and shapes; `outputs` name values."""
        helper, kinds = self._onnx.helper, {"int32": 6, "float32": 1}
        for name, (value, _) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [value], [name], name=name))
        graph = helper.make_graph(
            self._nodes,
            "barrow",
            [helper.make_tensor_value_info(n, kinds[t], s) for n, (t, s) in inputs.items()],
            [helper.make_tensor_value_info(n, 1, s) for n, (_, s) in outputs.items()],
            list(self._held.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(FUSED, 1)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR, producer_name="barrow"
        )
        helper.set_model_props(model, dict(metadata))
        size = model.ByteSize()
        if size >= 2**31:
            raise ValueError(
                f"the graph has {size:,} bytes, and a file of ONNX at most 2^31: quantize it first"
            )
        data: bytes = model.SerializeToString()
        return data


def _floats(array: Any) -> npt.NDArray[np.float32]:
    return np.asarray(array, np.float32)


def _unpacked(values: npt.NDArray[Any], bits: int) -> npt.NDArray[np.int8]:
    if bits == 8:
        return values.astype(np.int8)
    return np.concatenate([values & 15, values >> 4], axis=-2).astype(np.int8) - np.int8(ZERO)
