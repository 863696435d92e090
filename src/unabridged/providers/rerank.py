"""Cross-encoders: a query and texts read together, and how well each answers it; one raw request, no policy.

Behind HTTP they speak one of three shapes: Text Embeddings Inference's ``/rerank`` (``texts``, a bare list comes
back), Cohere's and Jina's (``documents``, ``results``), Voyage's (``data``). In this process, any object with
``predict`` over pairs, such as sentence-transformers' ``CrossEncoder``, or a function; :func:`open_reranker` loads
those of sentence-transformers and fastembed by name. No package on PyPI brings a cross-encoder's weights along.

Sources: https://huggingface.github.io/text-embeddings-inference/, https://docs.cohere.com/reference/rerank,
https://jina.ai/reranker/, https://docs.voyageai.com/docs/reranker
"""

from __future__ import annotations

import math
import os
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol

from unabridged.errors import ConfigError, MissingExtra
from unabridged.providers.http import Call, HttpHost
from unabridged.providers.replies import bad_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.providers.http import Answer

__all__ = [
    "FastEmbedReranker",
    "HttpReranker",
    "LocalReranker",
    "Reranker",
    "SentenceTransformersReranker",
    "as_reranker",
    "open_reranker",
]

Shape = Literal["tei", "cohere", "jina", "voyage"]
_BATCH = {"tei": 32, "cohere": 1000, "jina": 1000, "voyage": 1000}  # texts a request, as the servers come configured
_DEFAULTS: dict[str, tuple[str, str, str | None, str]] = {  # address, path, model, the key's variable
    "tei": ("http://localhost:8080", "/rerank", None, "TEI_API_KEY"),
    "cohere": ("https://api.cohere.com", "/v2/rerank", "rerank-v3.5", "COHERE_API_KEY"),
    "jina": ("https://api.jina.ai", "/v1/rerank", "jina-reranker-v2-base-multilingual", "JINA_API_KEY"),
    "voyage": ("https://api.voyageai.com", "/v1/rerank", "rerank-2", "VOYAGE_API_KEY"),
}


class Reranker(Protocol):
    """What a recall needs of a cross-encoder."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, 0 to 1, in the order of the texts."""
        ...


class HttpReranker:
    """A cross-encoder behind HTTP.

    ``shape`` is ``tei``, ``cohere``, ``jina`` (the most widely copied) or ``voyage``; ``path`` is for servers
    that have theirs elsewhere. ``timeout`` bounds a request, in seconds.

    Raises :class:`~unabridged.errors.ProviderError` for a refusal, and for an answer that cannot be trusted:
    scores that are missing, doubled, or no numbers.

    >>> HttpReranker("tei", base_url="http://localhost:8081")
    HttpReranker('tei', host='localhost:8081')
    """

    def __init__(
        self,
        shape: Shape = "jina",
        *,
        model: str | None = None,
        base_url: str | None = None,
        path: str | None = None,
        api_key: str | None = None,
        timeout: float | None = 30.0,
        batch_inputs: int | None = None,
    ) -> None:
        if shape not in _DEFAULTS:
            raise ConfigError("rerank.shape", f"found {shape!r}, expected one of {', '.join(_DEFAULTS)}")
        address, where, known, variable = _DEFAULTS[shape]
        key = api_key or os.environ.get(variable)
        if key is None and base_url is None and shape != "tei":
            raise ConfigError("rerank.api_key", f"found none; give it, or set {variable}")
        self.shape, self.model, self.batch = shape, model or known, batch_inputs or _BATCH[shape]
        self._path = path or where
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self.http = HttpHost(base_url or address, provider=shape, headers=headers, secrets=(key,), timeout=timeout)

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query."""
        found: list[float] = []
        for start in range(0, len(texts), self.batch):
            part = list(texts[start : start + self.batch])
            found += self._read(self.http.call(Call(self._path, body=self._body(query, part))), len(part))
        return _shares(found)  # once for all: a request's scores alone may look like shares and be none

    def close(self) -> None:
        """Close its connections."""
        self.http.close()

    def __repr__(self) -> str:
        """Its shape and where it is."""
        return f"HttpReranker({self.shape!r}, host={self.http.host!r})"

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        if self.shape == "tei":
            return {"query": query, "texts": texts, "raw_scores": False, "truncate": True}
        model = {} if self.model is None else {"model": self.model}
        return {**model, "query": query, "documents": texts}

    def _read(self, answer: Answer, count: int) -> list[float]:
        data = answer.data
        rows = data if isinstance(data, list) else data.get("results") or data.get("data") if data else None
        if not isinstance(rows, list):
            self.http.refuse(answer, "the answer has no list of scores")
        scores: dict[int, float] = {}
        for row in rows:
            at = row.get("index") if isinstance(row, dict) else None
            score = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
            if type(at) is not int or not 0 <= at < count or at in scores:
                raise bad_reply(f"a score's index is wrong or doubled, for {count} texts", provider=self.shape)
            if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                raise bad_reply(f"score {at} is no number", provider=self.shape)
            scores[at] = float(score)
        if len(scores) != count:
            raise bad_reply(f"{len(scores)} scores for {count} texts", provider=self.shape)
        return [scores[at] for at in range(count)]


class LocalReranker:
    """A cross-encoder in this process: an object with ``predict`` over (query, text) pairs, or a function.

    >>> LocalReranker(lambda query, texts: [float(query in text) for text in texts]).rerank("b", ["abc", "x"])
    [1.0, 0.0]
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query."""
        if hasattr(self.model, "predict"):
            scores = self.model.predict([(query, text) for text in texts])
        else:
            scores = self.model(query, list(texts))
        return _checked(scores, len(texts), "local")


class _Loaded:
    """A local cross-encoder that is loaded when it is first asked, and asked by one thread at a time."""

    name: str
    module: str

    def __init__(self, model: str | None = None, *, batch_inputs: int = 32, **options: Any) -> None:
        if model is None:
            raise ConfigError("rerank.model", f"not given; name a cross-encoder of {self.name}, or its folder")
        if find_spec(self.module) is None:
            raise MissingExtra(self.name, self.name)
        self.model, self.batch, self._options = model, batch_inputs, options
        self._mutex = threading.Lock()
        self._loaded: Any = None

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query."""
        if not texts:
            return []
        with self._mutex:
            if self._loaded is None:
                self._loaded = self._load()
            return _checked(self._scores(query, list(texts)), len(texts), self.name)

    def close(self) -> None:
        """Let go of the model."""
        self._loaded = None

    def __repr__(self) -> str:
        """What it is."""
        return f"{type(self).__name__}({self.model!r})"

    def _load(self) -> Any:
        raise NotImplementedError

    def _scores(self, query: str, texts: list[str]) -> Any:
        raise NotImplementedError


