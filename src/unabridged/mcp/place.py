"""Where the tools work: which memory a caller may touch, and what embeds; the same tools over stdio and HTTP."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcp.server.mcpserver.exceptions import ToolError
from starlette.exceptions import HTTPException

from unabridged.advice import said
from unabridged.errors import NotFound
from unabridged.memory import Memory
from unabridged.memory.memory import DATASET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unabridged.config import Config

__all__ = ["Hosted", "Own", "Place"]

_NAMED = 20  # datasets that an error names: an agent reads them all


class Place(Protocol):
    """What the tools need of where they run. ``request`` is that of HTTP, ``None`` over stdio.

    ``home`` is the dataset that is meant where none is named.
    """

    home: str

    def memory(self, dataset: str | None, right: str, request: Any) -> Memory:
        """The memory of a dataset, for a caller with this right to it; else a ToolError."""
        ...

    def datasets(self, request: Any) -> list[str]:
        """The datasets that the caller may touch."""
        ...

    def embedder(self, request: Any) -> Any:
        """What gives vectors, for a caller who may embed."""
        ...


class Own:
    """One user's own place, over stdio: a configuration, its memory and its embedder, opened when first used."""

    def __init__(self, config: Config, *, dataset: str | None = None, read_only: bool = False) -> None:
        self.home = dataset or config.settings.memory.dataset
        self._config = config
        self._read_only = read_only
        self._open: dict[str, Memory] = {}
        self._embedder: Any = None
        self._mutex = threading.RLock()

    def memory(self, dataset: str | None, right: str, request: Any = None) -> Memory:
        """The memory of a dataset; any of its datasets is made when something is first written to it."""
        dataset = dataset or self.home
        if self._read_only and right != "read":
            raise ToolError("this server was started with --read-only: it recalls, and stores and forgets nothing")
        with self._mutex:
            if dataset not in self._open:
                create = right != "read" or (dataset == self.home and not self._read_only)
                with _named(self.datasets):
                    self._open[dataset] = self._config.memory(
                        dataset=dataset, create=create, read_only=self._read_only, embedder=self.embedder()
                    )
            return self._open[dataset]

    def datasets(self, request: Any = None) -> list[str]:
        """All of the place."""
        return [info.name for info in Memory.datasets(str(self._config.db_path))]

    def embedder(self, request: Any = None) -> Any:
        """That of the configuration."""
        with self._mutex:
            if self._embedder is None:
                self._embedder = self._config.embedder()
            return self._embedder

    def close(self) -> None:
        """Close what was opened."""
        for memory in self._open.values():
            memory.close()
        if self._embedder is not None:
            self._embedder.close()


class Hosted:
    """The place of a server: its open memories, and the rights of the key that a request showed."""

    home = DATASET

    def __init__(self, server: Any) -> None:
        self._server = server

    def memory(self, dataset: str | None, right: str, request: Any) -> Memory:
        """The memory of a dataset, if the caller has the right, and the dataset is among its own."""
        dataset = dataset or self.home
        caller = _caller(request, right)
        if not caller.reaches(dataset):
            raise ToolError(f"this key has no right to this dataset; {_known(self.datasets(request))}")
        with _named(lambda: self.datasets(request)):
            memory: Memory = self._server.memory(dataset, create=dataset == DATASET)
        return memory

    def datasets(self, request: Any) -> list[str]:
        """Those that the caller's key names."""
        caller = _caller(request, "read")
        return [info.name for info in Memory.datasets(self._server.place) if caller.reaches(info.name)]

    def embedder(self, request: Any) -> Any:
        """The server's default model, for a caller who may embed, within its limits."""
        return _Metered(self._server, _caller(request, "embed"))


class _Metered:
    """An embedder that keeps to what a key may ask for in a minute and a month."""

    def __init__(self, server: Any, caller: Any) -> None:
        self._server = server
        self._caller = caller
        self._embedder = server.embedders()
        self.model: str = self._embedder.model

    def embed_detailed(self, texts: list[str], **options: Any) -> Any:
        """As of an embedder."""
        try:
            with self._server.meters.embedding(self._caller, texts) as billed:
                made = self._embedder.embed_detailed(texts, **options)
                billed.tokens = made.usage.tokens
                return made
        except HTTPException as refused:  # 429
            raise ToolError(refused.detail) from None


@contextmanager
def _named(datasets: Callable[[], list[str]]) -> Iterator[None]:
    """The error of a dataset that is not there, with the names of those that are."""
    try:
        yield
    except NotFound as error:
        if error.advice != "list_datasets":
            raise
        raise ToolError(f"{said(error)}; {_known(datasets())}") from None


def _known(names: list[str]) -> str:
    """Which datasets a caller may name.

    >>> _known([]), _known(["default", "team-a"])
    ('none can be named here yet', 'those that are: default, team-a')
    """
    more = f" and {len(names) - _NAMED} more: `list` what=datasets names them" if len(names) > _NAMED else ""
    return f"those that are: {', '.join(names[:_NAMED])}{more}" if names else "none can be named here yet"


def _caller(request: Any, right: str) -> Any:
    """Who the server's frame found to be calling; refused where it found nobody, or the right is missing."""
    caller = None if request is None else request.scope.get("unabridged.caller")
    if caller is None or not caller.may(right):
        raise ToolError(f"this key lacks the right {right!r}")
    return caller
