"""From a base model to one that follows: fine-tuning, a reward model, and PPO with it.

The model is tiny and the data are made here: it learns to answer with letters, is told by pairs
that "a" is preferred to "b", and learns to please the reward model that was trained on them.
"""

from __future__ import annotations

import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import jax

from barrow.align import (
    RewardModel,
    Weighed,
    align_run,
    make_card,
    ppo_settings,
    reward_settings,
    sft_settings,
)
from barrow.models.decoder.model import DecoderConfig
from barrow.models.save import save
from barrow.tokens import load as load_tokenizer
from barrow.train import AdamW, Constant, fit
from barrow.train.trackers import read_log

work = Path(tempfile.mkdtemp())
rng = random.Random(0)  # noqa: S311 - of the data


def write(name: str, records: list[dict[str, str]]) -> str:
    (work / name).write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(work / name)


def letters(of: str) -> str:
    return "".join(rng.choices(of, k=6))


# A base model that has learned nothing yet, with a tokenizer of bytes.
tokenizer = load_tokenizer("bytes")
config = DecoderConfig(
    vocab_size=tokenizer.vocab_size, width=32, layers=2, heads=4, hidden=64, context=64
)
model = config.module()
save(
    work / "base",
    model,
    model.init(jax.random.key(0), *config.example),
    tokenizer="bytes",
    begin=tokenizer.begin,
    stops=(256,),  # <|endoftext|>
)
fast = AdamW(schedule=Constant(peak=1e-2), weight_decay=0.0)

# 1. Fine-tuning: only the completions are learned.
chats = write("chats.jsonl", [{"prompt": f"{n}:", "completion": letters("ab")} for n in range(64)])
sft = sft_settings(chats)
sft = replace(sft, data=replace(sft.data, length=32, batch=8), steps=60, optimizer=fast)
fit(align_run(sft, str(work / "base")), work / "sft")

# 2. A reward model: "a" was chosen, "b" rejected.
pairs = write(
    "pairs.jsonl",
    [
        {"prompt": f"{n}:", "chosen": letters("aaab") + "a", "rejected": letters("abbb") + "b"}
        for n in range(64)
    ],
)
reward = reward_settings(pairs)
reward = replace(reward, data=replace(reward.data, length=32, batch=8), steps=60, optimizer=fast)
fit(align_run(reward, str(work / "sft")), work / "reward")
last = read_log(work / "reward" / "log.jsonl")[-1]
print(f"reward model: {last['accuracy']:.0%} of pairs in the right order")

# 3. PPO: answers are drawn by the serving engine, on the arrays that are trained.
prompts = write("prompts.jsonl", [{"prompt": f"{n}:"} for n in range(64)])
ppo = ppo_settings(prompts, (Weighed(RewardModel(str(work / "reward"))),))
ppo = replace(
    ppo,
    data=replace(ppo.data, prompts=16, answers=2, max_tokens=8, slots=4),
    steps=15,
    optimizer=AdamW(schedule=Constant(peak=2e-3), weight_decay=0.0),
)
run = align_run(ppo, str(work / "sft"))
fit(run, work / "ppo")
log = read_log(work / "ppo" / "log.jsonl")
print(f"reward: {log[0]['reward']:+.2f} → {log[-1]['reward']:+.2f}")
assert log[-1]["reward"] > log[0]["reward"]

# 4. What it cost.
card = make_card(run, work / "ppo", num=4, max_tokens=8)
print(f"divergence: {card.divergence:.2f} nats per answer")
for sample in card.samples:
    print(f"  {sample.prompt!r}: {sample.before!r} → {sample.after!r}")
