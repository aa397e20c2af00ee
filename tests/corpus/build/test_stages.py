"""All stages after reading, together, through builds of small corpora (PILE-1, 11, 12)."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import very_few

import barrow
from barrow import Document
from barrow.corpus import Domain, Recipe, Records, UrlRule, build
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.pii.pii import RedactPii
from barrow.corpus.mixture import Mixture, Splits
from barrow.corpus.recipe import Decontamination
from barrow.engine import Engine, Stages, Store
from barrow.errors import BudgetExceeded, ConfigError, NotFound
from barrow.recipes import pile

INLINE = Engine(num_workers=0)
WORDS = [f"{a}{b}" for a in ("ba", "ke", "li", "mo", "nu", "ra", "so", "ti") for b in range(60)]
BARE = Recipe("test", {".": Domain("", Records())}, shard_size=1 << 20)


def text(rng: random.Random, num_words: int = 120) -> str:
    return " ".join(rng.choices(WORDS, k=num_words))


def near(rng: random.Random, original: str) -> str:
    words = original.split()
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words)


def write(root: Path, documents: list[tuple[str, str]], name: str = "a.jsonl") -> None:
    root.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"text": text, "meta": {"pile_set_name": domain, "key": k}})
        for k, (text, domain) in enumerate(documents)
    ]
    (root / name).write_text("\n".join(lines) + "\n")


def built(root: Path, out: Path, recipe: Recipe, engine: Engine = INLINE) -> dict[str, Any]:
    return build(recipe, root=root, out=out, engine=engine)


def everything(out: Path) -> dict[str, list[Document]]:
    folders = {"train": out, "validation": out / "validation", "test": out / "test"}
    return {
        split: list(barrow.archive.open(folder))
        for split, folder in folders.items()
        if (folder / "archive.json").exists()
    }


def reasons(out: Path) -> list[str]:
    return sorted(d.meta["reason"] for d in barrow.archive.open(out / "rejects"))


def test_files_that_filters_read_decide_too(tmp_path: Path) -> None:
    """Another list of hosts, and its documents are examined again."""
    root, hosts = tmp_path / "raw", tmp_path / "hosts.txt"
    root.mkdir()
    lines = [{"text": name, "meta": {"url": f"https://{name}.org/x"}} for name in ("one", "two")]
    (root / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    domain = Domain("A", Records(), filters=(UrlRule(deny_files=(hosts,)),))
    recipe = Recipe("r", {".": domain})
    for denied, kept in (("one", "two"), ("two", "one")):
        hosts.write_text(f"{denied}.org\n")
        build(recipe, root=root, out=tmp_path / "out", engine=INLINE)
        assert [d.text for d in barrow.archive.open(tmp_path / "out")] == [kept]


# Filters ------------------------------------------------------------------------------------------


def test_filters_are_chosen_by_domain(tmp_path: Path) -> None:
    write(tmp_path / "raw", [("short", "A"), ("x" * 50, "A"), ("short", "B")])
    domains = {
        "raw": Domain("A", Records(), filters=(Length(min_bytes=10),)),
    }
    recipe = replace(BARE, domains=domains)
    told = built(tmp_path, tmp_path / "out", recipe)
    assert reasons(tmp_path / "out") == ["too-few-bytes", "too-few-bytes"]
    (reject, _) = barrow.archive.open(tmp_path / "out" / "rejects")
    assert reject.meta["cause"] == "5 bytes, fewer than 10"
    assert reject.meta["stage"] == "filter"
    assert told["stages"]["A"]["filter"]["rejects"] == {"too-few-bytes": 2}
    other = replace(BARE, domains={".": Domain("", Records(), paths=("raw/*",))})
    built(tmp_path, tmp_path / "all", other)
    assert len(barrow.archive.open(tmp_path / "all")) == 3


# Decontamination ----------------------------------------------------------------------------------


def test_leaks_are_rejected_and_named(tmp_path: Path) -> None:
    rng = random.Random(0)
    leak = text(rng, 20)
    write(tmp_path / "raw", [(text(rng), "A"), (f"{text(rng)} {leak.upper()} {text(rng)}", "A")])
    (tmp_path / "quiz.jsonl").write_text(
        json.dumps({"q": "nothing"}) + "\n" + json.dumps({"q": leak})
    )
    recipe = replace(BARE, decontamination=Decontamination((str(tmp_path / "quiz.jsonl"),)))
    told = built(tmp_path / "raw", tmp_path / "out", recipe)
    (reject,) = barrow.archive.open(tmp_path / "out" / "rejects")
    assert reject.meta["reason"] == "contaminated"
    assert reject.meta["cause"] == "8 times 13 words in a row of quiz.jsonl, item 1"
    assert told["stages"]["A"]["filter"]["matches"] == {"quiz.jsonl": 1}
    assert told["evaluation_sets"] == {"items": 1, "too_short": 1}
    (kept,) = barrow.archive.open(tmp_path / "out")
    assert kept.meta["decisions"]["decontaminate"] == "keep"
    wrong = replace(BARE, decontamination=Decontamination((str(tmp_path / "none.jsonl"),)))
    with pytest.raises(NotFound, match="no such evaluation set"):
        built(tmp_path / "raw", tmp_path / "wrong", wrong)


# Deduplication ------------------------------------------------------------------------------------


def planted(rng: random.Random, num: int = 60) -> list[tuple[str, str]]:
    """Documents, exact copies of some but for white space, near copies of others."""
    originals = [text(rng, rng.randint(100, 200)) for _ in range(num)]
    documents = [(original, rng.choice("AB")) for original in originals]
    documents += [(original.replace(" ", "\n"), "A") for original in originals[:5]]
    documents += [(near(rng, original), rng.choice("AB")) for original in originals[5:20]]
    rng.shuffle(documents)
    return documents


GENEROUS = replace(BARE, deduplication=Deduplication(budget=1.0))


def test_copies_go_and_say_of_whom(tmp_path: Path) -> None:
    write(tmp_path / "raw", planted(random.Random(1)))
    told = built(tmp_path / "raw", tmp_path / "out", GENEROUS)
    assert reasons(tmp_path / "out") == ["duplicate"] * 5 + ["near-duplicate"] * 15
    kept = {d.meta["id"]: d for d in barrow.archive.open(tmp_path / "out")}
    assert len(kept) == 60
    for reject in barrow.archive.open(tmp_path / "out" / "rejects"):
        value, _, of = reject.meta["cause"].partition(" like ")
        assert of in kept
        assert float(value) >= 0.8
    stages = told["stages"].values()
    assert sum(s["deduplicate"]["documents"] for s in stages) == 60
    assert sum(s["deduplicate"]["bytes"] for s in stages) == sum(len(d.text) for d in kept.values())
    exact = replace(BARE, deduplication=Deduplication(near=False, budget=None))
    built(tmp_path / "raw", tmp_path / "exact", exact)
    assert reasons(tmp_path / "exact") == ["duplicate"] * 5


@very_few
@given(st.integers(0, 10**6), st.sampled_from(["longest", "domain"]))
def test_the_order_of_the_input_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, keep: Any
) -> None:
    """PILE-12: whoever survives does so in any order, in any files, with any number of parts."""
    tmp_path = tmp_path_factory.mktemp("order")
    rng = random.Random(seed)
    documents = planted(rng, 30)
    recipe = replace(GENEROUS, deduplication=Deduplication(keep=keep, prefer=("B",), budget=1.0))
    write(tmp_path / "one", documents)
    built(tmp_path / "one", tmp_path / "out1", recipe)
    rng.shuffle(documents)
    cut = rng.randrange(len(documents))
    write(tmp_path / "two", documents[:cut], "a.jsonl")
    write(tmp_path / "two", documents[cut:], "b.jsonl")
    built(tmp_path / "two", tmp_path / "out2", recipe)
    survivors = [
        sorted((d.text, d.domain) for d in barrow.archive.open(tmp_path / out))
        for out in ("out1", "out2")
    ]
    # Of two that are equal in all the policy looks at, either may stay: their ids tell the source.
    assert [text.split() for text, _ in survivors[0]] == [text.split() for text, _ in survivors[1]]


def test_the_policy_decides(tmp_path: Path) -> None:
    rng = random.Random(3)
    original = text(rng, 150)
    longer = original + " " + text(rng, 5)
    write(tmp_path / "raw", [(original, "A"), (longer, "B")])
    longest = replace(BARE, deduplication=Deduplication(keep="longest", budget=1.0))
    built(tmp_path / "raw", tmp_path / "longest", longest)
    assert [d.text for d in barrow.archive.open(tmp_path / "longest")] == [longer]
    preferred = Deduplication(keep="domain", prefer=("A", "B"), budget=1.0)
    built(tmp_path / "raw", tmp_path / "domain", replace(BARE, deduplication=preferred))
    assert [d.text for d in barrow.archive.open(tmp_path / "domain")] == [original]


def test_a_domain_that_would_vanish_stops_the_build(tmp_path: Path) -> None:
    """BEYOND-5: a budget for each domain."""
    rng = random.Random(4)
    one = text(rng)
    write(tmp_path / "raw", [(near(rng, one), "A") for _ in range(10)] + [(text(rng), "B")])
    recipe = replace(BARE, deduplication=Deduplication())
    with pytest.raises(BudgetExceeded, match=r"9 of 10 documents of A \(90%\)") as caught:
        built(tmp_path / "raw", tmp_path / "out", recipe)
    assert one.split()[3] in str(caught.value), "samples are shown"
    assert not (tmp_path / "out" / "archive.json").exists()
    allowed = replace(BARE, deduplication=Deduplication(budgets={"A": 0.95}))
    built(tmp_path / "raw", tmp_path / "out", allowed)
    assert len(barrow.archive.open(tmp_path / "out")) == 2


def test_identical_documents_by_the_thousand(tmp_path: Path) -> None:
    write(tmp_path / "raw", [("the same text again and again", "A")] * 5_000)
    built(tmp_path / "raw", tmp_path / "out", GENEROUS)
    assert len(barrow.archive.open(tmp_path / "out")) == 1


def test_a_later_dump_is_compared_with_what_is_there(tmp_path: Path) -> None:
    """BEYOND-13: from the index of the finished corpus."""
    rng = random.Random(5)
    documents = [(text(rng), "A") for _ in range(20)]
    write(tmp_path / "first", documents)
    validation = replace(GENEROUS, splits=Splits(validation=0.2, test=0.2))
    built(tmp_path / "first", tmp_path / "out1", validation)
    assert len(everything(tmp_path / "out1")) == 3
    later = [(near(rng, documents[0][0]), "A"), (documents[1][0], "A"), (text(rng), "A")]
    write(tmp_path / "second", later)
    against = replace(
        BARE, deduplication=Deduplication(against=(str(tmp_path / "out1"),), budget=None)
    )
    built(tmp_path / "second", tmp_path / "out2", against)
    assert [d.text for d in barrow.archive.open(tmp_path / "out2")] == [later[2][0]]
    assert reasons(tmp_path / "out2") == ["duplicate", "near-duplicate"]
    for wrong in ("second", "nowhere"):
        missing = replace(BARE, deduplication=Deduplication(against=(str(tmp_path / wrong),)))
        with pytest.raises(NotFound):
            built(tmp_path / "second", tmp_path / "out3", missing)


# Splits -------------------------------------------------------------------------------------------


def test_no_near_duplicate_crosses_a_split(tmp_path: Path) -> None:
    """PILE-11: chains of near-duplicates whose ends both stay are held out together or not."""
    rng = random.Random(6)
    documents = []
    for chain in range(40):
        words = text(rng, 100).split()
        for _ in range(8):  # each 0.9 like the one before, less like those further away
            documents.append((" ".join(words), f"chain{chain}"))
            words[rng.randrange(len(words))] = rng.choice(WORDS)
    write(tmp_path / "raw", documents)
    recipe = replace(
        BARE,
        deduplication=Deduplication(similarity=0.85, budget=None),
        splits=Splits(validation=0.2, test=0.2),
    )
    built(tmp_path / "raw", tmp_path / "out", recipe)
    found = everything(tmp_path / "out")
    splits: dict[str, set[str]] = {}
    stayed: dict[str, int] = {}
    for split, kept in found.items():
        for document in kept:
            assert document.domain is not None
            splits.setdefault(document.domain, set()).add(split)
            stayed[document.domain] = stayed.get(document.domain, 0) + 1
            assert document.meta["decisions"]["split"] == split
    assert max(stayed.values()) > 1, "some chains have two survivors"
    assert all(len(names) == 1 for names in splits.values())
    sizes = {split: sum(len(d.text) for d in kept) for split, kept in found.items()}
    for split in ("validation", "test"):
        assert sizes[split] / sum(sizes.values()) == pytest.approx(0.2, abs=0.08)


def test_near_duplicates_are_compared_as_rewriters_left_them(tmp_path: Path) -> None:
    """Two texts that only addresses make different, until these are redacted."""
    rng = random.Random(5)
    words = text(rng, 90).split()

    def mixed(words: list[str], host: str) -> str:
        return " ".join(f"{word} {host}{k}@example-company.com" for k, word in enumerate(words))

    write(
        tmp_path / "raw",
        [(mixed(words, "anna"), ""), (mixed([*words[:-1], "other"], "bert"), "")],
    )
    plain = replace(BARE, deduplication=Deduplication(budget=None, similarity=0.8))
    built(tmp_path / "raw", tmp_path / "plain", plain)
    assert len(everything(tmp_path / "plain")["train"]) == 2
    redacting = replace(plain, domains={".": Domain("", Records(), filters=(RedactPii(),))})
    built(tmp_path / "raw", tmp_path / "out", redacting)
    assert len(everything(tmp_path / "out")["train"]) == 1
    assert reasons(tmp_path / "out") == ["near-duplicate"]


# Mixture ------------------------------------------------------------------------------------------


def domains_of(tmp_path: Path, **told: dict[str, Any]) -> dict[str, Domain]:
    return {name: Domain(name.upper(), Records(), **more) for name, more in told.items()}


def write_domains(root: Path, **numbers: int) -> None:
    for name, number in numbers.items():
        rng = random.Random(name)
        write(root / name, [(text(rng, rng.randint(20, 300)), "") for _ in range(number)])


def shares(out: Path) -> dict[str | None, float]:
    sizes: dict[str | None, float] = {}
    for document in barrow.archive.open(out):
        sizes[document.domain] = sizes.get(document.domain, 0) + len(document.text)
    return {name: size / sum(sizes.values()) for name, size in sizes.items()}


def test_byte_shares_are_as_the_weights(tmp_path: Path) -> None:
    """PILE-1: byte shares within 5% of the recipe."""
    write_domains(tmp_path / "raw", a=300, b=200, c=100)
    weights = {"a": 50.0, "b": 20.0, "c": 30.0}
    recipe = replace(
        BARE,
        domains={name: Domain(name.upper(), Records(), weight=w) for name, w in weights.items()},
        mixture=Mixture(by="weight"),
    )
    told = built(tmp_path / "raw", tmp_path / "out", recipe)
    for name, share in shares(tmp_path / "out").items():
        assert share == pytest.approx(weights[str(name).lower()] / 100, rel=0.05)
    assert told["stages"]["B"]["mix"]["rejects"]["not-drawn"] > 0
    assert told["stages"]["C"]["mix"]["epochs"] > 1
    assert reasons(tmp_path / "out").count("not-drawn") == sum(
        stage["mix"]["rejects"].get("not-drawn", 0) for stage in told["stages"].values()
    )


def test_the_domains_of_the_pile_are_mixed_by_weight(tmp_path: Path) -> None:
    """PILE-1: 22 domains, from 0.14 to 18 percent, each within 5% of its share."""
    weights = {domain.name: domain.weight or 0.0 for domain in pile.recipe().domains.values()}
    assert len(weights) == 22
    domains = {}
    for k, (name, weight) in enumerate(sorted(weights.items())):
        rng = random.Random(k)
        write(tmp_path / "raw" / str(k), [(text(rng, rng.randint(2, 4)), "") for _ in range(300)])
        domains[str(k)] = Domain(name, Records(), weight=weight)
    recipe = replace(
        BARE, domains=domains, mixture=Mixture(by="weight", size=250_000, max_epochs=20)
    )
    built(tmp_path / "raw", tmp_path / "out", recipe)
    found = shares(tmp_path / "out")
    assert found.keys() == weights.keys()
    for name, share in found.items():
        assert share == pytest.approx(weights[str(name)] / sum(weights.values()), rel=0.05)


def test_shares_that_few_large_documents_cannot_have(tmp_path: Path) -> None:
    """80 and 20 are asked for, and one of the two would be all."""
    rng = random.Random(0)
    write(tmp_path / "raw" / "a", [(text(rng, 300), "")])
    write(tmp_path / "raw" / "b", [(text(rng, 900), "")])
    recipe = replace(
        BARE,
        domains={
            name: Domain(name.upper(), Records(), weight=weight)
            for name, weight in (("a", 80.0), ("b", 20.0))
        },
        mixture=Mixture(by="weight"),
    )
    with pytest.raises(Exception, match="A has 100.00% for 80.00%, B has 0.00% for 20.00%"):
        built(tmp_path / "raw", tmp_path / "out", recipe)
    allowed = replace(recipe, mixture=Mixture(by="weight", tolerance=1.0))
    built(tmp_path / "raw", tmp_path / "out", allowed)
    assert shares(tmp_path / "out") == {"A": 1.0}


def test_epochs_repeat_documents(tmp_path: Path) -> None:
    write_domains(tmp_path / "raw", a=200, b=200)
    epochs = {"a": 2.5, "b": 0.5}
    recipe = replace(
        BARE,
        domains={name: Domain(name.upper(), Records(), epochs=e) for name, e in epochs.items()},
        mixture=Mixture(by="epochs"),
    )
    built(tmp_path / "raw", tmp_path / "out", recipe)
    counts: dict[str, int] = {}
    sizes = {"A": 0, "B": 0}
    for document in barrow.archive.open(tmp_path / "out"):
        counts[document.meta["id"]] = counts.get(document.meta["id"], 0) + 1
        sizes[str(document.domain)] += len(document.text)
    assert set(counts.values()) == {1, 2, 3}
    raw = {
        name: sum(
            len(json.loads(line)["text"])
            for line in (tmp_path / "raw" / name / "a.jsonl").read_text().splitlines()
        )
        for name in ("a", "b")
    }
    assert sizes["A"] / raw["a"] == pytest.approx(2.5, rel=0.05)
    assert sizes["B"] / raw["b"] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("mixture", "weights", "words"),
    [
        (Mixture(by="weight"), {"a": 1.0, "b": 99.0}, "weights cannot be met: B would be repeated"),
        (Mixture(by="weight"), {"a": 1.0, "b": None}, "B has no weight"),
    ],
)
def test_weights_that_cannot_be_met(
    tmp_path: Path, mixture: Mixture, weights: dict[str, float | None], words: str
) -> None:
    write_domains(tmp_path / "raw", a=500, b=20)
    recipe = replace(
        BARE,
        domains={name: Domain(name.upper(), Records(), weight=w) for name, w in weights.items()},
        mixture=mixture,
    )
    with pytest.raises(Exception, match=words):
        built(tmp_path / "raw", tmp_path / "out", recipe)


def test_a_split_that_leaves_nothing() -> None:
    with pytest.raises(ConfigError, match="add up to less than 1"):
        Splits(validation=0.5, test=0.5)


# The whole ----------------------------------------------------------------------------------------


def test_documents_are_shuffled_and_shards_even(tmp_path: Path) -> None:
    write_domains(tmp_path / "raw", a=400, b=400)
    recipe = replace(
        BARE,
        domains={name: Domain(name.upper(), Records()) for name in ("a", "b")},
        shard_size=200_000,
    )
    told = built(tmp_path / "raw", tmp_path / "out", recipe)
    sizes = [shard["content_bytes"] for shard in told["splits"]["train"]["shards"]]
    assert len(sizes) > 3
    assert max(sizes) < 1.5 * min(sizes)
    names = [document.domain for document in barrow.archive.open(tmp_path / "out")]
    changes = sum(a != b for a, b in pairwise(names))
    assert changes == pytest.approx(400, rel=0.2)
    built(tmp_path / "raw", tmp_path / "seed", replace(recipe, seed=7))
    keys = [[d.meta["id"] for d in barrow.archive.open(tmp_path / out)] for out in ("out", "seed")]
    assert keys[0] != keys[1]
    assert sorted(keys[0]) == sorted(keys[1])


def test_nothing_is_read(tmp_path: Path) -> None:
    write(tmp_path / "raw", [("  ", "A")])
    told = built(tmp_path / "raw", tmp_path / "out", replace(GENEROUS, splits=Splits(test=0.5)))
    assert told["splits"]["train"]["shards"] == []
    assert reasons(tmp_path / "out") == ["empty"]


def test_filters_by_the_names_that_records_have(tmp_path: Path) -> None:
    write(tmp_path / "raw", [("short", "A"), ("short", "B")])
    domain = Domain("", Records(), filters=(Length(100),), filters_of={"B": ()})
    built(tmp_path / "raw", tmp_path / "out", replace(BARE, domains={".": domain}))
    assert [d.domain for d in barrow.archive.open(tmp_path / "out")] == ["B"]


def test_an_edited_filter_leaves_other_domains_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as a build is not complete, and its texts are there."""
    write_domains(tmp_path / "raw", a=5, b=5)
    domains = {name: Domain(name.upper(), Records()) for name in ("a", "b")}
    monkeypatch.setattr(Stages, "clean", lambda _: None)
    built(tmp_path / "raw", tmp_path / "out", replace(BARE, domains=domains))
    done: list[str] = []
    original = Store.perform

    def perform(self: Store, task: Any) -> None:
        done.append(task.stage.name)
        original(self, task)

    monkeypatch.setattr(Store, "perform", perform)
    domains["b"] = replace(domains["b"], filters=(Length(10),))
    built(tmp_path / "raw", tmp_path / "out", replace(BARE, domains=domains))
    assert done.count("corpus.examine") == 1
    assert "corpus.read" not in done


