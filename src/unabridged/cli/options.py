"""Options that several commands have: declared once, so that they are called, and explained, alike everywhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from unabridged.errors import ConfigError

__all__ = [
    "BaseUrl",
    "Chat",
    "ChunkVectors",
    "Concurrency",
    "Config",
    "Dimensions",
    "Encoding",
    "Force",
    "Hidden",
    "Json",
    "MaxTokens",
    "Model",
    "OverlapTokens",
    "Quiet",
    "Timeout",
    "Yes",
]

Config = Annotated[str | None, typer.Option("--config", "-c", envvar="UNABRIDGED_CONFIG", help="A plugin JSON.")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="PROVIDER/MODEL of vectors, such as openai/text-embedding-3-small.")
]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Address of the model's endpoint.")]
Dimensions = Annotated[
    int | None,
    typer.Option("--dimensions", "-d", min=1, max=1_000_000, help="Width of the vectors (default: the model's own)."),
]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", min=1, help="Largest chunk of a long text (default: 70 % of the model's limit)."),
]
OverlapTokens = Annotated[
    int | None,
    typer.Option("--overlap-tokens", min=0, help="Shared with the chunk before (default: 5 % of the limit)."),
]
Concurrency = Annotated[
    int | None,
    typer.Option("--concurrency", min=1, help="Requests in flight (default: 8; 1 for a model in the process)."),
]
Timeout = Annotated[float | None, typer.Option("--timeout", min=0.001, help="Seconds that one request may take.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace an output that exists.")]
ChunkVectors = Annotated[
    bool, typer.Option("--chunk-vectors", help="Also a row for each chunk, with its place in the text.")
]
Hidden = Annotated[bool, typer.Option("--hidden", help="Take hidden files of a folder too.")]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Of the files, such as latin-1 (default: told from the bytes).")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True, slots=True)
class Chat:
    """The chat model of a command."""

    panel: ClassVar[str] = "Chat model"

    chat: Annotated[
        str | None,
        typer.Option("--chat", help="A chat model by its name, such as gpt-5-mini; else that of --config."),
    ] = None
    chat_url: Annotated[
        str,
        typer.Option(
            "--chat-url", envvar="OPENAI_BASE_URL", help="Its OpenAI-compatible address; key: OPENAI_API_KEY."
        ),
    ] = "https://api.openai.com/v1"

    def opened(self, config: str | None) -> Any:
        """The chat that is meant, if any."""
        if self.chat is not None:
            from unabridged.providers.chat import Chat as Opened

            try:
                return Opened(self.chat, base_url=self.chat_url, api_key=os.environ.get("OPENAI_API_KEY"))
            except ConfigError as error:  # by its own words: --model is another model
                option = "--chat-url" if error.path == "base_url" else "--chat"
                raise ConfigError(option, error.problem) from None
        if config:
            from unabridged.config import load_config

            return load_config(config).asker()
        return None
