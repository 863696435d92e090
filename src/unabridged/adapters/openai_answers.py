"""The OpenAI SDK's answers: read, and made, by sending an outcome once more through the SDK."""

from __future__ import annotations

import base64
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from unabridged.adapters.client import Answer

if TYPE_CHECKING:
    from unabridged.adapters.bridge import Outcome

__all__ = ["answer_of", "replaying"]


def answer_of(raw: Any) -> Answer:
    """What a raw response holds; its headers are kept for the answer that is made in the end."""
    reply = raw.parse()
    headers = raw.http_response.headers.items()
    return Answer(
        [item.embedding for item in reply.data],
        tokens=getattr(getattr(reply, "usage", None), "total_tokens", None),
        model=getattr(reply, "model", None),
        indices=[item.index for item in reply.data],
        sample={k: v for k, v in headers if not k.startswith(("content-", "transfer-"))},
    )


def replaying(client: Any, outcome: Outcome, model: str, *, floats: bool) -> Any:
    """A copy of a client that asks no server, and gets this outcome with the last answer's headers."""
    headers, content = dict(outcome.sample or {}), _payload(outcome, model, floats=floats)
    httpx = _httpx(client)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=content))
    kind = httpx.AsyncClient if "Async" in type(client).__name__ else httpx.Client
    return client.copy(http_client=kind(transport=transport))


def _payload(outcome: Outcome, model: str, *, floats: bool) -> bytes:
    if floats:
        rows: list[Any] = outcome.vectors.tolist()
    else:
        rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in outcome.vectors]
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    usage = {"prompt_tokens": outcome.tokens, "total_tokens": outcome.tokens}
    reply = {"object": "list", "data": data, "model": model, "usage": usage, "unabridged": outcome.report}
    return json.dumps(reply).encode()


def _httpx(client: Any) -> Any:
    """The HTTP library that this client was made with: httpx, or httpx2."""
    bases = (kind.__module__.split(".")[0] for kind in type(client._client).__mro__)  # noqa: SLF001
    return import_module(next(name for name in bases if name.startswith("httpx")))