def test_what_an_earlier_build_validation_goes(tmp_path: Path) -> None:
    write_domains(tmp_path / "raw", a=50)
    domains = {"a": Domain("A", Records())}
    held = replace(BARE, domains=domains, splits=Splits(test=0.3))
    built(tmp_path / "raw", tmp_path / "out", held)
    assert (tmp_path / "out" / "test").exists()
    told = built(tmp_path / "raw", tmp_path / "out", replace(BARE, domains=domains))
    assert not (tmp_path / "out" / "test").exists()
    assert list(told["splits"]) == ["train"]


def test_no_epoch_of_a_domain(tmp_path: Path) -> None:
    write_domains(tmp_path / "raw", a=5, b=5)
    domains = {"a": Domain("A", Records(), epochs=0.0), "b": Domain("B", Records())}
    recipe = replace(BARE, domains=domains, mixture=Mixture(by="epochs"))
    built(tmp_path / "raw", tmp_path / "out", recipe)
    assert {d.domain for d in barrow.archive.open(tmp_path / "out")} == {"B"}


def test_nothing_is_left(tmp_path: Path) -> None:
    write(tmp_path / "raw", [("short", "A")])
    recipe = replace(GENEROUS, domains={".": Domain("", Records(), filters=(Length(100),))})
    told = built(tmp_path / "raw", tmp_path / "out", recipe)
    assert told["splits"]["train"]["shards"] == []
    assert len(barrow.archive.open(tmp_path / "out")) == 0
