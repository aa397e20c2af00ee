"""The real recipes, as Python."""

from __future__ import annotations

# Modules whose recipes are training runs; the others build corpora.
TRAINING = ("gpt2", "llama", "roberta", "clip")
