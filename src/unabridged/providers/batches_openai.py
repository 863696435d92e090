"""OpenAI's batch files, and Voyage's, which are the same but for where the parameters stand.

A line of the input file is one request to ``/v1/embeddings`` with an id of ours. What was answered is in
the output file, what was refused, or not reached in time, in the error file.
Sources: https://platform.openai.com/docs/api-reference/batch, https://docs.voyageai.com/docs/batch-inference
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from unabridged.errors import ProviderError
from unabridged.providers.batches import BatchLimits, BatchResult, BatchState, json_rows, refusal
from unabridged.providers.http import Answer, Call, encoded
from unabridged.providers.replies import bad_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from unabridged.providers.batches import BatchItem, BatchStatus
    from unabridged.providers.openai import OpenAIProvider

__all__ = ["OpenAIBatches", "VoyageBatches"]

_STATES: Mapping[str, BatchStatus] = {
    "completed": "done",
    "expired": "expired",
    "partially_completed": "expired",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "failed": "failed",
}
_PATIENCE = 3600.0  # seconds for a file of up to 200 MB up, or some hundreds of MB down
_PAGES = 20  # of a hundred batches each: where one of ours from before a crash is looked for


class OpenAIBatches:
    """OpenAI's Batch API: 50,000 requests and 50,000 inputs in a file of up to 200 MB, within 24 hours."""

    limits = BatchLimits(requests=50_000, inputs=50_000, bytes=200_000_000)
    window = "24h"

    def __init__(self, provider: OpenAIProvider) -> None:
        self._provider = provider
        self._http = provider.http

    def lines(self, item: BatchItem) -> list[bytes]:
        """One line a request."""
        body = self._provider.call(item.request).body
        return [encoded({"custom_id": item.id, "method": "POST", "url": "/v1/embeddings", "body": body})]

    def upload(self, content: bytes, name: str) -> str:
        """``POST /files`` with the purpose ``batch``."""
        parts, kind = _form({"purpose": "batch"}, name, content)
        answer = self._http.call(Call("/files", content=(parts, kind), patience=_PATIENCE))
        return self._named(answer, "file")

    def create(self, file: str, items: tuple[BatchItem, ...], *, key: str) -> BatchState:
        """``POST /batches``; the key stands in its metadata, by which it can be found."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": self.window,
            "metadata": {"unabridged": key},
            **self.parameters(items),
        }
        answer = self._http.call(Call("/batches", body=body, headers={"idempotency-key": key}, whole=True))
        self._named(answer, "batch")
        return self._state(answer.data)

    def parameters(self, items: tuple[BatchItem, ...]) -> dict[str, Any]:
        """What stands beside the file: nothing, each line has its own."""
        return {}

    def find(self, key: str) -> BatchState | None:
        """Look through the newest batches for one with our key."""
        query = {"limit": "100"}
        for _ in range(_PAGES):
            answer = self._http.call(Call("/batches", method="GET", query=query))
            rows = answer.data.get("data") if isinstance(answer.data, dict) else None
            if not isinstance(rows, list):
                self._http.refuse(answer, "no list of batches in the answer")
            for row in rows:
                if isinstance(row, dict) and (row.get("metadata") or {}).get("unabridged") == key:
                    return self._state(row)
            if not answer.data.get("has_more") or not rows:
                return None
            query["after"] = str(rows[-1].get("id"))
        return None

    def check(self, batch: str) -> BatchState:
        """``GET /batches/{id}``."""
        answer = self._http.call(Call(f"/batches/{batch}", method="GET", whole=True))
        self._named(answer, "batch")
        return self._state(answer.data)

    def cancel(self, batch: str) -> None:
        """``POST /batches/{id}/cancel``."""
        self._http.call(Call(f"/batches/{batch}/cancel", body={}, whole=True))

    def results(self, state: BatchState, items: tuple[BatchItem, ...], folder: Path) -> Iterator[BatchResult]:
        """Both files, a line at a time."""
        known = {item.id: item for item in items}
        for name in state.files:
            path = folder / f"{state.id}.{name}.jsonl"
            with path.open("wb") as file:
                self._http.download(Call(f"/files/{name}/content", method="GET", patience=_PATIENCE), file)
            try:
                for row in json_rows(path, self._provider.name):
                    item = known.get(str(row.get("custom_id")))
                    if item is not None and not _not_reached(row):
                        yield BatchResult(item.id, self._read(item, row))
            finally:
                path.unlink(missing_ok=True)  # it holds vectors

    def discard(self, files: tuple[str, ...]) -> None:
        """``DELETE /files/{id}``."""
        for name in files:
            self._http.call(Call(f"/files/{name}", method="DELETE"))

    def _read(self, item: BatchItem, row: dict[str, Any]) -> Any:
        """A line's reply, or what its refusal means."""
        response, error = row.get("response"), row.get("error")
        if isinstance(response, dict):
            status, body = response.get("status_code"), response.get("body")
            try:
                if status == 200 and not (isinstance(body, dict) and body.get("error")):
                    reply = self._provider.read(item.request, Answer(200, {}, body))
                    return self._provider.finished(item.request, reply)
            except ProviderError as refused:
                return refused
            return refusal(status if isinstance(status, int) else None, body, self._provider, fallback="refused")
        return refusal(None, error, self._provider, fallback="a line of the batch has neither answer nor reason")

    def _state(self, row: Mapping[str, Any]) -> BatchState:
        counts = row.get("request_counts") or {}
        status: BatchStatus = _STATES.get(str(row.get("status")), "running")
        files = (row.get("output_file_id"), row.get("error_file_id"))
        expires = row.get("expires_at")
        return BatchState(
            str(row["id"]),
            status,
            counts.get("total"),
            counts.get("completed"),
            counts.get("failed"),
            float(expires) if isinstance(expires, int | float) else None,
            tuple(str(name) for name in files if name),
            error=self._whole(row) if status == "failed" else None,
        )

    def _whole(self, row: Mapping[str, Any]) -> ProviderError:
        """Why a batch failed as a whole: the first of ``errors.data``."""
        errors = row.get("errors") or {}
        data = errors.get("data") if isinstance(errors, dict) else errors
        first = data[0] if isinstance(data, list) and data else errors
        code = str(first.get("code") or "") if isinstance(first, dict) else ""
        status = 429 if code == "token_limit_exceeded" else 400
        return refusal(status, {"error": first or {"message": "the batch failed"}}, self._provider, fallback="failed")

    def _named(self, answer: Answer, what: str) -> str:
        found = answer.data.get("id") if isinstance(answer.data, dict) else None
        if not isinstance(found, str) or not found:
            raise bad_reply(f"no {what} in the answer", provider=self._provider.name)
        return found


