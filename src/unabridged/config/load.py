"""Read a configuration: find our block, fill in variables, check it, say everything that is wrong at once."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from unabridged.config.model import ChunkingSettings, EmbeddingSettings, ProviderSettings, Settings
from unabridged.config.predecessor import Translated, translated
from unabridged.config.problems import all_in_one, problems_of
from unabridged.config.retrieval import mapped
from unabridged.config.schema import types_at
from unabridged.config.sources import PREDECESSOR, Block, read
from unabridged.config.variables import as_written, secrets, substitute, values_of
from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unabridged.config.explain import Explanation
    from unabridged.config.jsonc import Path as KeyPath
    from unabridged.config.model import RetrievalSettings
    from unabridged.config.sources import Source
    from unabridged.embedding.embedder import Embedder
    from unabridged.memory import Memory
    from unabridged.memory.asking.asking import Asker
    from unabridged.providers.websearch import WebSearch

__all__ = ["Config", "load_config"]

_OF_THE_MODEL = ("fallbacks", "limit", "max_input_chars", "tokenizer")


@dataclass(frozen=True, slots=True)
class Config:
    """Checked settings, and where they came from. Secrets stay masked in every printed form.

    ``notes`` say what was moved, and what was accepted without effect; ``variables`` what those of the file brought
    in, by name; ``origins`` which key of ``retrieval`` a key of ``recall`` comes from; ``elsewhere`` the keys that
    were not given by the file (:meth:`with_model`).
    """

    settings: Settings
    block: Block = field(repr=False)
    notes: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    origins: Mapping[str, KeyPath] = field(default_factory=dict, repr=False, hash=False)
    elsewhere: frozenset[str] = field(default=frozenset(), repr=False)

    def __repr__(self) -> str:
        from unabridged.config.explain import masked

        return f"Config({masked(self)!r}, notes={self.notes!r})"

    @property
    def secrets(self) -> frozenset[str]:
        """What variables brought in that nothing may print."""
        return secrets(self.variables)

    @property
    def embedding(self) -> EmbeddingSettings:
        """The model, cutting, pooling, the cache."""
        return self.settings.embedding

    @property
    def retrieval(self) -> RetrievalSettings | None:
        """What memory-lancedb-pro says of recalls, as it says it; what can be used of it stands in ``recall``."""
        return self.settings.retrieval

    @property
    def db_path(self) -> str | None:
        """Folder or URI of the memory."""
        return self.settings.db_path

    def embedder(self, **overrides: Any) -> Embedder:
        """The embedder that these settings describe; ``overrides`` are options of ``Embedder`` that win.

        Raises :class:`~unabridged.errors.ConfigError` for what only the model can tell: a missing key,
        a chunk size over its limit.
        """
        from unabridged.config.build import build_embedder

        with _as_written(self):
            return build_embedder(self, **overrides)

    def asker(self, **overrides: Any) -> Asker | None:
        """The chat that these settings describe, ``None`` without one; ``overrides`` are options of ``Asker``."""
        from unabridged.config.build_memory import build_asker

        with _as_written(self):
            return build_asker(self, **overrides)

    def search(self) -> WebSearch | None:
        """The web search that these settings describe, ``None`` without one."""
        from unabridged.config.build_memory import build_search

        with _as_written(self):
            return build_search(self)

    def recall(self) -> dict[str, Any]:
        """What these settings say of recalls, as options of ``Memory.recall``, its cross-encoder among them."""
        from unabridged.config.build_recall import build_recall

        with _as_written(self):
            return build_recall(self)

    def memory(self, **options: Any) -> Memory:
        """The memory at ``dbPath`` with this embedder, chat and web search; ``options`` are those of ``Memory.open``.

        Raises :class:`~unabridged.errors.ConfigError` where the settings name no place.
        """
        from unabridged.config.build_memory import build_memory

        with _as_written(self):
            return build_memory(self, **options)

    def with_model(
        self,
        *,
        model: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        timeout: float | None = None,
    ) -> Config:
        """The same with another model, address, width or time for a request, as a command line says it.

        Another ``model`` brings nothing along of the old one: no key, address, limit, tokenizer or
        fallback; how to cut, pool and keep stays.

        >>> config = load_config({"embedding": {"model": "openai/x", "apiKey": "k", "pooling": "max"}})
        >>> other = config.with_model(model="hashing").embedding
        >>> other.model, other.api_key, other.pooling
        ('hashing', None, 'max')
        """
        given = {"model": model, "baseURL": base_url, "dimensions": dimensions, "timeout": timeout}
        written = {key: value for key, value in given.items() if value is not None}
        changed = load_config({"embedding": written}).embedding
        names = changed.model_fields_set
        if model is not None:
            names = names | set(ProviderSettings.model_fields) | set(_OF_THE_MODEL)
        update = {name: getattr(changed, name) for name in names}
        embedding = self.embedding.model_copy(update=update)
        keys = frozenset(f"embedding.{EmbeddingSettings.model_fields[name].alias}" for name in names)
        settings = self.settings.model_copy(update={"embedding": embedding})
        return replace(self, settings=settings, elsewhere=self.elsewhere | keys)

    def check(self) -> None:
        """Open all that these settings describe, which sends nothing.

        Raises :class:`~unabridged.errors.ConfigError` for what only an attempt can tell: a missing key, a name of
        ``server.models`` that leads to no model.
        """
        from unabridged.config.build_models import check_models

        with _as_written(self):
            check_models(self)
        opened: tuple[Any, ...] = (self.asker(), self.search(), self.recall().get("rerank"))
        for each in opened:
            if hasattr(each, "close"):
                each.close()

    def explain(self) -> Explanation:
        """The effective configuration, masked, and the numbers in force (SPEC P6)."""
        from unabridged.config.explain import explain

        return explain(self)


def load_config(source: Source | None = None, *, environ: Mapping[str, str] | None = None) -> Config:
    """Read a plugin JSON (SPEC P1 … P7); ``None`` is the embedded default.

    ``source`` is a file, a folder with a ``plugin.json``, JSON text that begins with a brace, or a
    mapping; its shape is a bare configuration, a host's file or an Agent Plugins manifest. Comments,
    trailing commas and ``${VAR}`` are understood; ``environ`` replaces the process's environment.

    Raises :class:`~unabridged.errors.ConfigError` with a line for everything that is wrong.

    >>> load_config().embedding.model is None
    True
    >>> load_config({"embedding": {"dimensions": "768"}})
    Traceback (most recent call last):
    unabridged.errors.ConfigError: embedding.dimensions: found '768' (a string), expected a whole number
    """
    block = read({} if source is None else source)
    theirs = block.plugin == PREDECESSOR
    written = translated(block.settings) if theirs else Translated(dict(block.settings))
    environ = os.environ if environ is None else environ
    settings = _checked(block, written, environ)
    taken = mapped(settings.retrieval, settings.recall)
    variables = values_of(written.settings, environ)
    notes = (*_read_as(block, theirs=theirs), *written.notes, *taken.notes, *_without_effect(settings))
    return Config(
        settings.model_copy(update={"recall": taken.recall}),
        block,
        tuple(as_written(note, variables) for note in notes),
        variables,
        taken.origins,
    )


def _read_as(block: Block, *, theirs: bool) -> Iterator[str]:
    """A file that names nobody, and is read as another system's all the same."""
    if theirs and block.shape == "settings":
        yield f"read as a configuration of {PREDECESSOR}, by its keys; sizes of chunks that it gives are characters"


