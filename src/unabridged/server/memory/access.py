"""Who may touch which dataset: dependencies that give a route its memory, or refuse."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Query
from starlette.requests import HTTPConnection

from unabridged.advice import counted
from unabridged.memory import Memory
from unabridged.memory.memory import DATASET
from unabridged.server.auth import Caller, needs
from unabridged.server.problems import Problem
from unabridged.server.state import Server

__all__ = ["Administrator", "Dataset", "Read", "Reader", "Write", "Writer", "refuse_snapshots", "server_of"]

Dataset = Annotated[str, Query(min_length=1, description="Which dataset of the server's place.")]
Reader = Annotated[Caller, needs("read")]
Writer = Annotated[Caller, needs("write")]
Administrator = Annotated[Caller, needs("admin")]


def server_of(connection: HTTPConnection) -> Server:
    """The server whose application this is: its memories, embedders and settings."""
    server: Server = connection.app.state.server
    return server


def _opened(scope: str) -> Callable[..., Memory]:
    """A dependency: the memory of ``?dataset=``, for a caller with this right to it.

    The default dataset is there when it is first asked for; others are made with POST /v1/gb/datasets.
    """

    def depends(
        connection: HTTPConnection,
        caller: Annotated[Caller, needs(scope)],
        dataset: Dataset = DATASET,
    ) -> Memory:
        caller.require(dataset)
        return server_of(connection).memory(dataset, create=dataset == DATASET)

    return depends


def refuse_snapshots(memory: Memory, *, drop: bool) -> None:
    """Problem 409 where named states hold what is to be erased, and the caller does not let go of them."""
    named = len(memory.snapshots())
    if named and not drop:
        detail = f"{counted(named, 'snapshot holds', 'snapshots hold')} what is to be erased: pass drop_snapshots=true"
        raise Problem(409, detail, code="snapshots_hold_it", param="drop_snapshots")


Read = Annotated[Memory, Depends(_opened("read"))]
Write = Annotated[Memory, Depends(_opened("write"))]
