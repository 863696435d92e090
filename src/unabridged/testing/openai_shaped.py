"""Dialects that vary OpenAI's: another place for the key, another name for a field, other words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.testing.dialect import Asked, Dialect, Incoming, NotServed, WrongShape, mapping

if TYPE_CHECKING:
    from collections.abc import Sequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.testing.refusals import Refusal


class Azure(Dialect):
    """A deployment in the path, a version in the query, a header of its own for the key."""

    base = ""
    wording = "azure"

    def key(self, incoming: Incoming) -> str | None:
        return incoming.headers.get("api-key") or super().key(incoming)

    def read(self, incoming: Incoming) -> Asked:
        asked = super().read(incoming)
        parts = incoming.path.split("/")
        if "deployments" not in parts:
            return asked
        if "api-version" not in incoming.query:
            raise NotServed
        deployment = parts[parts.index("deployments") + 1]
        return Asked(asked.texts, deployment, None, asked.dimensions, asked.base64)


class Vllm(Dialect):
    """vLLM words its errors in its own way."""

    wording = "vllm"

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"object": "error", "message": message, "type": "BadRequestError", "code": refusal.status}


class LlamaCpp(Dialect):
    """llama.cpp's server."""

    wording = "llamacpp"

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"error": {"code": refusal.status, "message": message, "type": refusal.code or "server_error"}}


class SiliconFlow(Dialect):
    """One code for two things."""

    wording = "siliconflow"

    def refuse(self, refusal: Refusal, message: str) -> Any:
        code = refusal.code if refusal.code and refusal.code.isdigit() else "20015"
        return {"code": int(code), "message": message, "data": None}


class Voyage(Dialect):
    """``truncation`` is on unless it is switched off."""

    wording = "voyage"
    width_name = "output_dimension"
    role_name = "input_type"

    def cuts(self, body: Mapping[str, Any]) -> bool:
        return bool(body.get("truncation", True) is not False)

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"detail": message}


class Jina(Dialect):
    """``task``, and ``embedding_type`` instead of a format."""

    wording = "jina"
    role_name = "task"

    def read(self, incoming: Incoming) -> Asked:
        asked = super().read(incoming)
        base64 = mapping(incoming.body).get("embedding_type") == "base64"
        return Asked(asked.texts, asked.model, asked.role, asked.dimensions, base64, asked.truncate)

    def cuts(self, body: Mapping[str, Any]) -> bool:
        return bool(body.get("truncate", False))

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"detail": message}


class Mistral(Dialect):
    """Lists of decimals only."""

    wording = "mistral"
    width_name = "output_dimension"

    def read(self, incoming: Incoming) -> Asked:
        asked = super().read(incoming)
        return Asked(asked.texts, asked.model, None, asked.dimensions)

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        """With an id, and a count of completion tokens: Mistral's own client insists on both."""
        answer = {"id": "loopback", **super().write(asked, rows, tokens)}
        if tokens is not None:
            answer["usage"]["completion_tokens"] = 0
        return answer

    def refuse(self, refusal: Refusal, message: str) -> Any:
        body = {"object": "error", "message": message, "type": "invalid_request_prompt", "param": None}
        return {**body, "code": refusal.code, "raw_status_code": refusal.status}


class Nim(Dialect):
    """``truncate`` is NONE unless it is switched on."""

    wording = "nim"
    role_name = "input_type"

    def read(self, incoming: Incoming) -> Asked:
        if "input_type" not in mapping(incoming.body):
            raise WrongShape
        return super().read(incoming)

    def cuts(self, body: Mapping[str, Any]) -> bool:
        return bool(body.get("truncate", "NONE") != "NONE")

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"object": "error", "message": message, "detail": {}, "type": "invalid_request_error"}