@contextmanager
def _as_written(config: Config) -> Iterator[None]:
    """Errors name the place in the file and quote what stands there, never what a variable brought in."""
    try:
        yield
    except ConfigError as error:
        told = ConfigError(error.path, as_written(error.problem, config.variables), advice=error.advice)
        raise (told if told.path in config.elsewhere else config.block.located(told)) from None


def _checked(block: Block, written: Translated, environ: Mapping[str, str]) -> Settings:
    """The settings with variables filled in, or one error for all that is wrong with them."""
    filled = substitute(written.settings, environ, types_at)
    problems = list(filled.problems)
    try:
        settings = Settings.model_validate(filled.value)
    except ValidationError as invalid:
        told = {path for path, _ in problems}
        problems += [one for one in problems_of(invalid, written.settings, filled.value) if one[0] not in told]
    else:
        problems += _given_twice(settings)
        if not problems:
            return settings
    raise all_in_one(block, [(written.place(path), problem) for path, problem in problems])


def _given_twice(settings: Settings) -> list[tuple[KeyPath, str]]:
    """``chunking`` and ``autoChunk`` name one thing: each of its keys may stand in one of them."""
    first, second = settings.embedding.chunking, settings.embedding.auto_chunk
    if isinstance(first, bool) or not isinstance(second, ChunkingSettings):
        return []
    return [
        (("embedding", "autoChunk", to_camel(name)), "also given under embedding.chunking, keep one")
        for name in sorted(first.model_fields_set & second.model_fields_set)
    ]


def _without_effect(settings: Settings) -> tuple[str, ...]:
    embedding = settings.embedding
    notes = []
    if embedding.chunking is False and isinstance(embedding.auto_chunk, ChunkingSettings):
        notes.append("embedding.autoChunk: no effect, as embedding.chunking is false")
    return tuple(notes)
