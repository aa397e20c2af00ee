"""Does a recommended mixture beat by-size and uniform weights, at four times the proxies' size?

    python benchmarks/mix_real.py prepare ARCHIVE… --out FOLDER     # needs all of barrow
    python benchmarks/mix_real.py run FOLDER [--seeds 3]            # needs NumPy, SciPy, JAX, optax

`prepare` takes the largest domains of archives, holds out every eighth document, trains a tokenizer
and writes tokens and windows. `run` searches with proxies, then trains all three mixtures at four
times the size, with as many tokens as leave no domain read more than four times, and compares bits
per byte on the validation documents: by domain, and their mean with a paired bootstrap. It resumes.
The same is printed and written to FOLDER/real.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter, defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

_HELD_OUT = 8  # every so many documents
_DOCUMENTS = 64  # that a domain must have


def prepare(args: argparse.Namespace) -> None:
    import barrow.archive
    from barrow.mix.validation import Validation, validation_texts
    from barrow.score.scored_corpus import ScoredCorpus
    from barrow.tokens import train
    from barrow.tokens.tokenizer import offsets_of
    from barrow.weights.safetensors_write import write_safetensors

    texts = [text for a in args.archives for text in ScoredCorpus(a, None, barrow.archive.open(a))]
    sizes, documents = Counter[str](), Counter(text.domain for text in texts if text.text)
    for text in texts:
        sizes[text.domain] += len(text.text)
    many = [name for name, _ in sizes.most_common() if documents[name] >= _DOCUMENTS]
    names = sorted(many[: args.domains])
    number: Counter[str] = Counter()
    own: defaultdict[str, list[bytes]] = defaultdict(list)
    held = []
    for text in texts:
        if text.domain in names and text.text:
            number[text.domain] += 1
            if number[text.domain] % _HELD_OUT:
                own[text.domain].append(text.text)
            else:
                held.append(text)
    tokenizer = train((t.decode() for some in own.values() for t in some), vocab_size=args.vocab)
    arrays = {}
    for place, name in enumerate(names):
        starts = offsets_of(np.array([len(text) for text in own[name]], np.int64))
        joined = np.frombuffer(b"".join(own[name]), np.uint8)
        ids, places = tokenizer.encode_texts(joined, starts)
        begin = tokenizer.begin if tokenizer.begin is not None else tokenizer.end
        # Each document begins with the token that separates them.
        arrays[f"ids {place}"] = np.insert(ids, places[:-1], begin).astype(np.uint16)
        arrays[f"starts {place}"] = places + np.arange(len(places))
        print(f"{name}: {len(arrays[f'ids {place}']):,} tokens, {len(own[name]):,} documents")
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    about = {"names": names, "vocab": tokenizer.vocab_size, "begin": begin, "hash": tokenizer.hash}
    write_safetensors(out / "tokens.safetensors", arrays, metadata={"about": json.dumps(about)})
    some = validation_texts(held, most_bytes=args.validation_bytes)
    windows = Validation.of(some, tokenizer, context=args.seq_len)
    windows.write(out / "validation.safetensors")
    print(f"validation: {len(some):,} documents, {sum(windows.bytes):,} bytes, card {windows.card}")


class MappedStore:
    """The tokens that `prepare` wrote, as a store."""

    end = None

    def __init__(self, folder: Path) -> None:
        from barrow.weights.safetensors_read import open_safetensors

        self.folder = folder
        self._tensors = open_safetensors(folder / "tokens.safetensors")
        about = json.loads((self._tensors.metadata or {})["about"])
        self.domains = tuple(about["names"])
        self.vocab_size, self.begin = about["vocab"], about["begin"]
        self.tokenizer_hash = about["hash"]
        self._ids = [np.asarray(self._tensors[f"ids {d}"]) for d in range(len(self.domains))]
        self._starts = [np.asarray(self._tensors[f"starts {d}"]) for d in range(len(self.domains))]

    @cached_property
    def identity(self) -> str:
        return hashlib.sha256(b"".join(ids.tobytes() for ids in self._ids)).hexdigest()

    def domain_tokens(self, domain: int) -> int:
        return len(self._ids[domain])

    def domain_starts(self, domain: int) -> np.ndarray:
        return self._starts[domain]

    def domain_range(self, domain: int) -> range:
        first = sum(len(starts) - 1 for starts in self._starts[:domain])
        return range(first, first + len(self._starts[domain]) - 1)

    def read(self, domain: int, start: int, stop: int) -> np.ndarray:
        return self._ids[domain][start:stop]


def search_and_compare(args: argparse.Namespace) -> None:
    import jax

    from barrow.mix.confirm import weighted_change
    from barrow.mix.plan import Design, Question, size_label
    from barrow.mix.proxies import Proxies, proxy_config, proxy_run
    from barrow.mix.search import Search
    from barrow.mix.swarm import Swarm, train_swarm
    from barrow.mix.validation import Validation

    folder = Path(args.folder)
    began = time.perf_counter()
    store, validation = MappedStore(folder), Validation.read(folder / "validation.safetensors")
    sizes = {name: store.domain_tokens(d) for d, name in enumerate(store.domains)}
    tokens = int(args.times * len(sizes) * min(sizes.values()))
    large = int(tokens / args.tokens_per_param)
    small = large // 4
    number = args.proxies or 4 * len(sizes)
    print(
        f"{jax.devices()[0].device_kind}: {len(sizes)} domains, {number} proxies of "
        f"{size_label(small)}, then models of {size_label(large)} on {tokens:,} tokens",
        flush=True,
    )
    search = Search(folder / "search", store, say=lambda words: print(words, flush=True))
    design = Design(
        (Proxies(number, small),),
        tokens_per_param=args.tokens_per_param,
        max_epochs=args.times,
        budget=tokens,
        seq_len=validation.context,
    )
    search.prepare(design, validation)
    search.train()
    _, given = search.answer(Question())
    mixture = json.loads((folder / "search" / "mixture.json").read_text())
    spent = time.perf_counter() - began
    print(f"searched in {spent / 60:.1f} minutes; supported: {given.is_supported}")
    print(f"expected: {json.dumps(mixture['expected']['by size']['objective'])} against by size")
    mixtures = {
        "recommended": mixture["weights"],
        "by size": dict(zip(sizes, search.plan.by_size().tolist(), strict=True)),
        "uniform": dict.fromkeys(sizes, 1 / len(sizes)),
    }
    epochs = {
        kind: max(tokens * weight / sizes[name] for name, weight in own.items())
        for kind, own in mixtures.items()
    }
    print(f"times that a domain is read at most: {json.dumps(epochs)}", flush=True)
    config = proxy_config(large, vocab_size=store.vocab_size, context=validation.context)
    nats = []
    for seed in range(1, 1 + args.seeds):
        run = proxy_run(config, tokens, seed=seed)
        used = [{n: w for n, w in own.items() if w} for own in mixtures.values()]
        file = folder / f"seed-{seed}.npy"
        if not file.exists():
            trained = train_swarm(Swarm(run, used, store=store), folder / f"seed-{seed}")
            found = validation.nats(config.module(unroll=True), trained.params)[: len(mixtures)]
            np.save(file, found)
        nats.append(np.load(file))
        shown = validation.bits_per_byte(nats[-1]).mean(axis=1)
        named = dict(zip(mixtures, shown.tolist(), strict=True))
        print(f"seed {seed}: mean bits per byte {json.dumps(named)}", flush=True)
    bits = validation.bits_per_byte(np.mean(nats, axis=0))
    counts = np.full(len(validation.domains), 1 / len(validation.domains))
    report: dict[str, Any] = {"weights": mixtures, "epochs": epochs, "minutes": 0.0, "against": {}}
    for place, kind in enumerate(mixtures):
        if not place:
            continue
        each = [one[0] - one[place] for one in nats]
        changes = [
            weighted_change(one, validation.bytes, validation.domain, counts)
            for one in (np.mean(each, axis=0), *each)
        ]
        report["against"][kind] = [vars(one) for one in changes]
        words = "; ".join(
            f"{what} {c.difference:+.4f} ({c.low:+.4f} to {c.high:+.4f}), p = {c.p:.2g}"
            for what, c in zip(("all seeds", *range(1, 1 + args.seeds)), changes, strict=True)
        )
        print(f"recommended less {kind}: {words}")
    columns = {kind: bits[place].tolist() for place, kind in enumerate(mixtures)}
    report["domains"] = {
        name: {kind: columns[kind][d] for kind in mixtures}
        for d, name in enumerate(validation.domains)
    }
    print(f"{'domain':<24}" + "".join(f"{kind:>14}" for kind in mixtures) + "   weights")
    for d, name in enumerate(validation.domains):
        row = "".join(f"{columns[kind][d]:>14.4f}" for kind in mixtures)
        print(f"{name:<24}{row}   " + " ".join(f"{own[name]:.3f}" for own in mixtures.values()))
    report["minutes"] = (time.perf_counter() - began) / 60
    (folder / "real.json").write_text(json.dumps(report, indent=1))
    print(f"{report['minutes']:.1f} minutes in all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(required=True)
    first = verbs.add_parser("prepare")
    first.add_argument("archives", nargs="+")
    first.add_argument("--out", required=True)
    first.add_argument("--vocab", type=int, default=4096)
    first.add_argument("--domains", type=int, default=8)
    first.add_argument("--seq-len", type=int, default=256)
    first.add_argument("--validation-bytes", type=int, default=400_000)
    first.set_defaults(does=prepare)
    second = verbs.add_parser("run")
    second.add_argument("folder")
    second.add_argument("--proxies", type=int, help="by default four for each domain")
    second.add_argument("--tokens-per-param", type=float, default=20)
    second.add_argument("--times", type=float, default=4, help="that a domain is read at most")
    second.add_argument("--seeds", type=int, default=3)
    second.set_defaults(does=search_and_compare)
    args = parser.parse_args()
    args.does(args)


if __name__ == "__main__":
    main()