class VoyageBatches(OpenAIBatches):
    """Voyage's: 100,000 inputs in a batch, within 12 hours; model and role stand beside the file, once."""

    limits = BatchLimits(requests=100_000, inputs=100_000, bytes=1_000_000_000)
    window = "12h"

    def lines(self, item: BatchItem) -> list[bytes]:
        """The inputs alone."""
        body = self._provider.call(item.request).body
        return [encoded({"custom_id": item.id, "body": {"input": body["input"]}})]

    def parameters(self, items: tuple[BatchItem, ...]) -> dict[str, Any]:
        """What all requests have in common: they are of one role and width."""
        body = self._provider.call(items[0].request).body
        return {"request_params": {name: value for name, value in body.items() if name != "input"}}


def _not_reached(row: Mapping[str, Any]) -> bool:
    """Whether a line says that the batch ended before it: not done, and not paid for."""
    error = row.get("error")
    return isinstance(error, dict) and error.get("code") in {"batch_expired", "batch_cancelled"}


def _form(fields: Mapping[str, str], name: str, content: bytes) -> tuple[bytes, str]:
    """A multipart form with one file."""
    mark = secrets.token_hex(16)
    head = "".join(
        f'--{mark}\r\ncontent-disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    )
    head += (
        f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
        "content-type: application/jsonl\r\n\r\n"
    )
    return b"".join((head.encode(), content, f"\r\n--{mark}--\r\n".encode())), f"multipart/form-data; boundary={mark}"
