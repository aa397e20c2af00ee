"""Traces of CPUs, GPUs and TPUs, and files that are none (DEEPSPEED-3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.train.profile.made_trace import write_trace

from barrow.train.profile import UnreadableTrace, read_trace
from barrow.train.profile.split import split
from barrow.train.profile.trace import INPUT, WINDOW

HOST = {"python": [(WINDOW, 10, 110, {}), (INPUT, 80, 100, {})]}


def parts(folder: Path) -> dict[str, float]:
    """Milliseconds by kind."""
    return {kind: 1000 * value for kind, value in split(read_trace(folder)).seconds.items()}


def test_a_gpu_by_its_streams(tmp_path: Path) -> None:
    """Kernels of two streams overlap; what is outside of the profiled steps is left out."""
    compute = [
        ("gemm", 0, 30, {"hlo_op": "dot.1"}),
        ("loop_fusion", 40, 60, {"hlo_op": "fusion.2"}),
        ("loop_add_fusion_1", 105, 200, {"hlo_op": "command_buffer_7"}),
    ]
    sent = [
        ("ncclDevKernel_AllReduce", 50, 70, {"hlo_op": "all-reduce-start.1"}),
        ("MemcpyH2D", 72, 74, {}),
    ]
    # The line of whole operations covers what the streams show in detail.
    whole = [("dot.1", 0, 200, {})]
    lines = {"Stream #13(Compute)": compute, "Stream #21(Nccl)": sent, "XLA Ops": whole}
    folder = write_trace(tmp_path, {"/host:CPU": HOST, "/device:GPU:0": lines})
    found = split(read_trace(folder))
    assert parts(folder) == pytest.approx(
        {"compute": 20 + 20 + 5, "communication": 10 + 2, "input": 20, "host": 23}
    )
    assert 1000 * found.hidden == pytest.approx(10)
    (columns,) = found.timeline.values()
    assert [sum(column) for column in columns] == pytest.approx([1.0] * len(columns))
    assert columns[0][0] == pytest.approx(1)
    assert columns[-1][0] == pytest.approx(1)
    # A CUDA graph is not an operation: its kernels have names of their own.
    assert {"dot.1", "loop_add_fusion_1"} <= {one.name for one in read_trace(folder).operations}


def test_a_tpu_by_its_line_of_operations(tmp_path: Path) -> None:
    ops = [("while.3", 10, 110, {}), ("fusion.1", 10, 50, {}), ("all-gather.2", 50, 60, {})]
    lines = {"XLA Ops": ops, "XLA Modules": [("jit_step", 10, 110, {})]}
    folder = write_trace(tmp_path, {"/host:CPU": HOST, "/device:TPU:0": lines})
    assert parts(folder) == pytest.approx(
        {"compute": 40, "communication": 10, "input": 20, "host": 30}
    )


def test_two_cpu_devices_and_operations_that_continue_on_other_threads(tmp_path: Path) -> None:
    first = {"hlo_op": "dot.1", "device_ordinal": "0", "_p": "7"}
    second = {"hlo_op": "all-reduce.1", "device_ordinal": "1"}
    one = [("dot.1", 10, 12, first), ("while.2", 10, 110, {"hlo_op": "while.2"})]
    two = [("end: dot.1", 50, 50, {"_c": "7"}), ("all-reduce.1", 10, 30, second)]
    folder = write_trace(tmp_path, {"/host:CPU": HOST | {"one": one, "two": two}})
    assert parts(folder) == pytest.approx(
        {"compute": 40 / 2, "communication": 20 / 2, "input": 20, "host": (40 + 60) / 2}
    )
    assert sorted(split(read_trace(folder)).timeline) == ["CPU 0", "CPU 1"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTrace, match="has no trace"):
        read_trace(tmp_path)
    (tmp_path / "bad.xplane.pb").write_bytes(b"\xff\xffnot a trace")
    with pytest.raises(UnreadableTrace, match=r"bad\.xplane\.pb is not a trace"):
        read_trace(tmp_path)
    ops = {"Stream #1": [("gemm", 20, 30, {})]}
    with pytest.raises(UnreadableTrace, match="profiled steps are not in the trace"):
        read_trace(write_trace(tmp_path / "a", {"/device:GPU:0": ops}))
    with pytest.raises(UnreadableTrace, match="no operation of a device"):
        read_trace(write_trace(tmp_path / "b", {"/host:CPU": HOST}))
