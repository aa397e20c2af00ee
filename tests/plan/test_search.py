from __future__ import annotations

from dataclasses import replace

import pytest
from tests.plan.small_run import SHAPE, hardware, small_run

from barrow.errors import ConfigError
from barrow.plan import Plan, Subject, candidate, choose, no_fit, search, would_fit
from barrow.plan.search import accumulations
from barrow.train.run import MeshSettings


def test_every_plan_divides_the_run_and_those_that_fit_come_first(subject: Subject) -> None:
    found = search(subject, hardware())
    assert all(one.fits for one in found)
    times = [one.time.total for one in found]
    assert times == sorted(times)
    meshes = {one.plan.mesh for one in found}
    assert len(meshes) == len(found)
    assert not any(mesh.expert > 1 or mesh.stage > 2 or mesh.tensor > 4 for mesh in meshes)
    assert any(mesh.stage == 2 for mesh in meshes)
    limit = sorted(one.memory.total for one in found)[len(found) // 2]
    half = search(subject, hardware(limit))
    fits = [one.fits for one in half]
    assert fits == sorted(fits, reverse=True)
    assert all(one.memory.total <= limit for one in half if one.fits)


def test_the_choice_is_plain_until_memory_is_short(subject: Subject) -> None:
    """ACCELERATE-3: the cheapest plan that fits."""
    plain = choose(subject, hardware())
    assert str(plain.plan) == "data=8"
    one_less = choose(subject, hardware(plain.memory.total - 1))
    assert one_less.plan != plain.plan
    assert one_less.memory.total < plain.memory.total
    least = choose(subject, hardware(plain.memory.total // 4))
    assert least.memory.total <= plain.memory.total // 4
    assert least.plan.mesh.zero == 3 or least.plan.accumulate > 1


def test_few_rows_for_many_devices() -> None:
    found = choose(Subject(small_run(batch=2)), hardware())
    mesh = found.plan.mesh
    assert mesh.data * mesh.fsdp <= 2
    assert mesh.tensor * mesh.sequence * mesh.stage >= 4


def test_the_largest_micro_batch_that_fits(subject: Subject) -> None:
    """ACCELERATE-15: then as many of them as the global batch needs."""
    mesh = MeshSettings(data=8)
    nums = accumulations(subject, mesh)
    assert nums == [1, 2, 4]
    sizes = [candidate(subject, Plan(mesh, num), hardware()).memory.total for num in nums]
    assert sizes == sorted(sizes, reverse=True)
    fewest = search(subject, hardware(sizes[1]), axes=("data",), remats=("none",))[0]
    assert fewest.plan == Plan(mesh, 2)


def test_what_would_make_a_plan_fit(subject: Subject) -> None:
    mesh = MeshSettings(data=8)
    sizes = [candidate(subject, Plan(mesh, num), hardware()).memory.total for num in (1, 2)]
    assert would_fit(subject, Plan(mesh), hardware(sizes[1])) in ("micro-batch 2", "fsdp=8 zero=3")
    divided = MeshSettings(data=1, fsdp=8, zero=1)
    third = candidate(subject, Plan(replace(divided, zero=3)), hardware()).memory.total
    assert would_fit(subject, Plan(divided), hardware(third)) == "zero=3"
    assert would_fit(subject, Plan(divided), hardware(1)) == ""


def test_no_plan_fits(subject: Subject) -> None:
    smallest = Plan(MeshSettings(data=1, fsdp=8, zero=3), 4, "all")
    needs = candidate(subject, smallest, hardware()).memory.total
    short = candidate(subject, smallest, hardware(needs - 1))
    assert no_fit(subject, short, hardware(needs - 1)) == (
        "no plan fits 8 × 0.00 GiB: fsdp=8 zero=3 accumulate=4 remat=all needs 0.00 GiB a device, "
        "0.00 too many; it would fit with 16 devices with fsdp=16 zero=3 accumulate=2 remat=all"
    )
    with pytest.raises(ConfigError, match="use devices with more memory"):
        choose(subject, hardware(1000))


def test_a_batch_that_nothing_divides() -> None:
    run = small_run(batch=3, model=replace(SHAPE, heads=1, width=33, hidden=99, layers=3))
    run = replace(run, data=replace(run.data, seq_len=61))
    with pytest.raises(ConfigError, match="a global batch of 3 rows cannot be divided over 8"):
        choose(Subject(run), hardware())
