"""Listen, serve, and stop well: no new request, what is under way is finished or recorded, then the end."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket as sockets
import sys
import threading
from typing import TYPE_CHECKING

import uvicorn

from unabridged.errors import ConfigError
from unabridged.server.app import create_app
from unabridged.server.keys import KeyFile, KeyRing
from unabridged.server.protocol import Bounded, most_connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from fastapi import FastAPI

    from unabridged.config import Config
    from unabridged.server.settings import ServerSettings

__all__ = ["Stopping", "listen", "serve"]

_BACKLOG = 2048
_SWITCH = 0.001  # seconds that a thread which cuts a long text may keep the event loop waiting; Python's own is 0.005
_KEEP_ALIVE = 75  # seconds: longer than proxies keep theirs, so that they, not we, close first


class Stopping(uvicorn.Server):
    """uvicorn's server; at the first signal the application hears of it, at the second all is dropped."""

    def __init__(self, app: FastAPI, settings: ServerSettings) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Bounded,
                lifespan="on",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                backlog=_BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=max(1, round(settings.stop_grace)),
            )
        )
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        self._app.state.server.stop()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while it serves; a stop that went well is no failure, so none is raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield  # a thread hears no signals
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def listen(settings: ServerSettings) -> sockets.socket:
    """A socket on the address of the settings.

    Raises :class:`~unabridged.errors.ConfigError` where others could reach it and no key keeps them out,
    and where the address cannot be had.
    """
    ring = KeyRing(KeyFile(settings.keys_path), [key.get_secret_value() for key in settings.keys or ()])
    if settings.is_exposed and not ring:
        raise ConfigError(
            "server.host",
            f"{settings.host} can be reached by others, which needs keys: `unabridged serve keys add NAME`",
        )
    family = sockets.AF_INET6 if ":" in settings.host else sockets.AF_INET
    try:
        return sockets.create_server((settings.host.strip("[]"), settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        problem = f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}"
        raise ConfigError("server.port", problem) from None


def serve(config: Config, settings: ServerSettings, socket: sockets.socket, *, told: Callable[[str], None]) -> None:
    """Serve on a socket until a signal comes; ``told`` gets a line when requests are taken."""
    app = create_app(config, settings=settings)
    server = Stopping(app, settings)
    host, port = socket.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    keys = "keys are needed" if app.state.server.needs_keys else "no keys: this machine only"
    app.state.server.started = lambda: told(f"unabridged serves at http://{shown}:{port} ({keys}); Ctrl-C stops it")
    # Its errors come with tracebacks, whose words may be a caller's; ours say kind, place and request.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    sys.setswitchinterval(_SWITCH)
    Bounded.most = most_connections()
    try:
        server.run(sockets=[socket])
    except SystemExit as end:  # uvicorn's way of saying that the start failed
        if error := app.state.server.failed:
            raise error from None
        raise RuntimeError(f"the server ended with code {end.code}") from None
