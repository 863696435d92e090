"""What the preview works with in one server: its folders, the documents kept, the models it may call."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.server.preview_cuts import Paid, Tools
from unabridged.server.preview_files import Folders
from unabridged.server.preview_shelf import Shelf

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["Previews", "previews_of"]

MOST_BYTES = 32 << 20  # of one file
MOST_COST_USD = 1.0  # of one preview's model calls, where no setting says otherwise
_making = threading.Lock()
_STAGE = "segment"  # of the chat model's settings


@dataclass(frozen=True, slots=True)
class Previews:
    """The preview of one server. ``max_cost_usd`` is the configured limit, which a blank one leaves in force."""

    folders: Folders = field(default_factory=lambda: Folders(()))
    shelf: Shelf = field(default_factory=Shelf)
    embedder: Paid | None = None
    llm: Paid | None = None
    max_bytes: int = MOST_BYTES
    max_cost_usd: float = MOST_COST_USD

    def close(self) -> None:
        """Give back the chat model's connections; the embedder is the server's own."""
        if self.llm is not None and hasattr(self.llm.call, "close"):
            self.llm.call.close()

    def tools(self, tokenizer: str, max_calls: int | None, max_cost_usd: float | None) -> Tools:
        """What one request may use: it can lower the configured cost, never lift it."""
        most = self.max_cost_usd if max_cost_usd is None else min(max_cost_usd, self.max_cost_usd)
        return Tools(tokenizer, self.embedder, self.llm, max_calls, most)


def previews_of(app: Starlette) -> Previews:
    """The preview of an application, made when it is first asked for."""
    with _making:  # two first requests must not get a shelf each
        found = getattr(app.state, "previews", None)
        if not isinstance(found, Previews):
            found = app.state.previews = _made(app.state.server)
        return found


def _made(server: Any) -> Previews:
    settings = server.settings
    return Previews(
        Folders(settings.folders or ()),
        embedder=_embedder(server),
        llm=_chat(server),
        max_bytes=min(MOST_BYTES, settings.max_body_bytes),
        max_cost_usd=settings.preview_max_cost,
    )


def _embedder(server: Any) -> Paid | None:
    """The configured embedder; one that runs in this process costs nothing."""
    embedder = server.embedders()
    return Paid(embedder, embedder.model, (0.0, 0.0) if embedder.provider.host == "process" else None)


def _chat(server: Any) -> Paid | None:
    """The configured chat model, if there is one, with the price of what segmenters ask."""
    asker = server.config.asker()
    return None if asker is None else Paid(asker, asker.model_of(_STAGE), asker.prices(_STAGE))
