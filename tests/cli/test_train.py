from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import pytest
from tests.parallel.several_processes import xla_flags

from barrow import Document, config, train
from barrow.cli.train import load_run
from barrow.interrupt import Interrupted
from barrow.launch import constants
from barrow.parallel.pipeline import Schedule
from barrow.plan import Hardware, choice, known
from barrow.train import program
from barrow.train.profile import Profile
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("one_device")

SMALL = ["model.width=16", "model.heads=2", "model.hidden=32", "model.layers=1", "steps=6"]
SMALL += ["data.seq_len=16", "data.batch=8", "evaluation.batches=2", "checkpoint.every=4"]


@pytest.fixture
def stores(barrow: Callable, write: Callable, tmp_path: Path) -> tuple[Path, Path]:
    made = []
    for name in ("tokens", "held"):
        texts = [Document(f"stone upon stone {n} " * 9, {"pile_set_name": "A"}) for n in range(30)]
        shard = write(texts, f"{name}-archive")
        made.append(tmp_path / name)
        code, _, err = barrow(
            "tokenize", shard, "--tokenizer", "bytes", "--out", made[-1], "--workers", 0
        )
        assert code == 0, err
    return made[0], made[1]


def test_a_pipeline_is_described_first(
    barrow: Callable,
    stores: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Interrupted("stopped")

    monkeypatch.setattr(program, "pipeline_of", lambda *_: Schedule(4, 8))
    monkeypatch.setattr(train, "fit", stop)
    code, _, err = barrow(
        "train", "gpt2.tiny", "--store", stores[0], "--out", tmp_path / "run", *SMALL
    )
    assert code == 130, err
    assert err.splitlines()[0].startswith("plan: one device, at least 0.00 of ")
    assert err.splitlines()[1] == "pipeline: 4 stages, 8 micro-batches, bubble 27%"


def test_what_would_fit_is_said_when_memory_runs_out(
    barrow: Callable,
    stores: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes")

    monkeypatch.setattr(train, "fit", fail)
    code, _, err = barrow(
        "train", "gpt2.tiny", "--store", stores[0], "--out", tmp_path / "run", *SMALL
    )
    assert code == 1
    assert re.search(
        r"the devices ran out of memory\. plan: one device, .* would fit", err.replace("\n", " ")
    )


def test_a_recipe_from_end_to_end(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    store, held = stores
    out = tmp_path / "run"
    recipe = ["gpt2.tiny", "--store", store, "--validation", held, "--out", out, *SMALL]
    code, told, err = barrow("train", *recipe)
    assert code == 0, err
    losses = re.search(r"validation loss: ([\d.]+) nats per token \(([\d.]+) bits\)", told)
    assert losses is not None
    last = read_log(out / "log.jsonl")[-1]
    assert float(losses[1]) == pytest.approx(last["validation_loss"], abs=1e-4)
    assert re.search(r"unigram entropy of the store: 2\.\d+ nats per token", told)
    assert "step 5/6  loss " in err
    assert f'Next: barrow generate {out} --prompt "The" --temperature 0.8' in told
    code, written, err = barrow("generate", out, "--prompt", "The", "--max-tokens", 3)
    assert (code, err, written[:3]) == (0, "", "The")
    # The vocabulary is the store's.
    saved = json.loads((out / "run.json").read_text())
    assert saved["model"]["vocab_size"] == 259
    assert saved["store"] == str(store)
    # Lineage, by the run and by its checkpoint.
    code, seen, err = barrow("tokens", "lineage", out, "--step", 2, "--json")
    assert (code, err) == (0, "")
    assert {one["row"] for one in json.loads(seen)} == set(range(8))
    code, same, _ = barrow(
        "tokens", "lineage", out / "checkpoints" / "step-000000006", "--step", 2, "--json"
    )
    assert (code, same) == (0, seen)
    # The run's folder, or its settings, are recipes too; what is over is not done again.
    before = (out / "log.jsonl").read_bytes()
    for again in ([out], [out / "run.json", "--out", out]):
        code, told_again, _ = barrow("train", *again)
        assert (code, told_again) == (0, told)
    assert (out / "log.jsonl").read_bytes() == before
    # Other settings in the same folder are refused, and named.
    code, _, err = barrow("train", *recipe, "optimizer.weight_decay=0.5")
    assert code == 1
    assert "optimizer.weight_decay: 0.1 → 0.5" in err
    # A log that was lost is no error.
    (out / "log.jsonl").unlink()
    code, told_again, err = barrow("train", out)
    assert code == 0, err
    assert told_again.startswith("unigram entropy")


def test_the_fastest_plan_measured_is_kept(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DEEPSPEED-14: in processes of their own, before the run; what was found is beside it."""
    monkeypatch.setattr(choice, "_FEW", 2)
    out = tmp_path / "run"
    code, _, err = barrow(
        "train", "gpt2.tiny", "--store", stores[0], "--out", out, *SMALL, "--autotune"
    )
    assert code == 0, err
    kept = json.loads((out / "plan.json").read_text())
    measured = kept["measured"]
    assert len(measured) == 2
    assert 0 < measured[0]["seconds"] <= measured[1]["seconds"]
    best = measured[0]["plan"]
    said = r"plan: one device( remat=\w+)?, [\d,]+ ms a step, the fastest of 2 measured"
    assert re.fullmatch(said, err.splitlines()[0])
    run = json.loads((out / "run.json").read_text())
    assert (run["remat"], run["step"]["accumulate"]) == (best["remat"], best["accumulate"])
    assert read_log(out / "log.jsonl")[-1]["step"] == 5
    # It resumes with that plan, and measures nothing.
    monkeypatch.delattr(choice, "ask")
    code, _, err = barrow("train", out)
    assert (code, err.splitlines()[0].endswith(f"from {out / 'plan.json'}")) == (0, True)


def test_no_plan_for_the_devices(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Hardware(8, 1000, known("H100"))
    monkeypatch.setattr(choice, "here", lambda: small)
    monkeypatch.setattr("jax.devices", lambda: jax.local_devices())
    code, _, err = barrow(
        "train", "gpt2.tiny", "--store", stores[0], "--out", tmp_path / "run", *SMALL
    )
    assert code == 1
    assert "no plan fits 8 × 0.00 GiB: " in err
    assert "use devices with more memory" in err
    assert not (tmp_path / "run" / "log.jsonl").exists()


def test_masked_models(barrow: Callable, stores: tuple[Path, Path], tmp_path: Path) -> None:
    store, held = stores
    out = tmp_path / "run"
    recipe = ["roberta.tiny", "--store", store, "--validation", held, "--out", out, *SMALL]
    code, told, err = barrow("train", *recipe)
    assert code == 0, err
    assert re.search(r"validation loss: [\d.]+ nats per masked token", told)
    assert "unigram entropy of the store" in told
    saved = json.loads((out / "run.json").read_text())["model"]
    assert (saved["object"], saved["vocab_size"], saved["pad"]) == (
        "barrow.models:RobertaConfig",
        259,
        257,
    )
    code, seen, err = barrow("tokens", "lineage", out, "--step", 2, "--json")
    assert (code, err) == (0, "")
    assert {one["row"] for one in json.loads(seen)} == set(range(8))
    code, _, err = barrow("train", out)
    assert code == 0, err


def test_pairs(barrow: Callable, tmp_path: Path) -> None:
    from PIL import Image

    from barrow.stream.pairs import index_pairs

    for number in range(16):
        picture = tmp_path / "pictures" / f"kind {number}" / "a.png"
        picture.parent.mkdir(parents=True)
        Image.new("RGB", (9, 9), (number * 16, 0, 255 - number * 16)).save(picture)
    index_pairs(tmp_path / "pictures", tmp_path / "index")
    three = [json.dumps({"image": f"pictures/kind {n}/a.png", "text": str(n)}) for n in range(3)]
    (tmp_path / "held.jsonl").write_text("\n".join(three))
    index_pairs(tmp_path / "held.jsonl", tmp_path / "held")
    out = tmp_path / "run"
    few = ["model.image.layers=1", "model.text.layers=1", "data.batch=8", "steps=2", "log_every=1"]
    pairs = ["--pairs", tmp_path / "index", "--validation", tmp_path / "held"]
    code, told, err = barrow("train", "clip.tiny", *pairs, "--out", out, *few)
    assert code == 0, err
    assert re.search(r"validation loss: [\d.]+ nats per pair", told)
    assert "chance among 3 pairs: 1.0986" in told
    assert "step 1/2  loss " in err
    code, seen, err = barrow("tokens", "lineage", out, "--step", 1, "--json")
    assert (code, err) == (0, "")
    assert [one["row"] for one in json.loads(seen)] == list(range(8))
    code, lines, _ = barrow("tokens", "lineage", out, "--step", 1, "--row", 3)
    assert code == 0
    assert re.match(r"step 1, row 3: .*a\.png, 'kind \d+'", lines)
    code, _, err = barrow("tokens", "lineage", out, "--doc", "x")
    assert code == 1
    pictures = tmp_path / "pictures" / "kind 3"
    code, named, err = barrow(
        "model", "zeroshot", pictures, "--classes", "red,blue", "--model", out
    )
    assert (code, err) == (0, "")
    assert "a.png" in named


def test_a_python_file(barrow: Callable, stores: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\n"
        "from barrow.recipes import gpt2\n"
        "def run():\n"
        "    return replace(gpt2.tiny(), seed=7)\n"
    )
    out = tmp_path / "run"
    code, told, err = barrow("train", file, "--store", stores[0], "--out", out, *SMALL, "steps=1")
    assert code == 0, err
    assert "loss of the last step: " in told
    assert json.loads((out / "run.json").read_text())["seed"] == 7
    file.write_text("run = 3\n")
    code, _, err = barrow("train", file, "--store", stores[0], "--out", out)
    assert code == 2
    assert "has no function run() that returns a Run" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["gpt2.tinny", "--store", "x", "--out", "y"],
            2,
            "no recipe 'gpt2.tinny'; did you mean 'gpt2.tiny'",
        ),
        (
            ["mistral", "--store", "x", "--out", "y"],
            2,
            "there are gpt2.tiny, gpt2.small, gpt2.medium, llama.tiny, llama.1b",
        ),
        (["gpt2.tiny", "--out", "y"], 2, "--store STORE"),
        (["clip.tiny", "--out", "y"], 2, "--pairs INDEX"),
        (["clip.tiny", "--store", "x", "--out", "y"], 1, "--pairs INDEX"),
        (
            ["roberta.tiny", "--store", "x", "--out", "y", "data.mlm=null"],
            1,
            "data.mlm={} uses the defaults",
        ),
        (["gpt2.tiny", "--store", "x"], 2, "--out DIR"),
        (["build/rum"], 2, "no folder and no recipe 'build/rum'; there are"),
        (["gpt2.tiny", "--store", "x", "--out", "y", "stps=3"], 1, "did you mean 'steps'?"),
        (["gpt2.tiny", "--store", "x", "--out", "y", "optimizer.schedule.peek=3"], 1, "'peak'"),
        (
            ["gpt2.tiny", "--store", "x", "--out", "y", "optimizer.schedule.peak=NaN"],
            1,
            "learning rate",
        ),
        (["gpt2.tiny", "--store", "nowhere", "--out", "y"], 1, "nowhere"),
        (["gpt2.tiny", "--store", "x", "--out", "y", "--track", "comet"], 2, "comet"),
    ],
)
def test_wrong_usage(
    barrow: Callable,
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    found, _, err = barrow("train", *arguments)
    assert (found, err.count("\n")) == (code, 1), err
    assert words in err
    assert not (tmp_path / "y").exists()


def test_a_folder_that_is_no_run(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("train", tmp_path)
    assert code == 1
    assert "has no run.json" in err


def test_a_vocabulary_that_is_given_stays(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    """Ids over it are refused with step, row and document, before the step."""
    arguments = ["--store", stores[0], "--out", tmp_path / "run", "model.vocab_size=100", *SMALL]
    code, _, err = barrow("train", "gpt2.tiny", *arguments)
    assert code == 1
    assert re.search(r"step 0, row \d+, column \d+ \(A, .*\) has id \d+, .* 100 ids", err)


def test_a_saved_run_keeps_its_vocabulary(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    """It may be larger than the store's; going on does not ask the store again."""
    out = tmp_path / "run"
    more = ["--store", stores[0], "--out", out, *SMALL, "steps=1", "model.vocab_size=300"]
    assert barrow("train", "gpt2.tiny", *more).code == 0
    assert json.loads((out / "run.json").read_text())["model"]["vocab_size"] == 300
    code, _, err = barrow("train", out)
    assert code == 0, err


def test_ctrl_c_saves_and_says_how_to_go_on(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = ["--store", stores[0], "--out", out, *SMALL, "steps=1000000", "log_every=1"]
    program = subprocess.Popen(
        [sys.executable, "-m", "barrow", "train", "gpt2.tiny", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XLA_FLAGS": xla_flags(1)},
    )
    log = out / "log.jsonl"
    while program.poll() is None and (not log.exists() or len(read_log(log)) < 10):
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=300)
    assert program.returncode == 130, err
    stopped = re.search(r"stopped after step (\d+), .* To resume: barrow train (.*)\n", err)
    assert stopped is not None
    assert Path(stopped[2]) == out
    done = int(stopped[1]) + 1
    assert (out / "checkpoints" / f"step-{done:09}" / "index.json").is_file()
    assert read_log(log)[-1]["step"] == done - 1
    assert "Traceback" not in err


def test_divergence_is_told_by_lines(
    barrow: Callable, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    arguments = ["--store", stores[0], "--out", tmp_path / "run", *SMALL, "steps=60"]
    wild = [
        "optimizer=barrow.train:AdamW",
        "optimizer.schedule.peak=1e4",
        "optimizer.schedule.warmup=40",
    ]
    code, _, err = barrow("train", "gpt2.tiny", *arguments, *wild, "optimizer.weight_decay=0")
    assert code == 1
    message = err[err.index("barrow: ") :].splitlines()
    assert re.match(r"barrow: step \d+: ", message[0])
    assert "  row 0: A, " in message[1]


@pytest.mark.parametrize("recipe", ["gpt2.tiny", "llama.tiny", "roberta.tiny", "clip.tiny"])
def test_every_setting_is_shown_with_its_meaning(recipe: str, barrow: Callable) -> None:
    described = list(config.describe(load_run(recipe)))
    assert [key for key, _, meaning in described if not meaning] == []
    code, out, _ = barrow("train", recipe, "--show", "steps=77")
    assert code == 0
    shown = {line.split()[0] for line in out.splitlines() if line[:1].strip()}
    places = {"store", "pairs", "tokenizer", "validation", "init"}  # which are options
    assert shown == {"key"} | {key for key, _, _ in described} - places
    assert re.search(r"^steps +77 +how many", out, re.M)


def test_a_profile_is_asked_for_and_printed(
    barrow: Callable,
    stores: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DEEPSPEED-3."""
    asked = []

    def profiled(run: object, out: Path, *, profile: object, **_: object) -> None:
        asked.append(profile)
        out.mkdir()
        split = {"compute": 0.06, "input": 0.04}
        found = {"step_seconds": 0.1, "split": split, "advice": ["40% waits"]}
        (out / "profile.json").write_text(json.dumps(found))
        raise Interrupted("over")

    known = constants.Constants("cpu", {"float32": 5e9, "bfloat16": 1e9}, 1.0, 1.0, 1.0)
    monkeypatch.setattr(constants, "stored", lambda kind, *_: known if kind == "cpu" else None)
    monkeypatch.setattr(train, "fit", profiled)
    to = ["train", "gpt2.tiny", "--store", stores[0], "--out", tmp_path / "run", *SMALL]
    code, out, err = barrow(*to, "--profile", "--profile-steps", 2)
    assert code == 130, err
    assert asked == [Profile(steps=2, ceiling=5e9)]
    assert "a step: 100.0 ms (compute 60.0, input 40.0); " in out
    assert "\n  40% waits\n" in out
    code, _, err = barrow(*to, "--profile", "--profile-steps", 0)
    assert code != 0
    assert "the steps of a profile must be ≥ 1, got 0" in err
    code, _, err = barrow(*to, "--profile-steps", 2)
    assert code != 0
    assert "pass --profile with --profile-steps" in err
