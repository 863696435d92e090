"""The section recall -> what a memory's recalls take by default."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from unabridged.config.jsonc import spell
from unabridged.errors import ConfigError
from unabridged.providers.rerank import open_reranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.config.load import Config
    from unabridged.providers.rerank import Reranker

__all__ = ["LateReranker", "build_recall", "recall_defaults"]

_KEYS = {"api_key": "apiKey", "base_url": "baseURL", "batch_inputs": "batchInputs"}


def build_recall(config: Config) -> dict[str, Any]:
    """Options of :meth:`unabridged.memory.Memory.recall`, those that the settings give.

    Raises :class:`~unabridged.errors.ConfigError` with the path of the key that is wrong.

    >>> from unabridged.config import load_config
    >>> build_recall(load_config({"recall": {"limit": 5, "kinds": ["fact"]}}))
    {'limit': 5, 'kinds': ['fact']}
    """
    reranker = _reranker(config)
    return _numbers(config) if reranker is None else {**_numbers(config), "rerank": reranker}


def recall_defaults(config: Config) -> dict[str, Any]:
    """The same for a memory that is opened: a cross-encoder that cannot be had ends no remember and no recall.

    >>> from unabridged.config import load_config
    >>> recall_defaults(load_config({"recall": {"rerank": {"provider": "fastembed"}}}))
    {'rerank': LateReranker('fastembed')}
    """
    if config.settings.recall.rerank is None:
        return _numbers(config)
    return {**_numbers(config), "rerank": LateReranker(config, config.settings.recall.rerank.provider)}


class LateReranker:
    """The cross-encoder of a configuration, opened when it is first asked.

    What is missing, a key or a package, is an error of that call alone: the recall keeps its order and says so.
    """

    def __init__(self, config: Config, provider: str) -> None:
        self._config = config
        self._provider = provider
        self._mutex = threading.Lock()
        self._opened: Reranker | None = None

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query."""
        with self._mutex:
            if self._opened is None:
                self._opened = _reranker(self._config)  # its errors reach clients, who are told of no file
            opened: Any = self._opened
        scores: list[float] = opened.rerank(query, texts)
        return scores

    def close(self) -> None:
        """Close what was opened."""
        with self._mutex:
            opened: Any = self._opened
            self._opened = None
        if hasattr(opened, "close"):
            opened.close()

    def __repr__(self) -> str:
        """Whose it is."""
        return f"LateReranker({self._provider!r})"


def _numbers(config: Config) -> dict[str, Any]:
    return config.settings.recall.model_dump(exclude_none=True, exclude={"rerank"})


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
