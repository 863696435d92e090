"""sentence-transformers: ``encode``, and with it ``encode_query`` and ``encode_document``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from unabridged.adapters.client import Answer, ClientProvider, current
from unabridged.adapters.identity import HuggingFaceTokens
from unabridged.adapters.shapes import like, listed, texts_of
from unabridged.adapters.standin import StandIn, stand_in
from unabridged.errors import ConfigError
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unabridged.adapters.bridge import Bridge
    from unabridged.types import Request

__all__ = ["wrapped"]

_EXTRAS = (
    "batch_size",
    "show_progress_bar",
    "device",
    "pool",
    "chunk_size",
    "convert_to_numpy",
    "convert_to_tensor",
)
_NO_LIMIT = Limit(input_chars=1 << 40)  # a static model takes any length


def wrapped(model: Any, options: Mapping[str, Any]) -> Any:
    """A model of the same class, with the same weights, that encodes texts of any length."""
    return stand_in(model, _Model, options)


class _Model(StandIn):
    def encode(self, *args: Any, **named: Any) -> Any:
        bare = self.theirs("encode")
        names = list(inspect.signature(bare).parameters)  # the first is "inputs", or once "sentences"
        given = {**dict(zip(names, args, strict=False)), **named}
        first = "sentences" if "sentences" in given else names[0]
        texts = listed(given.pop(first, None))
        several = texts_of(texts)
        if several is None:
            return bare(texts, **given)
        bridge = _bridge(self, bare, given)
        if (
            given.get("precision", "float32") != "float32"
            or given.get("output_value", "sentence_embedding") is None
            or (given.get("output_value", "sentence_embedding") != "sentence_embedding")
        ):
            return _other_outputs(bridge, several, lambda: bare(texts, **given))
        alone = isinstance(texts, str)
        extras = {name: given[name] for name in _EXTRAS if name in given}
        return bridge.run(
            several,
            lambda: bare(texts, **given),
            lambda made: like(made.sample, made.vectors)[0 if alone else slice(None)],
            extras=extras,
        )


def _other_outputs(bridge: Bridge, texts: list[str], direct: Callable[[], Any]) -> Any:
    if bridge.embedder.fits(texts):
        return direct()
    raise ConfigError(
        "encode",
        "a text over the limit has one float32 sentence embedding; it has no other precision or output_value",
    )


def _bridge(model: Any, bare: Any, given: dict[str, Any]) -> Bridge:
    fixed = {k: v for k, v in given.items() if k not in _EXTRAS}
    length = model.max_seq_length
    settings = repr((length, sorted(fixed.items())))

    def ask(request: Request) -> Answer:
        rows = bare(list(request.texts), **fixed, **current().extras)
        return Answer(rows, sample=rows)

    def make() -> ClientProvider:
        fast = getattr(model.tokenizer, "backend_tokenizer", None)
        return ClientProvider(
            name="sentence_transformers",
            model=_name(model),
            ask=ask,
            limit=_NO_LIMIT if length is None else Limit(input_tokens=length),
            tokenizer=None if fast is None else HuggingFaceTokens(fast, prompt=_prompt(model, fixed)),
            settings={"arguments": settings},
        )

    return model._unabridged.at(settings, make)  # noqa: SLF001


def _name(model: Any) -> str:
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    return str(getattr(config, "name_or_path", "") or type(model).__name__)


def _prompt(model: Any, fixed: dict[str, Any]) -> str:
    """What the model puts before each text; its tokens count."""
    name = fixed.get("prompt_name") or model.default_prompt_name
    return str(fixed.get("prompt") or (model.prompts or {}).get(name) or "")
