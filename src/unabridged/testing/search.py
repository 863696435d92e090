"""A web search that searches nothing: it answers from what it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.providers.websearch import SearchReply, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FakeSearch"]


class FakeSearch:
    """A :class:`~unabridged.providers.websearch.SearchProvider` for tests; ``queries`` are what it was asked.

    ``pages`` maps words to texts: a query finds every text whose words it holds, upper and lower case alike.
    ``error`` is raised instead, if one is set.

    >>> search = FakeSearch({"Acme": "Acme opened an office in Oslo."})
    >>> search.search("latest news about Acme").text
    'Acme opened an office in Oslo.\\nhttps://search.invalid/0'
    """

    def __init__(self, pages: Mapping[str, str] | None = None, *, error: Exception | None = None) -> None:
        self.pages = dict(pages or {})
        self.error = error
        self.queries: list[str] = []

    def search(self, query: str) -> SearchReply:
        """What is found for a query."""
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        folded = query.casefold()
        found = [(at, text) for at, (word, text) in enumerate(self.pages.items()) if word.casefold() in folded]
        sources = tuple(Source("", f"https://search.invalid/{at}", text) for at, text in found)
        text = "\n\n".join(f"{source.snippet}\n{source.url}" for source in sources)
        return SearchReply(query, text, sources, provider="fake")
