from __future__ import annotations

import json
from collections.abc import Callable

import pytest

SMALL = ["model.width=32", "model.hidden=64", "data.seq_len=16", "data.batch=4", "unroll=false"]
KINDS = ["parameters", "gradients", "optimizer", "activations", "temporaries"]


def test_plans_of_a_recipe(barrow: Callable) -> None:
    """ACCELERATE-15: memory is estimated on the command line."""
    code, out, err = barrow(
        "plan", "gpt2.tiny", *SMALL, "--devices", 2, "--memory", "1.5MB", "--compile", 0
    )
    assert (code, err) == (0, "")
    fits, short = out.split("do not fit:\n")
    assert fits.split()[:6] == ["plan", *KINDS]
    assert any(line.startswith("fsdp=2 zero=3 ") for line in fits.splitlines())
    assert any(line.startswith("data=2 ") and "zero=3" in line for line in short.splitlines())
    assert short.splitlines()[-1].startswith("as the recipe is: plan: data=2, about 0.00")


def test_a_plan_that_cannot_fit_says_what_would(barrow: Callable) -> None:
    few = ["--devices", 2, "--memory", "1MB", "--compile", 0]
    code, out, err = barrow("plan", "gpt2.tiny", *SMALL, *few, "--json")
    assert code == 1
    found = json.loads(out)
    assert found["devices"] == 2
    first = found["plans"][0]
    assert first["memory"]["total"] == sum(first["memory"][kind] for kind in KINDS)
    assert first["fits"] is False
    assert "no plan fits 2 × 0.00 GiB: " in err
    assert "too many; " in err


def test_memory_by_the_kind_of_device(barrow: Callable) -> None:
    """Nothing is compiled for devices that are not here."""
    code, out, _ = barrow("plan", "gpt2.tiny", *SMALL, "--devices", 2, "--device", "L4", "--json")
    assert code == 0
    plans = json.loads(out)["plans"]
    assert {one["memory"]["limit"] for one in plans} == {24 * 10**9}
    assert not any(one["is_compiled"] for one in plans)


def test_long_rows_on_a_gpu(barrow: Callable) -> None:
    """The gradient of deterministic attention; overrides that are right together, in any order."""
    long = ["data.seq_len=8192", "model.context=8192", "data.batch=8", "step.precision.name=bf16"]
    given = ["plan", "gpt2.tiny", *SMALL[:2], *long, "--devices", 1, "--memory", "1GiB"]
    words = "to give the same bits each time, and none with step.deterministic=false"
    _, out, _ = barrow(*given, "--device", "H200")
    assert out.rstrip().endswith(words)
    _, out, _ = barrow(*given, "--device", "H200", "step.deterministic=false")
    assert "same bits" not in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--devices", 0, "--memory", "1GiB"], "--devices must be ≥ 1, got 0"),
        (["--devices", 8, "--memory", "80"], "must be a number with a unit"),
        (["--devices", 8, "--memory", "80Gb"], "got '80Gb'"),
        (["--memory", "80GiB"], "pass --devices with --memory"),
        (["--here", "--devices", 8], "not both"),
        (["--devices", 8, "--memory", "1GiB", "--device", "H1O0"], "unknown device 'H1O0'"),
    ],
)
def test_bad_options(barrow: Callable, given: list[str], said: str) -> None:
    code, _, err = barrow("plan", "gpt2.tiny", *given)
    assert code in (1, 2)
    assert said in err


def test_an_unknown_recipe(barrow: Callable) -> None:
    code, _, err = barrow("plan", "gpt2.tinny")
    assert code == 2
    assert "no recipe 'gpt2.tinny'" in err


def test_a_batch_that_no_micro_batch_divides(barrow: Callable) -> None:
    odd = ["data.batch=3", "model.heads=1", "model.layers=1", "data.seq_len=15", "model.width=33"]
    code, _, err = barrow(
        "plan", "gpt2.tiny", *odd, "model.hidden=99", "--devices", 8, "--memory", "1GiB"
    )
    assert code == 1
    assert "a global batch of 3 rows cannot be divided over 8 devices" in err
