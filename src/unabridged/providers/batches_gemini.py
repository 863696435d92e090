"""Gemini's batches: a file of single requests, an operation to watch, a file of answers.

Each line of the input embeds one text, so a request of ours becomes several lines, and a text that is
refused leaves the others alone.
Sources: https://ai.google.dev/gemini-api/docs/batch-api, https://ai.google.dev/api/batch-api,
https://ai.google.dev/api/files
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.errors import ProviderError
from unabridged.providers.batches import BatchLimits, BatchResult, BatchState, json_rows, refusal
from unabridged.providers.http import Answer, Call, encoded
from unabridged.providers.replies import bad_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from unabridged.providers.batches import BatchItem, BatchStatus
    from unabridged.providers.gemini import GeminiProvider

__all__ = ["GeminiBatches"]

_STATES: Mapping[str, BatchStatus] = {
    "SUCCEEDED": "done",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
}
_PATIENCE = 3600.0
_PAGES = 20


class GeminiBatches:
    """The developer API's batches, within 24 hours (48 at the most)."""

    # A file may have 2 GB; no number of lines is given, so the one that others have keeps a batch handy.
    limits = BatchLimits(requests=50_000, inputs=50_000, bytes=2_000_000_000)

    def __init__(self, provider: GeminiProvider) -> None:
        self._provider = provider
        self._http = provider.http

    def lines(self, item: BatchItem) -> list[bytes]:
        """One line a text; its key is the request's id and the text's position."""
        parts = self._provider.call(item.request).body["requests"]
        return [encoded({"key": f"{item.id}-{at}", "request": part}) for at, part in enumerate(parts)]

    def upload(self, content: bytes, name: str) -> str:
        """The Files API, with what it is and the file in one request."""
        mark = secrets.token_hex(16)
        about = encoded({"file": {"displayName": name, "mimeType": "application/jsonl"}})
        body = b"".join(
            (
                f"--{mark}\r\ncontent-type: application/json; charset=utf-8\r\n\r\n".encode(),
                about,
                f"\r\n--{mark}\r\ncontent-type: application/jsonl\r\n\r\n".encode(),
                content,
                f"\r\n--{mark}--\r\n".encode(),
            )
        )
        call = Call(
            self._beside("upload", "files"),
            content=(body, f"multipart/related; boundary={mark}"),
            query={"uploadType": "multipart"},
            headers={"x-goog-upload-protocol": "multipart"},
            patience=_PATIENCE,
        )
        answer = self._http.call(call)
        about_it = answer.data.get("file") if isinstance(answer.data, dict) else None
        found = about_it.get("name") if isinstance(about_it, dict) else None
        if not isinstance(found, str):
            self._http.refuse(answer, "no file in the answer")
        return found

    def create(self, file: str, items: tuple[BatchItem, ...], *, key: str) -> BatchState:
        """``:asyncBatchEmbedContent``; the key is its display name, by which it can be found."""
        model = self._provider.call(items[0].request).path.partition(":")[0]
        body = {"batch": {"displayName": key, "inputConfig": {"fileName": file}}}
        return self._state(self._http.call(Call(f"{model}:asyncBatchEmbedContent", body=body)))

    def find(self, key: str) -> BatchState | None:
        """Look through the newest batches for one with our name."""
        query = {"pageSize": "100"}
        for _ in range(_PAGES):
            answer = self._http.call(Call("/batches", method="GET", query=query))
            if not isinstance(answer.data, dict):
                self._http.refuse(answer, "no list of batches in the answer")
            for row in answer.data.get("operations") or []:
                if isinstance(row, dict) and (row.get("metadata") or {}).get("displayName") == key:
                    return self._state(Answer(200, {}, row))
            if not answer.data.get("nextPageToken"):
                return None
            query["pageToken"] = str(answer.data["nextPageToken"])
        return None

    def check(self, batch: str) -> BatchState:
        """The operation; a failed one carries its error, which is no failure of asking."""
        return self._state(self._http.call(Call(f"/{batch}", method="GET", whole=True)))

    def cancel(self, batch: str) -> None:
        """``:cancel``."""
        self._http.call(Call(f"/{batch}:cancel", body={}))

    def results(self, state: BatchState, items: tuple[BatchItem, ...], folder: Path) -> Iterator[BatchResult]:
        """The answers, by their keys; in the order of the requests where a line has none."""
        places = {f"{item.id}-{at}": (item, at) for item in items for at in range(len(item.request.texts))}
        order = list(places)
        for number, row in enumerate(self._rows(state, folder)):
            named = row.get("key") or (row.get("metadata") or {}).get("key")
            place = places.get(str(named) if named else order[number] if number < len(order) else "")
            if place is not None and not _not_reached(row):
                item, at = place
                yield BatchResult(item.id, self._read(item, at, row), at)

    def discard(self, files: tuple[str, ...]) -> None:
        """Delete files; those that the batch wrote go by themselves after two days, and cannot be deleted sooner."""
        for name in files:
            self._http.call(Call(f"/{name}", method="DELETE"))

    def _rows(self, state: BatchState, folder: Path) -> Iterator[dict[str, Any]]:
        for name in state.files:
            path = folder / f"{name.rpartition('/')[2]}.jsonl"
            call = Call(self._beside("download", f"{name}:download"), method="GET", query={"alt": "media"})
            with path.open("wb") as file:
                self._http.download(replace(call, patience=_PATIENCE), file)
            try:
                yield from json_rows(path, self._provider.name)
            finally:
                path.unlink(missing_ok=True)  # it holds vectors
        yield from state.inline or ()

    def _read(self, item: BatchItem, at: int, row: dict[str, Any]) -> Any:
        one = replace(item.request, texts=(item.request.texts[at],))
        response, error = row.get("response"), row.get("error")
        if error is None and isinstance(response, dict):
            body = {"embeddings": [response.get("embedding")], "usageMetadata": response.get("usageMetadata")}
            try:
                return self._provider.finished(one, self._provider.read(one, Answer(200, {}, body)))
            except ProviderError as refused:
                return refused
        status = error.get("code") if isinstance(error, dict) else None
        status = status if isinstance(status, int) and status >= 100 else 400  # a gRPC code says less than the words
        return refusal(status, {"error": error}, self._provider, fallback="a text of the batch has no answer")

    def _state(self, answer: Answer) -> BatchState:
        row = answer.data
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise bad_reply("no batch in the answer", provider=self._provider.name)
        about = row.get("metadata") or {}
        counts = about.get("batchStats") or {}
        error = row.get("error")
        status: BatchStatus = _STATES.get(str(about.get("state")).rpartition("_")[2], "running")
        if error and status in {"running", "failed"}:
            status = "failed"
        output = row.get("response") or about.get("output") or {}
        inline = (output.get("inlinedResponses") or {}).get("inlinedResponses")
        return BatchState(
            row["name"],
            status,
            _number(counts.get("requestCount")),
            _number(counts.get("successfulRequestCount")),
            _number(counts.get("failedRequestCount")),
            files=(str(output["responsesFile"]),) if output.get("responsesFile") else (),
            inline=inline,
            error=refusal(400, {"error": error or {}}, self._provider, fallback="failed")
            if status == "failed"
            else None,
        )

    def _beside(self, verb: str, path: str) -> str:
        """A route of the Files API: the verb stands before the version, ``/upload/v1beta/files``."""
        head, _, version = self._http.address.path.rpartition("/")
        return f"/{head}/{verb}/{version}/{path}" if head else f"//{verb}/{version}/{path}"


def _not_reached(row: Mapping[str, Any]) -> bool:
    """Whether a text was cancelled, or its time was up: the gRPC codes 1 and 4."""
    error = row.get("error")
    return isinstance(error, dict) and error.get("code") in {1, 4}


def _number(given: object) -> int | None:
    """Counts come as strings: 64 bits do not fit a JavaScript number."""
    return int(given) if isinstance(given, int | str) and str(given).isdigit() else None