class SentenceTransformersReranker(_Loaded):
    """A ``CrossEncoder`` of sentence-transformers, by name or folder; ``options`` go to it. It cuts at its length."""

    name = "sentence-transformers"
    module = "sentence_transformers"

    def _load(self) -> Any:
        from sentence_transformers import CrossEncoder

        return CrossEncoder(self.model, **self._options)

    def _scores(self, query: str, texts: list[str]) -> Any:
        pairs = [(query, text) for text in texts]
        return self._loaded.predict(pairs, batch_size=self.batch, show_progress_bar=False)


class FastEmbedReranker(_Loaded):
    """A ``TextCrossEncoder`` of fastembed , by name; ``options`` go to it: ``cache_dir``, ``specific_model_path``."""

    name = "fastembed"
    module = "fastembed"

    def _load(self) -> Any:
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        return TextCrossEncoder(self.model, **self._options)

    def _scores(self, query: str, texts: list[str]) -> Any:
        return list(self._loaded.rerank(query, texts, batch_size=self.batch))


def open_reranker(provider: str, **options: Any) -> Reranker:
    """A cross-encoder by whose it is: ``tei``, ``cohere``, ``jina``, ``voyage``, or a package that runs it here.

    Raises :class:`~unabridged.errors.ConfigError` for what is missing, :class:`~unabridged.errors.MissingExtra`
    where the package is.

    >>> open_reranker("tei", base_url="http://localhost:8081")
    HttpReranker('tei', host='localhost:8081')
    """
    local = {"sentence-transformers": SentenceTransformersReranker, "fastembed": FastEmbedReranker}
    if provider not in local:
        return HttpReranker(provider, **options)  # type: ignore[arg-type]
    for name in ("base_url", "path", "timeout", "api_key"):
        if name in options:
            raise ConfigError(f"rerank.{name}", f"{provider} runs in this process: it has none")
    return local[provider](**options)


def as_reranker(given: Any) -> Reranker:
    """A reranker from one, from a model with ``predict``, from a function of (query, texts), or a shape's name."""
    if isinstance(given, str):
        return HttpReranker(given)  # type: ignore[arg-type]
    if hasattr(given, "rerank"):
        return given
    if hasattr(given, "predict") or callable(given):
        return LocalReranker(given)
    raise ConfigError("rerank", f"found a {type(given).__name__}, expected a reranker, a function, or a shape's name")


def _checked(scores: Any, count: int, provider: str) -> list[float]:
    found = [float(score) for score in scores]
    if len(found) != count or not all(map(math.isfinite, found)):
        raise bad_reply(f"{len(found)} scores for {count} texts, or some that are no numbers", provider=provider)
    return _shares(found)


def _shares(scores: list[float]) -> list[float]:
    """Scores as they are if all lie between 0 and 1, else through the logistic function, for they are logits."""
    if all(0 <= score <= 1 for score in scores):
        return scores
    return [1 / (1 + math.exp(-max(-60.0, min(60.0, score)))) for score in scores]
