"""Predicted memory against real shards, against the formulas of ZeRO, and against the compiler."""

from __future__ import annotations

from dataclasses import replace

import jax
import pytest
from tests.plan.small_run import hardware, small_run

from barrow.parallel import bytes_per_device
from barrow.plan import Plan, Subject, predict_memory
from barrow.plan.predict import lower, with_compiled
from barrow.plan.times import known, predict_time
from barrow.train.program import make_program
from barrow.train.run import MeshSettings

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
    by_compiler = with_compiled(found, analysis)
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


def test_scores_of_attention_exist_only_without_a_kernel() -> None:
    run = small_run(precision="bf16")
    plan = Plan(MeshSettings(data=8))
    plain, fused = (predict_memory(Subject(run, is_fused=yes), plan) for yes in (False, True))
    # Two layers of 4 rows × 4 heads × 64 × 64 in two bytes at least.
    assert plain.activations - fused.activations >= 2 * 4 * 4 * 64 * 64 * 2


def test_devices_by_name() -> None:
    assert known("NVIDIA H200").memory_bandwidth > known("H100").memory_bandwidth
    with pytest.raises(ValueError, match="unknown device 'H1O0'"):
        known("H1O0")
