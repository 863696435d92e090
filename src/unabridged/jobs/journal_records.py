"""What the journal knows, as plain data: parts, blocks, failures, counts, runs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Block", "Counts", "Failure", "PartState", "RunRecord"]


@dataclass(frozen=True, slots=True)
class PartState:
    """A part of the source as the journal knows it; ``rows`` once it has been read to its end."""

    number: int
    name: str
    identity: str
    rows: int | None
    generation: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block that is done: rows ``first`` to ``after`` of its part, and the file that its vectors are staged in."""

    id: int
    part: int
    generation: int
    first: int
    after: int
    done: int
    file: str | None
    retried: bool
    published: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that has no vector, and why."""

    part: str
    row: int
    id: str
    kind: str
    reason: str
    tries: int
    passing: bool
    at: float


@dataclass(frozen=True, slots=True)
class Counts:
    """What adds up: ``rows`` read are those done, skipped as blank, and failed."""

    rows: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    tokens: int = 0
    chunks: int = 0
    blocks: int = 0
    warned: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether every row that was read is accounted for."""
        return self.rows == self.done + self.skipped + self.failed


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of the job."""

    id: int
    began: float
    ended: float | None
    status: str
    reason: str | None
    pid: int
