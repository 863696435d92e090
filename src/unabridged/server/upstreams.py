"""Models by the name that clients ask for: the configuration's own, those of ``server.models``, patterns."""

from __future__ import annotations

import threading
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from unabridged.config.build import cache_of_settings
from unabridged.config.resolve import WITHOUT_MODEL
from unabridged.embedding.cache import VectorCache
from unabridged.embedding.widths import at_width
from unabridged.errors import ConfigError
from unabridged.providers.limits import known_model
from unabridged.server.late import LateCache
from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.config import Config
    from unabridged.config.model import EmbeddingSettings
    from unabridged.embedding.embedder import Embedder
    from unabridged.server.settings import ServerSettings

__all__ = ["DEFAULT", "Upstreams"]

DEFAULT = "default"
_MOST_OF_PATTERNS = 64  # a pattern stands for any number of names; so many are open at the most
_MOST_WIDTHS = 64  # embedders of one provider share all that is heavy; this bounds what is asked at random
_IN_FLIGHT = 64  # a host that takes less says so, and is heard: the number falls with every 429


class Upstreams:
    """Finds the embedder of a model's name.

    The model of ``embedding`` is ``default``; it also answers to its own name, with or without its
    provider's before it. ``server.models`` names others: an object like ``embedding``, or another name;
    ``*`` in a name stands for anything, and what was asked for is then the model's name at its provider.
    """

    def __init__(self, config: Config, settings: ServerSettings, forgotten: Callable[[], None] | None = None) -> None:
        self._config = config
        self._forgotten = forgotten  # hears when entries are taken out of a cache
        self._named = dict(settings.models or {})
        self._open: dict[str, Embedder] = {}
        self._sized: dict[tuple[int, int], Embedder] = {}
        self._of_patterns = 0
        self._lock = threading.Lock()

    def open(self) -> None:
        """Open every model that is named, so that a wrong setting ends the start."""
        for name in self.names():
            self(name)

    def names(self) -> list[str]:
        """The names that are certain: the default's own, ``default``, and those of the settings without a ``*``."""
        named = [name for name in self._named if "*" not in name]
        return list(dict.fromkeys((*(() if (own := self().model) in named else (own,)), DEFAULT, *named)))

    def __call__(self, model: str | None = None) -> Embedder:
        """The embedder of a model's name; without a name, the default.

        Raises :class:`~unabridged.server.problems.Problem` 404 for a name that stands for nothing.
        """
        found = self._open.get(model or DEFAULT)
        if found is not None:
            return found
        with self._lock:
            return self._opened(model or DEFAULT)

    def of_width(self, model: str | None, dimensions: int | None) -> Embedder:
        """The embedder of a model's name for vectors of a width; ``None`` is the model's own.

        Raises :class:`~unabridged.server.problems.Problem` 400 where the model is known not to give it.
        """
        embedder = self(model)
        if dimensions is None or dimensions == embedder.dimensions:
            return embedder
        found = self._sized.get((id(embedder), dimensions))
        if found is None:
            _refuse_width(embedder, dimensions)
            while len(self._sized) >= _MOST_WIDTHS:
                self._sized.pop(next(iter(self._sized)), None)
            found = self._sized.setdefault((id(embedder), dimensions), at_width(embedder, dimensions))
        return found

    async def aclose(self) -> None:
        """Close every model."""
        self._sized.clear()
        opened = {id(embedder): embedder for embedder in self._open.values()}
        self._open.clear()
        for embedder in opened.values():
            await embedder.aclose()

    def _opened(self, name: str) -> Embedder:
        if DEFAULT not in self._open:
            self._open_default()
        found = self._open.get(name) or self._of_settings(name)
        if found is None:
            known = ", ".join(dict.fromkeys([self._open[DEFAULT].model, DEFAULT, *self._named]))
            detail = f"no such model here; known are {known} (server.models in the configuration names others)"
            raise Problem(404, detail, code="model_not_found", param="model")
        self._open[name] = found
        return found

    def _open_default(self) -> None:
        embedder = self._embedder(self._config)
        own = embedder.model
        for name in (own, own.rpartition("/")[2], f"{embedder.provider.name}/{own}", embedder.provider.name):
            if name not in self._named:
                self._open[name] = embedder
        self._open[DEFAULT] = embedder

    def _of_settings(self, name: str, depth: int = 0) -> Embedder | None:
        pattern = name if name in self._named else next((p for p in self._named if fnmatchcase(name, p)), None)
        if pattern is None:
            return None
        chosen = self._named[pattern]
        if not isinstance(chosen, str):
            return self._build(name, chosen, pattern)
        if depth > len(self._named):
            raise ConfigError(f"server.models.{pattern}", "these names lead back to themselves")
        found = self._open.get(chosen) or self._of_settings(chosen, depth + 1)
        if found is None and pattern == name:
            raise ConfigError(f"server.models.{pattern}", f"found {chosen!r}, which names no model here")
        return found

    def _build(self, name: str, chosen: EmbeddingSettings, pattern: str) -> Embedder:
        if pattern != name:
            if self._of_patterns >= _MOST_OF_PATTERNS:
                raise Problem(404, "too many models of one pattern", code="model_not_found", param="model")
            self._of_patterns += 1
        if chosen.model is None and chosen.provider not in WITHOUT_MODEL:
            chosen = chosen.model_copy(update={"model": name})
        settings = self._config.settings.model_copy(update={"embedding": chosen})
        return self._embedder(replace(self._config, settings=settings), at=("server", "models", pattern))

    def _embedder(self, config: Config, at: tuple[str, ...] = ("embedding",)) -> Embedder:
        """The embedder of a configuration, but for what a server does otherwise; ``at`` is where its settings stand.

        A text that fails ends its request; of unknown words an answer tells in a header, not in a warning; what
        is to be kept on disk is written after the answer has gone; and more requests are in flight at once,
        for they are those of many callers.
        """
        options: dict[str, Any] = {"on_error": "raise", "at": at}
        if config.embedding.on_unknown == "warn":
            options["on_unknown"] = "ignore"
        cache = cache_of_settings(config.embedding)
        if cache is not False:
            options["cache"] = LateCache(VectorCache() if cache is True else cache, self._forgotten)
        made = config.embedder(**options)
        if config.embedding.concurrency is not None or made.provider.host == "process":
            return made
        return config.embedder(**options, concurrency=_IN_FLIGHT)  # the one before has opened nothing yet


def _refuse_width(embedder: Embedder, dimensions: int) -> None:
    known = known_model(embedder.model, embedder.provider.name)
    one_width = known is not None and known.dimensions is not None and not known.widths
    if known is not None and one_width and not known.allows(dimensions):
        detail = f"the model gives vectors of {known.dimensions} dimensions only"
        raise Problem(400, detail, code="invalid_dimensions", param="dimensions")
