"""Where a command works: a memory, the model of its vectors, and the chat model that it asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unabridged.cli.memory_options import Dataset, Uri, chosen_embedder, opened
from unabridged.cli.options import Config, Model  # noqa: TC001 - typer reads annotations as it runs

if TYPE_CHECKING:
    from unabridged.cli.options import Chat
    from unabridged.memory import Memory

__all__ = ["Where"]


@dataclass(frozen=True, slots=True)
class Where:
    """A memory, and the model of its vectors."""

    panel: ClassVar[str] = "Memory and model"

    uri: Uri = None
    dataset: Dataset = "default"
    config: Config = None
    model: Model = None

    def opened(self, chat: Chat | None = None, *, searches: bool = False, **options: Any) -> Memory:
        """Open it, as the options and the configuration say; ``searches``: with its web search."""
        options["embedder"] = chosen_embedder(self.config, self.model, default=True)
        if chat is not None:
            options["chat"] = chat.opened(self.config)
        if not self.config:
            return opened(self.uri, self.dataset, **options)
        from unabridged.config import load_config
        from unabridged.config.build_recall import recall_defaults

        config = load_config(self.config)
        if searches:
            options["websearch"] = config.search()
        memory = opened(self.uri, self.dataset, config=self.config, **options)
        memory.defaults = recall_defaults(config)
        return memory.own(memory.defaults.get("rerank"))
