"""The section recall -> what a memory's recalls take by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.config.jsonc import spell
from unabridged.errors import ConfigError
from unabridged.providers.rerank import open_reranker

if TYPE_CHECKING:
    from unabridged.config.load import Config
    from unabridged.providers.rerank import Reranker

__all__ = ["build_recall"]

_KEYS = {"api_key": "apiKey", "base_url": "baseURL", "batch_inputs": "batchInputs"}


def build_recall(config: Config) -> dict[str, Any]:
    """Options of :meth:`unabridged.memory.Memory.recall`, those that the settings give.

    Raises :class:`~unabridged.errors.ConfigError` with the path of the key that is wrong.

    >>> from unabridged.config import load_config
    >>> build_recall(load_config({"recall": {"limit": 5, "kinds": ["fact"]}}))
    {'limit': 5, 'kinds': ['fact']}
    """
    given: dict[str, Any] = config.settings.recall.model_dump(exclude_none=True, exclude={"rerank"})
    reranker = _reranker(config)
    return given if reranker is None else {**given, "rerank": reranker}


def _reranker(config: Config) -> Reranker | None:
    settings = config.settings.recall.rerank
    if settings is None:
        return None
    given = settings.model_dump(exclude_none=True, exclude={"provider", "api_key"})
    if settings.api_key is not None:
        given["api_key"] = settings.api_key.get_secret_value()
    try:
        return open_reranker(settings.provider, **given)
    except ConfigError as error:
        key = error.path.rpartition(".")[2]
        raise ConfigError(spell(("recall", "rerank", _KEYS.get(key, key))), error.problem) from None
