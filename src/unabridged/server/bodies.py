"""A request's body as it comes in: no larger than allowed, no slower, and all of them together within bounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Message, Receive

    from unabridged.server.room import Place
    from unabridged.server.settings import ServerSettings

__all__ = ["Body"]


class Body:
    """Counts and times what comes in; :meth:`receive` is what the route gets."""

    def __init__(self, receive: Receive, headers: Mapping[str, str], settings: ServerSettings, place: Place) -> None:
        self._receive = receive
        self._most = settings.max_body_bytes
        self._pause = settings.body_timeout
        self._place = place
        self._seen = 0
        self._ended = False
        if headers.get("content-encoding", "identity").lower() != "identity":
            detail = "a body is taken as it is and never unpacked: send it without Content-Encoding"
            raise Problem(415, detail, code="content_encoding")
        told = headers.get("content-length", "")
        self._told = int(told) if told.isdecimal() and len(told) < 19 else 0
        if self._told > self._most:
            raise self._too_large()
        place.hold(self._told)

    async def receive(self) -> Message:
        """The next piece."""
        if self._ended:
            return await self._receive()  # only the news that the client has gone is left
        try:
            async with asyncio.timeout(self._pause):
                message = await self._receive()
        except TimeoutError:
            detail = f"no more of the body came within {self._pause:g} s"
            raise Problem(408, detail, code="body_timeout", headers={"connection": "close"}) from None
        self._ended = not message.get("more_body", False)
        self._seen += len(message.get("body", b""))
        if self._seen > self._most:
            raise self._too_large()
        if self._seen > self._told:  # it came without its length
            self._place.hold(self._seen - self._told)
            self._told = self._seen
        return message

    def _too_large(self) -> Problem:
        detail = f"the body is over the limit of {self._most} bytes (server.maxBodyBytes)"
        return Problem(413, detail, code="body_too_large", headers={"connection": "close"})
