"""Openers that other processes can import."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from pathlib import Path

from unabridged import Embedder, Limit


class Remote:
    """Opens an embedder over a loopback server, in any process."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, **overrides):
        from unabridged.providers.openai import OpenAIProvider

        return Embedder(OpenAIProvider("m", base_url=self.url), **overrides)


class Deadly:
    """Opens an embedder whose first process dies, or every one that meets a certain text."""

    def __init__(self, flag, text: str | None = None) -> None:
        self.flag, self.text = str(flag), text

    def __call__(self, **overrides):
        from unabridged.providers.hashing import HashingProvider

        class Dying(HashingProvider):
            def send(self, request):
                marked = outer.text is not None and any(outer.text in text for text in request.texts)
                if marked or (outer.text is None and not Path(outer.flag).exists()):
                    Path(outer.flag).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().send(request)

        outer = self
        return Embedder(Dying(), **overrides)


class DeadlyRemote(Remote):
    """As :class:`Remote`, but the first process dies once an answer is in its cache, and before its shard is done."""

    def __init__(self, url: str, flag: str) -> None:
        super().__init__(url)
        self.flag = flag

    def __call__(self, **overrides):
        embedder = super().__call__(**overrides)
        embedder.through(self.dying, embedder.cache)
        return embedder

    def dying(self, provider):
        outer = self

        class Dying:
            sent = 0

            def __getattr__(self, name):
                return getattr(provider, name)

            def send(self, request):
                type(self).sent += 1
                if type(self).sent > 2 and not Path(outer.flag).exists():
                    Path(outer.flag).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return provider.send(request)

        return Dying()


class FullDisk:
    """Opens an embedder here, and meets a full disk in every other process."""

    def __call__(self, **overrides):
        if multiprocessing.parent_process() is not None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return Embedder("hashing", **overrides)


class Stillborn:
    """Opens an embedder here; every other process dies before it has one."""

    def __call__(self, **overrides):
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return Embedder("hashing", **overrides)


class Crowded(Remote):
    """Opens an embedder over a loopback server: two requests at once, of four texts each."""

    def __call__(self, **overrides):
        return super().__call__(**{"concurrency": 2, "limit": Limit(request_inputs=4), **overrides})


class Stubborn(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class Failing:
    """Opens an embedder whose shards end in an error that does not travel."""

    def __call__(self, **overrides):
        from unabridged.providers.hashing import HashingProvider

        class Broken(HashingProvider):
            def send(self, request):
                raise Stubborn(1, 2)

        return Embedder(Broken(), **overrides)
