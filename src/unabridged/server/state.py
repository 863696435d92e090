"""What all requests share: settings, keys, room, the models by name, and the memories that are open."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from unabridged.errors import NotFound
from unabridged.server.headers import Strangers
from unabridged.server.hot import Hot
from unabridged.server.keys import KeyFile, KeyRing
from unabridged.server.limits import Meters
from unabridged.server.metrics import Metrics
from unabridged.server.room import Room
from unabridged.server.settings import data_folder
from unabridged.server.upstreams import Upstreams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unabridged.config import Config
    from unabridged.memory import Memory
    from unabridged.memory.remember.pending import Dispatcher, PendingReport
    from unabridged.server.settings import ServerSettings

__all__ = ["Server"]

_WRITE_USE = 1.0  # seconds of counted use that a crash may lose
_THREADS = 32  # for what blocks: counting and cutting texts, the caches, the memory

_log = logging.getLogger("unabridged.server")


class Server:
    """One for each application, at ``app.state.server``.

    ``embedders(model)`` is the embedder of a model's name, ``memory(dataset)`` an open memory.
    """

    def __init__(self, config: Config, settings: ServerSettings) -> None:
        self.settings = settings
        self.config = _with_a_place(config)
        self.room = Room(settings)
        self.metrics = Metrics()
        self.strangers = Strangers(settings)
        self.keys = KeyRing(KeyFile(settings.keys_path), [key.get_secret_value() for key in settings.keys or ()])
        self.hot = Hot(settings.hot_bytes)
        self.embedders = Upstreams(self.config, settings, forgotten=self.hot.clear)
        self.meters = Meters(settings, settings.keys_path.with_name("use.sqlite"))
        self._writer: asyncio.Task[None] | None = None
        self.ready = False
        self.started: Callable[[], None] | None = None  # told when requests are taken
        self.failed: Exception | None = None  # what ended the start
        self._locked = settings.is_exposed
        self._memories: dict[str, Memory] = {}
        self._dispatchers: dict[str, Dispatcher] = {}
        self._opening = threading.Lock()
        self._under_way: set[threading.Event] = set()
        self._changed = threading.Condition()

    @property
    def needs_keys(self) -> bool:
        """Whether callers must show a key: off on loopback only, and never off again once there were keys."""
        if not self._locked and self.keys:
            self._locked = True
        return self._locked

    def memory(self, dataset: str = "default", *, create: bool = False) -> Memory:
        """The memory of a dataset, opened once. It blocks: call it from a thread.

        Raises :class:`~unabridged.errors.NotFound` for a dataset that is not there, unless it is to be made.
        """
        with self._opening:
            found = self._memories.get(dataset)
            if found is None:
                try:
                    found = self.config.memory(dataset=dataset, create=create, embedder=self.embedders())
                except NotFound:  # without the name: a caller may have sent anything as one
                    raise NotFound("no dataset of that name is in this place", advice="list_datasets") from None
                self._memories[dataset] = found
                self._dispatch(found)
            return found

    def _dispatch(self, memory: Memory) -> None:
        """Work off what waits for its graph, now and each minute, where there is a model that can (SPEC K7)."""
        if memory.asker is not None:
            from unabridged.memory.remember.pending import Dispatcher

            self._dispatchers[memory.name] = Dispatcher(memory, told=_told).start()

    def wake(self, dataset: str) -> None:
        """Work off what waits in a dataset now."""
        if dispatcher := self._dispatchers.get(dataset):
            dispatcher.wake()

    def forget(self, dataset: str) -> None:
        """Close the memory of a dataset, before it is dropped."""
        with self._opening:
            found = self._memories.pop(dataset, None)
            dispatcher = self._dispatchers.pop(dataset, None)
        if dispatcher is not None:
            dispatcher.stop()
        if found is not None:
            found.close()

    @property
    def place(self) -> str:
        """The folder or URI of the memory."""
        return str(self.config.db_path)

    @contextmanager
    def under_way(self) -> Iterator[threading.Event]:
        """For work that outlives its request, or takes long: the event is set when the server stops.

        Whoever works looks at it between two steps, records how far it came, and ends.
        """
        cancel = threading.Event()
        with self._changed:
            self._under_way.add(cancel)
        if self.room.closing:
            cancel.set()
        try:
            yield cancel
        finally:
            with self._changed:
                self._under_way.discard(cancel)
                self._changed.notify_all()

    async def start(self) -> None:
        """Open what every request needs, so that what is wrong is told at once."""
        self.room.closing = False  # an application may be started again
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(_THREADS, "unabridged-server"))
        try:
            await asyncio.to_thread(self.embedders.open)
        except Exception as error:
            self.failed = error
            raise
        self._writer = asyncio.create_task(self._write_use())
        self.ready = True
        if self.started is not None:
            self.started()

    def stop(self) -> None:
        """No new request from now on; what works in the background is asked to come to an end.

        Called from a signal's handler, so it waits for no lock.
        """
        self.ready = False
        self.room.closing = True
        for cancel in tuple(self._under_way):
            cancel.set()

    async def close(self) -> None:
        """Wait for what is under way, then give everything back."""
        self.stop()
        await self._quiet()
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.to_thread(self.meters.write, self.meters.collect())
        for dataset in tuple(self._memories):
            await asyncio.to_thread(self.forget, dataset)
        await self.embedders.aclose()

    async def _quiet(self) -> None:
        """Until nothing is under way, or the grace is over."""
        await asyncio.to_thread(self._wait)
        if self._under_way:
            _log.warning("stopping with %d pieces of work unfinished", len(self._under_way))

    async def _write_use(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_USE)
            if rows := self.meters.collect():
                await asyncio.to_thread(self.meters.write, rows)

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way, self.settings.stop_grace)


def _told(report: PendingReport | Exception) -> None:
    """What a pass over waiting texts came to, where there is anything to tell."""
    if isinstance(report, Exception):
        _log.warning("waiting texts: %s", type(report).__name__)
    elif report.done or report.failed:
        _log.info("waiting texts: %d done, %d failed, %d held", report.done, report.failed, report.held)


def _with_a_place(config: Config) -> Config:
    """The configuration, with the user's own folder where it names no place for the memory."""
    if config.db_path is not None:
        return config
    place = str(data_folder() / "memory")
    return replace(config, settings=config.settings.model_copy(update={"db_path": place}))
