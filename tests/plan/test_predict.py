"""Predicted memory against real shards, against the formulas of ZeRO, and against the compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import pytest
from tests.plan.small_run import SHAPE, hardware, small_run

from barrow.errors import ConfigError
from barrow.launch.constants import Constants, Link
from barrow.parallel import bytes_per_device
from barrow.plan import Hardware, Plan, Subject, predict_memory
from barrow.plan.predict import lower
from barrow.plan.times import known, predict_time
from barrow.train.program import make_program
from barrow.train.run import MeshSettings, Run

DIVIDED = MeshSettings(data=2, fsdp=2, zero=2, tensor=2)


@pytest.fixture(scope="module")
def compiled() -> tuple[Subject, Plan, object, object]:
    run = small_run(batch=64, mesh=DIVIDED)
    subject, program = Subject(run), make_program(run)
    return subject, Plan.of(run, 8), program, lower(subject, program).compile().memory_analysis()


def test_arrays_are_those_of_the_shards(compiled) -> None:
    """ACCELERATE-3: bytes of the state, exactly."""
    subject, plan, program, _ = compiled
    state, found = program.start(), predict_memory(subject, plan)
    whole = bytes_per_device(replace(state, key=jax.random.key_data(state.key)))
    arrays = subject.arrays(plan.mesh)
    assert arrays.masters == bytes_per_device(state.params)
    assert arrays.masters + found.optimizer == whole


def test_the_formula_is_near_the_compiler(compiled) -> None:
    subject, plan, _, analysis = compiled
    found = predict_memory(subject, plan)
    by_compiler = found.compiled(analysis)
    total = analysis.argument_size_in_bytes + analysis.temp_size_in_bytes
    total += analysis.output_size_in_bytes - analysis.alias_size_in_bytes
    assert by_compiler.total == total
    assert by_compiler.is_compiled
    assert min(by_compiler.by_kind.values()) >= 0
    assert found.total == pytest.approx(total, rel=0.25)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_zero(zero: int) -> None:
    """DEEPSPEED-1: mixed-precision Adam, Ψ parameters, N devices."""
    subject = Subject(small_run(precision="bf16"))
    num = sum(x.size for x in jax.tree.leaves(subject.state.params))
    one, each = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}[zero]
    sizes = {"data": 8} if zero == 0 else {"data": 1, "fsdp": 8}
    found = predict_memory(subject, Plan(MeshSettings(zero=zero, **sizes)))
    expected = one * num + each * num / 8
    assert found.parameters + found.gradients + found.optimizer == pytest.approx(expected, rel=0.05)


def test_what_takes_more_memory_and_time(subject: Subject) -> None:
    mesh = MeshSettings(data=8)
    plain, in_four, again = Plan(mesh), Plan(mesh, 4), Plan(mesh, 1, "all")
    memory = {plan: predict_memory(subject, plan) for plan in (plain, in_four, again)}
    assert memory[in_four].activations < memory[plain].activations / 2
    assert memory[in_four].gradients == 2 * memory[plain].gradients  # sums, and one's own
    assert memory[again].activations < memory[plain].activations
    times = {plan: predict_time(subject, plan, hardware()) for plan in memory}
    assert times[again].products > times[plain].products
    assert times[in_four].products == pytest.approx(times[plain].products)
    outside = Plan(replace(mesh, offload="host"))
    large = Subject(small_run(model=replace(subject.run.model, hidden=4096)))
    assert predict_memory(large, outside).optimizer < predict_memory(large, plain).optimizer
    assert predict_time(large, outside, hardware()).host > 1e-5


def test_layers_that_are_unrolled_are_traced_few_at_a_time() -> None:
    """Each layer of an unrolled model adds what the one before added."""
    run = small_run(unroll=True, model=replace(small_run().model, layers=4))
    few, whole = Subject(run), Subject(run)
    whole._shallow = None  # every layer
    plan = Plan(MeshSettings(data=4, tensor=2), 2, "all")
    assert predict_memory(few, plan) == predict_memory(whole, plan)
    assert few.flops(plan) == whole.flops(plan)


def test_masters_outside() -> None:
    run = small_run(precision="bf16", model=replace(small_run().model, hidden=4096))
    subject, inside = Subject(run), MeshSettings(data=8)
    moments, masters = (
        replace(inside, offload="host", offload_masters=yes) for yes in (False, True)
    )
    kept, less, least = (predict_memory(subject, Plan(m)) for m in (inside, moments, masters))
    large = 2 * 2 * 32 * 4096  # numbers in both matrices of the MLP, of two layers
    assert kept.optimizer - less.optimizer == 2 * 4 * large
    assert least.optimizer == less.optimizer
    assert kept.parameters == less.parameters
    # A copy in two bytes stays, which the step computes with.
    assert less.parameters - least.parameters == 4 * large
    assert str(Plan(masters)) == "data=8 offload=host offload_masters"
    hosts = [predict_time(subject, Plan(m), hardware()).host for m in (inside, moments, masters)]
    assert hosts[2] - hosts[0] == pytest.approx(1.5 * (hosts[1] - hosts[0]))
    with pytest.raises(ConfigError, match="mesh.offload_masters needs 16-bit copies"):
        predict_memory(Subject(small_run()), Plan(masters))


def test_sums_over_more_devices_wait_longer(subject: Subject) -> None:
    slow = Constants(
        "test", {"float32": 1e12}, 1e11, 1e10, 0.0, (Link(2, 1.0, 1e9), Link(8, 9.0, 1e9))
    )
    eight = Hardware(8, 1 << 30, slow, is_cpu=True)
    by_rows = predict_time(subject, Plan(MeshSettings(data=8)), eight).communication
    by_stages = predict_time(subject, Plan(MeshSettings(data=4, fsdp=2, zero=1)), eight)
    assert by_rows == pytest.approx(2 * 9.0, rel=0.01)
    leaves = len(jax.tree.leaves(subject.used))
    assert by_stages.communication == pytest.approx(2 * 9.0 + leaves * 1.0, rel=0.01)


def test_scores_of_attention_exist_only_without_a_kernel() -> None:
    run = small_run(precision="bf16")
    plan = Plan(MeshSettings(data=8))
    plain, fused = (predict_memory(Subject(run, is_fused=yes), plan) for yes in (False, True))
    # Two layers of 4 rows × 4 heads × 64 × 64 in two bytes at least.
    assert plain.activations - fused.activations >= 2 * 4 * 4 * 64 * 64 * 2


def long_run(**changes: Any) -> Run:
    """Rows of 8,190 tokens, which cuDNN fills up to 8,192."""
    run = small_run(batch=8, precision="bf16", model=replace(SHAPE, context=8192, **changes))
    return replace(run, data=replace(run.data, seq_len=8190))


def test_attention_that_gives_the_same_bits_holds_all_scores() -> None:
    run = long_run()
    free = replace(run, step=replace(run.step, deterministic=False))
    one, eight = Plan(MeshSettings(data=1)), Plan(MeshSettings(data=4, tensor=2))
    for plan, rows, heads in ((one, 8, 4), (eight, 2, 2)):
        more, less = (predict_memory(Subject(r, is_fused=True), plan) for r in (run, free))
        assert more.temporaries == 2 * rows * heads * 8192**2
        assert more.temporaries > 2 * less.temporaries
        assert more.activations == less.activations
    for other in (Subject(run), Subject(long_run(window=1024), is_fused=True)):
        assert other.scores(one) == 0


def test_devices_by_name() -> None:
    assert known("NVIDIA H200").memory_bandwidth > known("H100").memory_bandwidth
    with pytest.raises(ValueError, match="unknown device 'H1O0'"):
        known("H1O0")
