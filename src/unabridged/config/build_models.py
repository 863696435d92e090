"""The models of ``server.models``: whether each of them can be opened by its name."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from unabridged.config.build import build_embedder
from unabridged.config.jsonc import Path, spell
from unabridged.config.names import nearest
from unabridged.config.resolve import WITHOUT_MODEL
from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from unabridged.config.load import Config
    from unabridged.config.model import EmbeddingSettings

__all__ = ["check_models"]

_AT: Path = ("server", "models")


def check_models(config: Config) -> None:
    """Open every model that ``server.models`` names, which sends nothing.

    Raises :class:`~unabridged.errors.ConfigError` with the key of the one that cannot be opened, or that leads to
    no model.
    """
    models = config.settings.server.models or {}
    with config.embedder(cache=False) as embedder:
        own = embedder.model
        answers = {"default", own, own.rpartition("/")[2], embedder.provider.name, f"{embedder.provider.name}/{own}"}
    for name, chosen in models.items():
        if isinstance(chosen, str):
            _follow(name, models, answers)
        else:
            _open(config, name, chosen)


def _follow(name: str, models: Mapping[str, str | EmbeddingSettings], answers: Collection[str]) -> None:
    """From name to name, to a model."""
    passed = {name}
    chosen = models[name]
    while isinstance(chosen, str):
        pattern = chosen if chosen in models else next((each for each in models if fnmatchcase(chosen, each)), None)
        if pattern is None or pattern in passed:
            if chosen in answers:
                return
            near = nearest(chosen, [*models.keys() - {name}, *answers])
            known = ", ".join(["default", *(each for each in models if each != name)])
            meant = f", did you mean {near}?" if near else f"; known are {known}"
            lost = "which leads back to itself" if pattern else f"which names no model here{meant}"
            raise ConfigError(spell((*_AT, name)), f"found {chosen!r}, {lost}")
        passed.add(pattern)
        chosen = models[pattern]


def _open(config: Config, name: str, chosen: EmbeddingSettings) -> None:
    if chosen.model is None and chosen.provider not in WITHOUT_MODEL:
        if "*" in name and chosen.provider is None and chosen.base_url is None:
            return  # whose it is tells the name that will be asked for
        chosen = chosen.model_copy(update={"model": name.replace("*", "x")})
    settings = config.settings.model_copy(update={"embedding": chosen})
    build_embedder(replace(config, settings=settings), at=(*_AT, name), cache=False).close()
