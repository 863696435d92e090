"""Vectors in Redis: one cache for workers on many machines. Values are those of the cache on disk, never a pickle."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from unabridged.embedding.cache import default_cache_folder, pack, unpack
from unabridged.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from unabridged.embedding.cache import Entry

__all__ = ["RedisCache"]

_AT_ONCE = 500  # keys of one round trip (FINDINGS §6: 203 k gets/s in batches)
_PATIENCE = 5.0  # seconds; a cache that is slower than the model is none
_PREFIX = b"unabridged:1:"


class RedisCache:
    """Entries by key, as :class:`~unabridged.embedding.cache.VectorCache` has them; thread-safe.

    ``url`` is ``redis://host:port/0`` (``rediss://`` with TLS); ``seconds`` is how long an entry stays, for ever
    by default. Redis that is away or full costs a warning, never the vectors. Raises
    :class:`~unabridged.errors.MissingExtra` without ``redis``.
    """

    def __init__(self, url: str, *, seconds: int | None = None) -> None:
        try:
            import redis
        except ImportError:
            raise MissingExtra("redis", "redis") from None
        try:
            self._redis: Any = redis.Redis.from_url(url, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE)
        except ValueError as error:
            raise ConfigError("redis", str(error)) from None
        self._failures: type[Exception] = redis.RedisError
        self._seconds = seconds
        self.folder = default_cache_folder()  # beside it lies what is learned of hosts

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Entry]:
        """The entries that are there and whole."""
        asked, found = list(keys), {}
        try:
            for at in range(0, len(asked), _AT_ONCE):
                part = asked[at : at + _AT_ONCE]
                values = self._redis.mget([_PREFIX + key for key in part])
                found.update({key: unpack(value) for key, value in zip(part, values, strict=True) if value})
        except self._failures as error:
            self._warn("read", error)
        damaged = sum(entry is None for entry in found.values())
        if damaged:
            warnings.warn(f"{damaged} entries of the Redis cache are damaged; ignored", RuntimeWarning, stacklevel=2)
        return {key: entry for key, entry in found.items() if entry is not None}

    def put(self, entries: Mapping[bytes, Entry]) -> None:
        """Store entries."""
        items = list(entries.items())
        try:
            for at in range(0, len(items), _AT_ONCE):
                pipe = self._redis.pipeline(transaction=False)
                for key, entry in items[at : at + _AT_ONCE]:
                    pipe.set(_PREFIX + key, pack(entry), ex=self._seconds)
                pipe.execute()
        except self._failures as error:
            self._warn("written", error)

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _warn(what: str, error: Exception) -> None:
        message = f"the Redis cache could not be {what} ({type(error).__name__})"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
