"""A model that was opened, as what a server offers."""

from __future__ import annotations

from typing import Any

from barrow.models.decoder.model import Decoder
from barrow.models.load import Loaded
from barrow.models.open_model import of_kind
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta
from barrow.objects import resolve
from barrow.score.models.model import ModelInfo
from barrow.score.models.open import ModelOptions
from barrow.serve.engine import Engine
from barrow.serve.http.embedders import decoder_embedder, roberta_embedder
from barrow.serve.http.schema import Grammars
from barrow.serve.http.served import Served, Writer
from barrow.serve.http.service import Service
from barrow.serve.pages import PAGE
from barrow.serve.programs import EngineSettings
from barrow.tokens import Tokenizer

# Requests that may wait, besides those being answered.
WAITING = 256


def served(
    loaded: Loaded,
    tokenizer: Tokenizer,
    *,
    name: str,
    settings: EngineSettings,
    waiting: int = WAITING,
) -> Served:
    """A decoder with all routes, or a RoBERTa with embeddings and scores."""
    score = _scorer(loaded, tokenizer, name)
    model: Any = of_kind(loaded, name, Decoder, Roberta, RobertaWithHead)
    if not isinstance(model, Decoder):
        body = model.body if isinstance(model, RobertaWithHead) else model
        embedder = roberta_embedder(body, loaded.params, tokenizer)
        return Served(name, embedder=embedder, score=score)
    template = loaded.words.template()
    stops = tuple(loaded.stops)
    if template is not None:
        # The end of a turn, where the model's settings name the end of a document alone.
        end = tokenizer.specials.get(template.variables.get("eos_token", ""))
        stops = stops if end is None or end in stops else (*stops, end)
    engine = Engine(model, loaded.params, settings=settings, tokenizer=tokenizer)
    writer = Writer(
        Service(engine, most=engine.programs.num_slots + waiting),
        tokenizer,
        context=model.config.context,
        room=engine.programs.num_pages * PAGE,
        stops=stops,
        template=template,
        grammars=Grammars(tokenizer, vocab=model.config.vocab_size, stops=stops),
    )
    return Served(name, writer, decoder_embedder(model, loaded.params, tokenizer), score)


def _scorer(loaded: Loaded, tokenizer: Tokenizer, name: str) -> Any:
    scoring = loaded.family.scoring
    if not scoring or loaded.labels:
        return None
    # The model's own settings name it, and they are trusted.
    make = resolve(scoring, trust=(scoring.rpartition(":")[0],))
    info = ModelInfo(name=name, kind="barrow", identity=name)
    return make(loaded.model, loaded.params, tokenizer, info, ModelOptions()).score
