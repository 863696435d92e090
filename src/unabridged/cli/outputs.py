"""Where the rows of ``embed`` go: a file, JSON lines on standard output, or a table on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from unabridged.cli.console import number, plural, put

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.cli.rows import Outcome
    from unabridged.jobs.sink import Sink

__all__ = ["JsonLines", "Listing", "Output", "ToFile", "open_output"]


class Output(Protocol):
    """Takes batches of outcomes; ``fingerprint`` and ``width`` are those of their vectors."""

    def write(self, outcomes: list[Outcome], fingerprint: str, width: int) -> None:
        """Take a batch."""
        ...

    def commit(self) -> bool:
        """All is there; whether there was anything to write."""
        ...

    def abort(self) -> None:
        """Leave nothing behind."""
        ...


def open_output(target: Path | None, *, lines: bool, chunks: bool, force: bool) -> Output:
    """The output that is meant: ``lines`` asks for JSON lines on a terminal too."""
    if target is not None:
        return ToFile(target, chunks=chunks, force=force)
    return JsonLines(chunks=chunks) if lines or not sys.stdout.isatty() else Listing()


class ToFile:
    """A sink that is opened with the first vector: before there is one, there is nothing to write."""

    def __init__(self, target: Path, *, chunks: bool, force: bool) -> None:
        self._target, self._chunks, self._force = target, chunks, force
        self._waiting: list[Outcome] = []
        self._sink: Sink | None = None

    def write(self, outcomes: list[Outcome], fingerprint: str, width: int) -> None:
        """Write, or keep until there is a vector."""
        from unabridged.cli.rows import table
        from unabridged.jobs.sink import open_sink

        self._waiting += outcomes
        if self._sink is None:
            if not any(outcome.has_vector for outcome in outcomes):
                return
            self._sink = open_sink(self._target, fingerprint=fingerprint, width=width, force=self._force)
        self._sink.write(table(self._waiting, width, chunks=self._chunks))
        self._waiting = []

    def commit(self) -> bool:
        """Put the file in its place."""
        if self._sink is None:
            return False
        self._sink.commit()
        return True

    def abort(self) -> None:
        """Remove what was begun."""
        if self._sink is not None:
            self._sink.abort()


class JsonLines:
    """A line a row on standard output, as soon as its batch is done."""

    def __init__(self, *, chunks: bool) -> None:
        self._chunks = chunks

    def write(self, outcomes: list[Outcome], fingerprint: str, width: int) -> None:
        """Print a batch."""
        from unabridged.cli.rows import table
        from unabridged.jobs.sink import json_lines

        put("".join(json_lines(table(outcomes, max(width, 1), chunks=self._chunks), fingerprint)))

    def commit(self) -> bool:
        """It is out already."""
        return True

    def abort(self) -> None:
        """What is out is out; each line is whole."""


class Listing:
    """What became of each text, for people; no vectors."""

    def write(self, outcomes: list[Outcome], fingerprint: str, width: int) -> None:
        """Print a batch."""
        for outcome in outcomes:
            found = outcome.result
            tokens = 0 if found is None else found.tokens
            chunks = plural(0 if found is None else found.chunk_count, "chunk")
            put(f"{outcome.status:9} {number(tokens):>11} tokens {chunks:>14}  {outcome.id}\n")

    def commit(self) -> bool:
        """Say how to have the vectors."""
        put("(-o FILE keeps the vectors: .parquet, .npy, .jsonl or .lance)\n")
        return True

    def abort(self) -> None:
        """Nothing to leave behind."""
