"""One web search request: what a search provider answers, whatever its API.

SearXNG (a server of one's own), Brave and Tavily, and everything that speaks like one of them; more by
:class:`SearchProvider`, which has one method.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from unabridged.errors import ConfigError
from unabridged.providers.http import Call, HttpHost
from unabridged.providers.replies import bad_reply
from unabridged.providers.retry import call as retried

if TYPE_CHECKING:
    from unabridged.providers.http import Answer

__all__ = [
    "BraveSearch",
    "SearchProvider",
    "SearchReply",
    "SearxngSearch",
    "Source",
    "TavilySearch",
    "WebSearch",
    "open_search",
]

_TIMEOUT = 30.0  # seconds: a search engine that takes longer has failed
_RESULTS = 5
_TAG = re.compile(r"<[^<>]{1,200}>")


@dataclass(frozen=True, slots=True)
class Source:
    """One result: where it stands, what it says, and when it was published, as the engine tells it."""

    title: str
    url: str
    snippet: str = field(default="", repr=False)
    published: str | None = None


@dataclass(frozen=True, slots=True)
class SearchReply:
    """What a search found. ``text`` is it all as one plain text, each result with its address."""

    query: str = field(repr=False)
    text: str = field(repr=False)
    sources: tuple[Source, ...] = ()
    answer: str | None = field(default=None, repr=False)
    provider: str = ""


class SearchProvider(Protocol):
    """Anything that searches the web."""

    def search(self, query: str) -> SearchReply:
        """What is found for a query."""
        ...


class WebSearch:
    """One search engine behind HTTP; a dialect is a subclass with two short methods.

    ``results`` is how many are asked for (5). ``api_key`` comes from the environment if it is not given.
    What may pass is tried again. Raises :class:`~unabridged.errors.ProviderError` for a refusal.
    """

    name: ClassVar[str] = ""
    default_url: ClassVar[str | None] = None
    key_variable: ClassVar[str | None] = None

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        results: int = _RESULTS,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        proxy: str = "environment",
        verify: bool | str = True,
    ) -> None:
        url = base_url or self.default_url
        if not url:
            raise ConfigError("base_url", f"{self.name} needs the address of its server")
        if results < 1:
            raise ConfigError("results", f"found {results}, expected at least 1")
        key = (api_key or os.environ.get(self.key_variable or "", "")).strip()
        if not key and self.key_variable and base_url is None:
            raise ConfigError("api_key", f"{self.name} needs a key: set {self.key_variable}", advice="api_key")
        self.results = results
        self.http = HttpHost(
            url,
            provider=self.name,
            headers={**(self.authorization(key) if key else {}), **(headers or {})},
            query=query,
            secrets=(key, *(headers or {}).values()),
            timeout=_TIMEOUT if timeout is None else timeout,
            proxy=proxy,
            verify=verify,
        )

    def authorization(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""
        return {"authorization": f"Bearer {key}"}

    def call(self, query: str) -> Call:
        """The request in this dialect."""
        raise NotImplementedError

    def read(self, data: Mapping[str, Any]) -> tuple[str | None, Any]:
        """The engine's own answer, if it gives one, and its rows of results."""
        raise NotImplementedError

    def search(self, query: str) -> SearchReply:
        """Search, and read what was found."""
        wanted = " ".join(query.split())
        if not wanted:
            raise ConfigError("query", "found nothing, expected words to search for")
        return retried(lambda: self._reply(wanted, self.http.call(self.call(wanted))))

    def close(self) -> None:
        """Give back the connections."""
        self.http.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(host={self.http.host!r})"

    def _reply(self, query: str, answer: Answer) -> SearchReply:
        if not isinstance(answer.data, Mapping):
            raise bad_reply("the answer is no object with results", provider=self.name)
        said, rows = self.read(answer.data)
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            raise bad_reply("no results in the answer", provider=self.name)
        sources = tuple(source for row in rows if (source := _source(row)) is not None)[: self.results]
        said = _plain(said) or None
        return SearchReply(query, _text(said, sources), sources, said, self.name)


class SearxngSearch(WebSearch):
    """A SearXNG server: ``base_url`` is its address; its settings must allow the format ``json``."""

    name = "searxng"

    def call(self, query: str) -> Call:
        """``GET /search?q=…&format=json``."""
        return Call("search", query={"q": query, "format": "json"}, method="GET")

    def read(self, data: Mapping[str, Any]) -> tuple[str | None, Any]:
        """Answers are texts, or in newer servers objects with one."""
        answers = data.get("answers") or ()
        said = [one.get("answer") if isinstance(one, Mapping) else one for one in answers]
        return next((one for one in said if isinstance(one, str)), None), data.get("results")


class BraveSearch(WebSearch):
    """Brave's Web Search API (``BRAVE_API_KEY``)."""

    name = "brave"
    default_url = "https://api.search.brave.com/res/v1"
    key_variable = "BRAVE_API_KEY"

    def authorization(self, key: str) -> dict[str, str]:
        """A header of its own."""
        return {"x-subscription-token": key}

    def call(self, query: str) -> Call:
        """``GET /web/search?q=…``; it refuses over 400 characters or 50 words, and over 20 results."""
        short = " ".join(query.split()[:50])[:400]
        return Call("web/search", query={"q": short, "count": str(min(self.results, 20))}, method="GET")

    def read(self, data: Mapping[str, Any]) -> tuple[str | None, Any]:
        """Without ``web`` nothing was found."""
        web = data.get("web")
        return None, web.get("results") if isinstance(web, Mapping) else []


class TavilySearch(WebSearch):
    """Tavily's search API (``TAVILY_API_KEY``)."""

    name = "tavily"
    default_url = "https://api.tavily.com"
    key_variable = "TAVILY_API_KEY"

    def call(self, query: str) -> Call:
        """``POST /search``."""
        return Call("search", {"query": query, "max_results": min(self.results, 20), "include_answer": True})

    def read(self, data: Mapping[str, Any]) -> tuple[str | None, Any]:
        """An answer, and results."""
        said = data.get("answer")
        return said if isinstance(said, str) else None, data.get("results")


_ENGINES = {engine.name: engine for engine in (SearxngSearch, BraveSearch, TavilySearch)}


def open_search(name: str, **options: Any) -> WebSearch:
    """A search provider by name: ``searxng``, ``brave`` or ``tavily``.

    >>> open_search("searxng", base_url="http://localhost:8888")
    SearxngSearch(host='localhost:8888')
    """
    engine = _ENGINES.get(name.lower())
    if engine is None:
        raise ConfigError("provider", f"found {name!r}, expected one of {', '.join(_ENGINES)}")
    return engine(**options)


def _source(row: Any) -> Source | None:
    if not isinstance(row, Mapping) or not isinstance(row.get("url"), str):
        return None
    snippet = row.get("content") or row.get("description") or row.get("snippet") or ""
    when = next((row[name] for name in ("publishedDate", "published_date", "page_age", "age") if row.get(name)), None)
    return Source(_plain(row.get("title")), row["url"], _plain(snippet), str(when) if when else None)


def _plain(said: Any) -> str:
    """Without the marks that engines put around the words searched for."""
    return " ".join(html.unescape(_TAG.sub("", said)).split()) if isinstance(said, str) else ""


def _text(answer: str | None, sources: Sequence[Source]) -> str:
    parts = [answer] if answer else []
    for source in sources:
        when = f" ({source.published})" if source.published else ""
        parts.append("\n".join(line for line in (f"{source.title}{when}", source.snippet, source.url) if line))
    return "\n\n".join(parts)
