"""What a wrapped client costs: the same call, bare and wrapped, by turns, against a zero-latency server.

The server runs in a process of its own. For each client: one short text, and 32 texts of about 300 tokens,
all of which fit. Given are the medians in microseconds and their ratio. A client whose package is not
installed is left out, and said so.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib.util
import statistics
import time
from typing import TYPE_CHECKING, Any

import httpx

from benchmarks.loopback import server
from unabridged import wrap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_WIDTH = 1536
_MODEL = "text-embedding-3-small"
_ONE = ["A short text, as a question to a search box would be."]
_BATCH = [f"Paragraph {n}. " + "It goes on for a while, as paragraphs in a manual do. " * 24 for n in range(32)]


def _openai(url: str) -> Any:
    import openai

    return openai.OpenAI(base_url=url, api_key="k")


def _async_openai(url: str) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=url, api_key="k")


def _langchain(url: str) -> Any:
    from langchain_openai import OpenAIEmbeddings

    return OpenAIEmbeddings(model=_MODEL, base_url=url, api_key="k", check_embedding_ctx_length=False)


def _llama_index(url: str) -> Any:
    from llama_index.embeddings.openai import OpenAIEmbedding

    return OpenAIEmbedding(model_name=_MODEL, api_base=url, api_key="k")


def _ollama(url: str) -> Any:
    import ollama

    return ollama.Client(url)


def _cohere(url: str) -> Any:
    import cohere

    return cohere.ClientV2("k", base_url=url.removesuffix("/v2"))


def _mistral(url: str) -> Any:
    from mistralai.client import Mistral

    return Mistral(api_key="k", server_url=url.removesuffix("/v1"))


def _function(url: str) -> Any:
    client = httpx.Client()

    def embed(texts: list[str]) -> list[list[float]]:
        reply = client.post(f"{url}/embeddings", json={"model": _MODEL, "input": texts})
        return [item["embedding"] for item in reply.json()["data"]]

    return embed


def _create(client: Any, texts: list[str]) -> Any:
    return client.embeddings.create(model=_MODEL, input=texts)


def _cohere_embed(client: Any, texts: list[str]) -> Any:
    return client.embed(texts=texts, model="embed-v4.0", input_type="search_document", embedding_types=["float"])


# Name: package, dialect, how the client is made, how it is called.
CLIENTS: dict[str, tuple[str, str, Callable[[str], Any], Callable[[Any, list[str]], Any]]] = {
    "openai": ("openai", "openai", _openai, _create),
    "openai async": ("openai", "openai", _async_openai, _create),
    "function": ("httpx", "openai", _function, lambda f, texts: f(texts)),
    "langchain": ("langchain_openai", "openai", _langchain, lambda c, texts: c.embed_documents(texts)),
    "llama_index": (
        "llama_index.embeddings.openai",
        "openai",
        _llama_index,
        lambda c, texts: c.get_text_embedding_batch(texts),
    ),
    "ollama": ("ollama", "ollama", _ollama, lambda c, texts: c.embed(_MODEL, texts)),
    "cohere": ("cohere", "cohere", _cohere, _cohere_embed),
    "mistral": (
        "mistralai",
        "mistral",
        _mistral,
        lambda c, texts: c.embeddings.create(model="mistral-embed", inputs=texts),
    ),
}


def by_turns(bare: Callable[[], Any], wrapped: Callable[[], Any], calls: int) -> dict[str, float]:
    """Medians of both over so many pairs of calls, each pair in turned order, in microseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    bare(), wrapped()
    gc.disable()
    try:
        for n in range(calls):
            for which in (0, 1) if n % 2 else (1, 0):
                started = time.perf_counter()
                (bare, wrapped)[which]()
                times[which].append(time.perf_counter() - started)
    finally:
        gc.enable()
    return _figures(times)


async def by_turns_async(
    bare: Callable[[], Awaitable[Any]], wrapped: Callable[[], Awaitable[Any]], calls: int
) -> dict[str, float]:
    """The same for async calls."""
    times: tuple[list[float], list[float]] = ([], [])
    await bare()
    await wrapped()
    for n in range(calls):
        for which in (0, 1) if n % 2 else (1, 0):
            started = time.perf_counter()
            await (bare, wrapped)[which]()
            times[which].append(time.perf_counter() - started)
    return _figures(times)


def _figures(times: tuple[list[float], list[float]]) -> dict[str, float]:
    bare, wrapped = (statistics.median(t) * 1e6 for t in times)
    return {"bare_us": bare, "wrapped_us": wrapped, "ratio": wrapped / bare}


def measure(name: str, calls: int) -> dict[str, float]:
    """One client: one short text, and a batch."""
    _, dialect, make, call = CLIENTS[name]
    found: dict[str, float] = {}
    with server("--dimensions", str(_WIDTH), "--dialect", dialect) as url:
        for size, texts, times in (("one", _ONE, calls), ("batch", _BATCH, max(20, calls // 5))):
            if "async" in name:
                figures = asyncio.run(_awaited(lambda: make(url), call, texts, times))
            else:
                bare, wrapped = make(url), wrap(make(url))
                figures = by_turns(
                    lambda bare=bare, texts=texts: call(bare, texts),
                    lambda wrapped=wrapped, texts=texts: call(wrapped, texts),
                    times,
                )
            found |= {f"{size}_{key}": value for key, value in figures.items()}
    return found


async def _awaited(
    make: Callable[[], Any], call: Callable[[Any, list[str]], Any], texts: list[str], calls: int
) -> dict[str, float]:
    async with make() as bare:
        wrapped = wrap(bare)
        return await by_turns_async(lambda: call(bare, texts), lambda: call(wrapped, texts), calls)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure, and return what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks wrapping", description=__doc__)
    parser.add_argument("--only", choices=sorted(CLIENTS))
    parser.add_argument("--calls", type=int, default=400)
    given = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for name, (package, *_) in CLIENTS.items():
        if given.only not in (None, name):
            continue
        try:
            installed = importlib.util.find_spec(package) is not None
        except ModuleNotFoundError:
            installed = False
        if not installed:
            print(f"{name:12} left out: {package} is not installed")
            continue
        found[name] = {key: round(value, 3) for key, value in measure(name, given.calls).items()}
        one, batch = found[name]["one_ratio"], found[name]["batch_ratio"]
        print(
            f"{name:12} one text {found[name]['one_bare_us']:8.0f} µs × {one:5.3f}    "
            f"32 texts {found[name]['batch_bare_us']:8.0f} µs × {batch:5.3f}"
        )
    return found


if __name__ == "__main__":
    main()
