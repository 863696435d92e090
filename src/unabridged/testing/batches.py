"""For tests: the batch APIs of OpenAI, Gemini and Voyage on 127.0.0.1, with states and faults as scripted.

It takes files, makes batches of them, lets them run for a number of looks, and ends them as it is told. It
remembers which text was paid for how often, which is what a test of a resumed job wants to know.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from unabridged.errors import ConfigError
from unabridged.providers.hashing import HashingTokenizer
from unabridged.testing.server import Exchange, HttpServer, Listening
from unabridged.testing.vectors import vector_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["BatchServer", "BatchTrouble", "ServedBatch"]

Ending = Literal["completed", "expired", "cancelled", "failed"]
Route = Literal["upload", "create", "check", "list", "download", "delete", "cancel"]

_ROUTES: tuple[tuple[str, str, Route], ...] = (
    ("POST", r"/v1/files|/upload/v1beta/files", "upload"),
    ("POST", r"/v1/batches|/v1beta/models/[^:]+:asyncBatchEmbedContent", "create"),
    ("POST", r"/v1/batches/[^/]+/cancel|/v1beta/batches/[^:]+:cancel", "cancel"),
    ("GET", r"/v1/batches/[^/]+|/v1beta/batches/[^/]+", "check"),
    ("GET", r"/v1/batches|/v1beta/batches", "list"),
    ("GET", r"/v1/files/[^/]+/content|/download/v1beta/files/[^:]+:download", "download"),
    ("DELETE", r"/v1/files/[^/]+|/v1beta/files/[^/]+", "delete"),
)
_BASES = {"openai": "/v1", "voyage": "/v1", "gemini": "/v1beta"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTrouble:
    """One thing that goes wrong on a route, ``times`` times after the first ``after`` calls of it.

    ``"status"`` answers so; ``"drop"`` hangs up before anything is done, ``"lost"`` hangs up after it was
    done, so that a client cannot know.
    """

    route: Route
    kind: Literal["status", "drop", "lost"] = "status"
    status: int = 503
    body: str = "upstream connect error"
    times: int = 1
    after: int = 0


@dataclass(slots=True, eq=False)
class ServedBatch:
    """A batch as the server has it: its requests (an id and the texts of each), and how far it is."""

    id: str
    key: str
    file: str
    lines: list[tuple[str, list[str], Mapping[str, Any]]] = field(repr=False)
    looks: int = 0
    status: str = "in_progress"
    output: str | None = None
    errors: str | None = None
    refused: str | None = None


class BatchServer(Listening):
    """A batch API as a provider serves it.

    A batch is over at the look after ``looks`` others, and ends as ``ending`` (or the next of several) says;
    unless ``completed``, ``share`` of its requests were answered before. ``refuse(text)`` gives a status and a
    message for a text that is not taken, ``enqueued`` is how many texts may be under way at once,
    ``shuffled`` puts answers in any order, ``lose`` leaves out so many answers. ``keys`` are those accepted.

    >>> with BatchServer("voyage") as server:
    ...     server.url.endswith("/v1"), server.paid.total()
    (True, 0)
    """

    def __init__(
        self,
        dialect: Literal["openai", "gemini", "voyage"] = "openai",
        *,
        looks: int = 1,
        ending: Ending | Sequence[Ending] = "completed",
        share: float = 0.5,
        dimensions: int = 32,
        refuse: Callable[[str], tuple[int, str] | None] | None = None,
        enqueued: int | None = None,
        shuffled: bool = True,
        lose: int = 0,
        keys: Collection[str] | None = None,
        troubles: Sequence[BatchTrouble] = (),
        port: int = 0,
    ) -> None:
        if dialect not in _BASES:
            raise ConfigError("dialect", f"found {dialect!r}, known are {', '.join(sorted(_BASES))}")
        self.dialect = dialect
        self.batches: list[ServedBatch] = []
        self.paid: Counter[str] = Counter()
        self.calls: Counter[Route] = Counter()
        self.files: dict[str, bytes] = {}
        self.keys = keys
        self.looks = looks
        self._endings = [ending] if isinstance(ending, str) else list(ending)
        self._share, self._dimensions, self._refuse = share, dimensions, refuse or (lambda text: None)
        self._enqueued, self._shuffled, self._lose = enqueued, shuffled, lose
        self._troubles = [(trouble, [0]) for trouble in troubles]
        self._chance = random.Random(0)
        self._count = HashingTokenizer().count
        self._server = HttpServer(self._handle, port=port)

    @property
    def url(self) -> str:
        """The base URL that a client is given."""
        return f"http://127.0.0.1:{self._server.port}{_BASES[self.dialect]}"

    # Everything below runs on the server's thread.

    def _handle(self, exchange: Exchange) -> None:
        parts = urlsplit(exchange.target)
        route = next(
            (r for verb, path, r in _ROUTES if verb == exchange.method and re.fullmatch(path, parts.path)), None
        )
        if route is None:
            self._answer(exchange, 404, {"error": {"message": "no such route"}})
            return
        trouble = self._struck(route)
        self.calls[route] += 1
        if trouble is not None and trouble.kind == "status":
            exchange.reply(trouble.status, trouble.body.encode())
        elif trouble is not None and trouble.kind == "drop":
            exchange.drop()
        elif self.keys is not None and self._key(exchange) not in self.keys:
            self._answer(exchange, 401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
        else:
            status, body = getattr(self, f"_{route}")(exchange, parts.path, dict(parse_qsl(parts.query)))
            if trouble is not None:
                exchange.drop()
            else:
                self._answer(exchange, status, body)

    def _struck(self, route: Route) -> BatchTrouble | None:
        for trouble, struck in self._troubles:
            if trouble.route == route and struck[0] < trouble.times and self.calls[route] >= trouble.after:
                struck[0] += 1
                return trouble
        return None

    def _key(self, exchange: Exchange) -> str:
        headers = exchange.headers
        return headers.get("x-goog-api-key") or headers.get("authorization", "").partition(" ")[2]

    def _answer(self, exchange: Exchange, status: int, body: Any) -> None:
        exchange.reply(status, body if isinstance(body, bytes) else json.dumps(body).encode())

    def _upload(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        head = b"content-type: " + exchange.headers["content-type"].encode() + b"\r\n\r\n"
        parts = message_from_bytes(head + exchange.body).get_payload()
        content = parts[-1].get_payload(decode=True)  # type: ignore[index,union-attr]
        name = self._store(content.rstrip(b"\r\n") + b"\n")  # type: ignore[union-attr]
        if self.dialect == "gemini":
            return 200, {"file": {"name": name, "mimeType": "application/jsonl", "state": "ACTIVE"}}
        return 200, {"id": name, "object": "file", "bytes": len(self.files[name]), "purpose": "batch"}

    def _store(self, content: bytes) -> str:
        name = f"file{'s/' if self.dialect == 'gemini' else '-'}{len(self.files) + self.calls['delete']:04}"
        self.files[name] = content
        return name

    def _create(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        asked = json.loads(exchange.body)
        if self.dialect == "gemini":
            file, key = asked["batch"]["inputConfig"]["fileName"], asked["batch"]["displayName"]
        else:
            file, key = asked["input_file_id"], asked["metadata"]["unabridged"]
        if file not in self.files:
            return 400, {"error": {"message": f"no file {file}", "code": "invalid_request_error"}}
        common = asked.get("request_params") or {}
        lines = [self._line(json.loads(row), common) for row in self.files[file].splitlines() if row.strip()]
        number = f"{len(self.batches):04}"
        made = ServedBatch(f"batches/{number}" if self.dialect == "gemini" else f"batch_{number}", key, file, lines)
        under_way = sum(len(t) for b in self.batches if b.status == "in_progress" for _, t, _ in b.lines)
        if self._enqueued is not None and under_way + sum(len(t) for _, t, _ in lines) > self._enqueued:
            made.status, made.refused = (
                "failed",
                f"Enqueued token limit reached. Limit: {self._enqueued} enqueued tokens.",
            )
        self.batches.append(made)
        return 200, self._shown(made)

    def _line(self, row: Mapping[str, Any], common: Mapping[str, Any]) -> tuple[str, list[str], Mapping[str, Any]]:
        if self.dialect == "gemini":
            return row["key"], [row["request"]["content"]["parts"][0]["text"]], row["request"]
        given = row["body"]["input"]
        return row["custom_id"], [given] if isinstance(given, str) else given, {**common, **row["body"]}

    def _check(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        named = path.removeprefix(_BASES[self.dialect]).removeprefix("/").removeprefix("batches/")
        batch = next((one for one in self.batches if one.id.removeprefix("batches/") == named), None)
        if batch is None:
            return 404, {"error": {"message": f"No batch found with id '{named}'."}}
        batch.looks += 1
        if batch.status == "in_progress" and batch.looks > self.looks:
            self._end(batch)
        return 200, self._shown(batch)

    def _list(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        """Newest first, two a page, so that paging is seen."""
        newest = self.batches[::-1]
        after = query.get("pageToken") or query.get("after")
        start = next((at + 1 for at, one in enumerate(newest) if one.id == after), 0)
        page, more = newest[start : start + 2], len(newest) > start + 2
        rows = [self._shown(one) for one in page]
        if self.dialect == "gemini":
            return 200, {"operations": rows, **({"nextPageToken": page[-1].id} if more else {})}
        return 200, {"object": "list", "data": rows, "has_more": more}

    def _cancel(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        named = re.findall(r"batches/([^/:]+)", path)[0]
        batch = next(one for one in self.batches if one.id.removeprefix("batches/") == named)
        if batch.status == "in_progress":
            self._endings.insert(0, "cancelled")
            self._end(batch)
        return 200, {} if self.dialect == "gemini" else self._shown(batch)

    def _download(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        found = self.files.get(re.findall(r"(file-\d+|files/\d+)", path)[-1])
        return (404, {"error": {"message": "No such File object"}}) if found is None else (200, found)

    def _delete(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        self.files.pop(re.findall(r"(file-\d+|files/\d+)", path)[-1], None)
        return 200, {} if self.dialect == "gemini" else {"deleted": True}

    def _end(self, batch: ServedBatch) -> None:
        """Answer what the script says, and write both files."""
        batch.status = self._endings.pop(0) if len(self._endings) > 1 else self._endings[0]
        if batch.status == "failed":
            batch.refused = "the batch could not be processed"
            return
        reached = len(batch.lines) if batch.status == "completed" else round(len(batch.lines) * self._share)
        good, bad = [], []
        for at, line in enumerate(batch.lines):
            refused = next(filter(None, map(self._refuse, line[1])), None)
            if at >= reached:
                bad.append(self._unreached(line[0], batch.status))
            elif refused is not None:
                bad.append(self._refusal(line[0], *refused))
            else:
                self.paid.update(line[1])
                good.append(self._reply(*line))
        if self._shuffled:
            self._chance.shuffle(good)
        good = good[self._lose :]
        if self.dialect == "gemini":
            good, bad = good + bad, []
        batch.output = self._store(_lines(good)) if good else None
        batch.errors = self._store(_lines(bad)) if bad else None

    def _reply(self, name: str, texts: list[str], body: Mapping[str, Any]) -> dict[str, Any]:
        width = body.get("dimensions") or body.get("output_dimension") or body.get("outputDimensionality")
        vectors = [vector_for(text, width or self._dimensions) for text in texts]
        tokens = sum(map(self._count, texts))
        if self.dialect == "gemini":
            values = {"embedding": {"values": vectors[0].tolist()}, "usageMetadata": {"promptTokenCount": tokens}}
            return {"key": name, "response": values}
        shaped: list[Any] = [np.asarray(v, "<f4").tolist() for v in vectors]
        if body.get("encoding_format") == "base64":
            shaped = [base64.b64encode(np.asarray(v, "<f4").tobytes()).decode() for v in vectors]
        data = [{"object": "embedding", "index": at, "embedding": v} for at, v in enumerate(shaped)]
        answer = {"object": "list", "data": data, "model": body.get("model"), "usage": {"total_tokens": tokens}}
        return {"id": f"req-{name}", "custom_id": name, "response": {"status_code": 200, "body": answer}, "error": None}

    def _refusal(self, name: str, status: int, message: str) -> dict[str, Any]:
        if self.dialect == "gemini":
            return {"key": name, "error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
        body = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
        return {"custom_id": name, "response": {"status_code": status, "body": body}, "error": None}

    def _unreached(self, name: str, status: str) -> dict[str, Any]:
        if self.dialect == "gemini":
            return {"key": name, "error": {"code": 1, "message": "The operation was cancelled."}}
        error = {"code": f"batch_{status}", "message": "This request could not be executed in time."}
        return {"custom_id": name, "response": None, "error": error}

    def _shown(self, batch: ServedBatch) -> dict[str, Any]:
        total = len(batch.lines)
        if self.dialect == "gemini":
            return self._operation(batch, total)
        errors = None
        if batch.refused:
            code = "token_limit_exceeded" if "Enqueued" in batch.refused else "invalid_request"
            errors = {"object": "list", "data": [{"code": code, "message": batch.refused, "line": None}]}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/embeddings",
            "status": batch.status,
            "input_file_id": batch.file,
            "output_file_id": batch.output,
            "error_file_id": batch.errors,
            "errors": errors,
            "request_counts": {"total": total, "completed": 0 if batch.output is None else total, "failed": 0},
            "metadata": {"unabridged": batch.key},
            "expires_at": 4_000_000_000,
        }

    def _operation(self, batch: ServedBatch, total: int) -> dict[str, Any]:
        state = {"completed": "SUCCEEDED", "in_progress": "RUNNING"}.get(batch.status, batch.status.upper())
        about = {"state": f"BATCH_STATE_{state}", "displayName": batch.key, "batchStats": {"requestCount": str(total)}}
        shown: dict[str, Any] = {"name": batch.id, "metadata": about}
        if batch.refused:
            code, status = (429, "RESOURCE_EXHAUSTED") if "Enqueued" in batch.refused else (3, "INVALID_ARGUMENT")
            return {**shown, "done": True, "error": {"code": code, "message": batch.refused, "status": status}}
        if batch.output is not None:
            shown |= {"done": True, "response": {"responsesFile": batch.output}}
        return shown


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
