"""Taking texts out of an embedder's cache again: their own vectors, and those of the chunks that they were cut into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.embedding.fingerprint import key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.embedding.embedder import Embedder
    from unabridged.types import Role

__all__ = ["forget"]

_ROLES: tuple[Role, ...] = ("document", "query")


def forget(embedder: Embedder, texts: Iterable[str]) -> int:
    """Remove every kept vector of these texts, made with the embedder's own settings; how many there were.

    >>> from unabridged.embedding.embedder import Embedder
    >>> import tempfile
    >>> with Embedder("hashing", cache=tempfile.mkdtemp()) as embedder:
    ...     _ = embedder.embed(["one", "two"])
    ...     forget(embedder, ["one", "never embedded"])
    1
    """
    cache = embedder.cache
    if cache is None:
        return 0
    doomed: dict[bytes, None] = {}
    for role in _ROLES:
        raw, document = embedder._prints(role)  # noqa: SLF001 - the names under which its own vectors stand
        for text in texts:
            whole = key(document, text)
            doomed |= {key(raw, text): None, whole: None}
            entry = cache.get([whole]).get(whole)
            if entry is not None and entry.spans is not None:
                doomed |= {key(raw, text[start:end]): None for start, end, *_ in entry.spans.tolist()}
    return cache.delete(doomed)
