"""Kernels of CUDA graphs and the operations they are of; names and orders of a trace of an H200."""

from __future__ import annotations

from barrow.train.profile.kernels import named
from barrow.train.profile.trace import Operation

GRAPHS = """
%body (p: f32[4]) -> f32[4] {
  %loop_add_fusion.1 = f32[4]{0} fusion(%p), kind=kLoop, calls=%fused
  %cublas-gemm.2.0 = f32[4]{0} custom-call(%p), custom_call_target="__cublas$lt$matmul"
  %cublas-gemm.3.0 = f32[4]{0} custom-call(%p), custom_call_target="__cublas$gemm"
  %cudnn-fmha.4 = f32[4]{0} custom-call(%p), custom_call_target="__cudnn$fmhaSoftmaxBackward"
  ROOT %cublas-gemm.5.0 = f32[4]{0} custom-call(%p), custom_call_target="__cublas$gemm"
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %input_reduce_fusion = f32[4]{0} fusion(%a), kind=kInput, calls=%fused
  %cublas-gemm.9.0 = f32[4]{0} custom-call(%a), custom_call_target="__cublas$gemm"
}
"""


def names(kernels: list[str], program: str) -> list[str]:
    made = [Operation(name, "0", float(k), k + 0.5, False) for k, name in enumerate(kernels)]
    return [one.name for one in named(reversed(made), program)]


def test_kernels_of_cuda_graphs_by_name_and_by_order() -> None:
    """Two rounds of a loop, then what follows it; names as a trace of a GPU has them."""
    gemm, fmha = "nvjet_sm90_b", "cudnn_generated_fort_native_sdpa_sm90_flash_bprop"
    ran = [
        *("loop_add_fusion_1", gemm, "splitKreduce_x", gemm, fmha, f"{fmha}_convert", gemm),
        *("loop_add_fusion_1", gemm, gemm, fmha, gemm),
        *("input_reduce_fusion_impl", gemm),
    ]
    found = names([gemm, *ran], GRAPHS)
    add, two, three, four, five = (
        "loop_add_fusion.1",
        *(f"cublas-gemm.{k}.0" for k in (2, 3)),
        "cudnn-fmha.4",
        "cublas-gemm.5.0",
    )
    assert found[0] == gemm  # nothing is known before it
    assert found[1:8] == [add, two, two, three, four, four, five]
    assert found[8:13] == [add, two, three, four, five]
    assert found[13:] == ["input_reduce_fusion", "cublas-gemm.9.0"]


# The loop over slices of logits begins with a product, as the backward pass of a layer does. Both
# end with the addition to their counter, for which one kernel serves.
LOOPS = """
%fused_softmax (p: f32[4]) -> f32[4] {
  ROOT %mpmd_map.0 = f32[4]{0} custom-call(%p), custom_call_target="mosaic_gpu_v2"
}

%layer (p: f32[4]) -> f32[4] {
  %loop_convert_fusion.1 = f32[4]{0} fusion(%p), kind=kLoop, calls=%fused
  %custom-call.3 = f32[4]{0} custom-call(%p), custom_call_target="__cublas$lt$matmul"
  %loop_add_fusion.2 = f32[4]{0} fusion(%p), kind=kLoop, calls=%fused
  %copy.7 = f32[4]{0} copy(%p)
  ROOT %loop_add_fusion.4 = f32[4]{0} fusion(%p), kind=kLoop, calls=%fused
}

%slice (p: f32[4]) -> f32[4] {
  %custom-call.2 = f32[4]{0} custom-call(%p), custom_call_target="__cublas$lt$matmul"
  %fusion.8 = f32[4]{0} fusion(%p), kind=kCustom, calls=%fused_softmax
  %input_scatter_fusion = f32[4]{0} fusion(%p), kind=kInput, calls=%fused
  %custom-call.10 = f32[4]{0} custom-call(%p), custom_call_target="__cublas$lt$matmul"
  ROOT %loop_add_fusion.5 = f32[4]{0} fusion(%p), kind=kLoop, calls=%fused
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %loop_broadcast_fusion.4 = f32[4]{0} fusion(%a), kind=kLoop, calls=%fused
  %while.1 = f32[4]{0} while(%a), condition=%c, body=%layer
  %while.2 = f32[4]{0} while(%a), condition=%c, body=%slice
}
"""


def test_the_first_product_of_a_loop_and_copies() -> None:
    gemm, mosaic = "nvjet_sm90_tst_176x128_64x5_1x2_h_bz_TNN", "body_mosaic_gpu_kernel"
    layer = ["loop_convert_fusion_1", gemm, "loop_add_fusion_2", "memcpy128", "loop_add_fusion_4"]
    part = ["Memset 0", gemm, mosaic, "input_scatter_fusion", gemm, "loop_add_fusion_4"]
    found = names(["loop_broadcast_fusion_4", *layer, *layer, *part, *part], LOOPS)
    of_layer = ["loop_convert_fusion.1", "custom-call.3", "loop_add_fusion.2", "copy.7"]
    of_layer.append("loop_add_fusion.4")
    assert found[:11] == ["loop_broadcast_fusion.4", *of_layer, *of_layer]
    of_part = ["custom-call.2", "fusion.8", "input_scatter_fusion", "custom-call.10"]
    for start in (12, 18):
        assert found[start : start + 4] == of_part
