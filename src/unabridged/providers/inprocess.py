"""What models in this process have in common: counted before they cut, one at a time, checked after.

These libraries cut a long text silently at the model's length. Here the text is counted by the
model's own tokenizer first, and refused as a server would refuse it.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import ConfigError, MissingExtra, Overflow, ProviderError
from unabridged.providers.faults import classify, error_for
from unabridged.providers.replies import checked
from unabridged.types import Fault, Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from unabridged.types import Request, Role, Tokenizer

__all__ = ["InProcessProvider", "RawTokenizer"]


class RawTokenizer:
    """A ``tokenizers.Tokenizer`` that counts: no special tokens, no truncation, no padding."""

    def __init__(self, raw: Any, name: str, specials: int = 0) -> None:
        from tokenizers import Tokenizer

        self.raw = Tokenizer.from_str(raw.to_str())  # a copy: the model's own keeps its settings
        self.raw.no_truncation()
        self.raw.no_padding()
        self.name = name
        self.specials = specials

    def count(self, text: str) -> int:
        """How many tokens ``text`` costs, without the special ones around it."""
        return len(self.raw.encode(writable(text), add_special_tokens=False))


class InProcessProvider:
    """A model in this process. A subclass says how it is loaded and how it encodes.

    ``load`` is called once, on first use; ``encode`` by one thread at a time. ``prompts`` are put
    before each text by role. ``dimensions`` below the model's width are cut off and renormalised,
    which is right for Matryoshka models only.
    """

    name: str = ""
    host = "process"
    package: str = ""
    module: str = ""
    extra: str = ""

    def __init__(
        self,
        model: str | None = None,
        *,
        dimensions: int | None = None,
        limit: Limit | None = None,
        prompts: Mapping[Role, str] | None = None,
    ) -> None:
        if self.module and find_spec(self.module) is None:
            raise MissingExtra(self.package, self.extra)
        if not model:
            raise ConfigError("model", f"{self.name} needs the name or the folder of a model")
        self.model = model
        self.dimensions = dimensions
        self._given_limit = limit
        self._prompts = dict(prompts or {})
        self._lock = threading.Lock()
        self._loaded: Any = None

    def load(self) -> Any:
        """Load the model."""
        raise NotImplementedError

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """Vectors of shape ``(len(texts), width)``."""
        raise NotImplementedError

    def own_limit(self, model: Any) -> Limit:
        """What the loaded model takes, special tokens apart."""
        return Limit()

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """The loaded model's tokenizer."""
        return None

    @property
    def loaded(self) -> Any:
        """The model, loaded on first use."""
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self.load()
        return self._loaded

    @cached_property
    def limit(self) -> Limit:
        """What the model takes; reading it loads the model."""
        return self._given_limit if self._given_limit is not None else self.own_limit(self.loaded)

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The model's own tokenizer; reading it loads the model."""
        return self.own_tokenizer(self.loaded)

    @property
    def settings(self) -> Mapping[str, str]:
        """The prompts."""
        return {f"prompt.{role}": prompt for role, prompt in self._prompts.items()}

    def prompt(self, role: Role) -> str:
        """What is put before each text: it costs tokens of the limit."""
        return self._prompts.get(role, "")

    def send(self, request: Request) -> Reply:
        """Embed every text, or refuse as a server would: blank, too long, not that wide."""
        texts = [writable(text) for text in request.texts]
        self._refuse_empty(texts)
        texts = [self.prompt(request.role) + text for text in texts]
        sizes = self._sizes(texts)
        model = self.loaded
        with self._lock:
            vectors = np.asarray(self._encoded(model, texts, request.role), dtype=np.float32)
        narrowed = self._narrowed(vectors, request.dimensions or self.dimensions)
        return Reply(
            checked(narrowed, count=len(texts), provider=self.name),
            tokens=sum(sizes) if sizes is not None else None,
            model=self.model,
            unknown=self.unknown(model, texts),
        )

    def _encoded(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """A library that refuses a text for its length refuses it as a server would."""
        try:
            return self.encode(model, texts, role)
        except (ValueError, RuntimeError) as error:
            fault = classify(None, str(error), provider=self.name)
            if fault.kind not in ("input_overflow", "request_overflow"):
                raise
            fault = replace(fault, kind="input_overflow", scope="input")
            raise error_for(fault, str(error), provider=self.name) from error

    def unknown(self, model: Any, texts: Sequence[str]) -> tuple[float, ...] | None:
        """The share of unknown tokens in each text, where the tokenizer tells."""
        return None

    async def asend(self, request: Request) -> Reply:
        """The same, on a thread."""
        return await asyncio.to_thread(self.send, request)

    def close(self) -> None:
        """Let go of the model."""
        self._loaded = None

    async def aclose(self) -> None:
        """The same, for async callers."""
        self.close()

    def _refuse_empty(self, texts: Sequence[str]) -> None:
        empty = [at for at, text in enumerate(texts) if not text.strip()]
        if empty or not texts:
            where = f"input {empty[0]} is empty" if empty else "no input"
            raise ProviderError(f"{self.name}: {where}", Fault("empty_input", "input", indices=tuple(empty)))

    def _sizes(self, texts: Sequence[str]) -> list[int] | None:
        tokenizer, limit = self.tokenizer, self.limit.input_tokens
        if tokenizer is None:
            return None
        sizes = [tokenizer.count(text) for text in texts]
        over = [at for at, size in enumerate(sizes) if limit is not None and size > limit]
        if over:
            at, actual = over[0], sizes[over[0]]
            fault = Fault("input_overflow", "input", limit=limit, actual=actual, unit="tokens", indices=tuple(over))
            raise Overflow(f"{self.name}: input {at} has {actual} tokens, the limit is {limit}", fault)
        return sizes

    def _narrowed(self, vectors: NDArray[np.float32], width: int | None) -> NDArray[np.float32]:
        if width is None or vectors.ndim != 2 or width == vectors.shape[1]:
            return vectors
        if width > vectors.shape[1]:
            message = f"{self.name}: {self.model} has {vectors.shape[1]} dimensions and cannot give {width}"
            raise ProviderError(message, Fault("invalid_dimensions", limit=vectors.shape[1], actual=width))
        cut = vectors[:, :width]
        norms = np.linalg.norm(cut, axis=1, keepdims=True)
        return np.divide(cut, norms, out=np.zeros_like(cut), where=norms > 0)


def writable(text: str) -> str:
    """The text in Unicode that can be written as UTF-8: lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
