"""Dialects with shapes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.testing.dialect import Asked, Dialect, Incoming, NotServed, WrongShape, mapping, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.testing.refusals import Refusal
    from unabridged.types import Limit


class Ollama(Dialect):
    """Both routes of its own, and OpenAI's under ``/v1``."""

    base = ""
    wording = "ollama"

    def read(self, incoming: Incoming) -> Asked:
        if incoming.path.endswith("/v1/embeddings"):
            return super().read(incoming)
        body = mapping(incoming.body)
        model = str(body.get("model", ""))
        cuts = body.get("truncate", True) is not False
        if incoming.path.endswith("/api/embed"):
            return Asked(
                texts_of(body.get("input")),
                model,
                dimensions=body.get("dimensions"),
                truncate=cuts,
                route="embed",
            )
        if incoming.path.endswith("/api/embeddings"):
            prompt = body.get("prompt")
            if not isinstance(prompt, str):
                raise WrongShape
            return Asked((prompt,), model, truncate=cuts, route="embeddings")
        raise NotServed

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        if asked.route == "embeddings":
            return {"embedding": rows[0][1] if rows else []}
        if not asked.route:
            return super().write(asked, rows, tokens)
        answer = {
            "model": asked.model,
            "embeddings": [vector for _, vector in rows],
            "total_duration": 14143917,
        }
        return answer if tokens is None else {**answer, "prompt_eval_count": tokens}

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"error": message}


class Cohere(Dialect):
    """Version 2."""

    base = "/v2"
    wording = "cohere"

    def read(self, incoming: Incoming) -> Asked:
        if not incoming.path.endswith("/embed"):
            raise NotServed
        body = mapping(incoming.body)
        if "input_type" not in body or not isinstance(body.get("embedding_types"), list):
            raise WrongShape
        return Asked(
            texts_of(body.get("texts")),
            str(body.get("model", "")),
            body["input_type"],
            body.get("output_dimension"),
            truncate=body.get("truncate", "END") != "NONE",
        )

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        return {
            "id": "5807ee2e-0cda-445a-9ec8-864c60a06606",
            "embeddings": {"float": [vector for _, vector in rows]},
            "texts": list(asked.texts),
            "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": tokens}},
        }

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"id": "5807ee2e-0cda-445a-9ec8-864c60a06606", "message": message}


class Gemini(Dialect):
    """The developer API: one request inside for each text."""

    base = "/v1beta"
    wording = "gemini"

    def key(self, incoming: Incoming) -> str | None:
        return incoming.headers.get("x-goog-api-key") or incoming.query.get("key")

    def read(self, incoming: Incoming) -> Asked:
        model, _, verb = incoming.path.rpartition("/")[2].partition(":")
        if verb != "batchEmbedContents":
            raise NotServed
        parts = mapping(incoming.body).get("requests")
        if not isinstance(parts, list) or not parts:
            raise WrongShape
        return Asked(
            tuple(part["content"]["parts"][0]["text"] for part in parts),
            model,
            parts[0].get("taskType"),
            parts[0].get("outputDimensionality"),
        )

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        return {"embeddings": [{"values": vector} for _, vector in rows]}

    def refuse(self, refusal: Refusal, message: str) -> Any:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        return {
            "error": {
                "code": refusal.status,
                "message": message,
                "status": names.get(refusal.status, "INTERNAL"),
            }
        }


class Vertex(Gemini):
    """The cloud API: ``autoTruncate`` is on unless it is switched off."""

    base = "/v1"
    wording = "vertex"

    def key(self, incoming: Incoming) -> str | None:
        return Dialect.key(self, incoming)

    def read(self, incoming: Incoming) -> Asked:
        model, _, verb = incoming.path.rpartition("/")[2].partition(":")
        if verb != "predict" or "/publishers/google/models/" not in incoming.path:
            raise NotServed
        body = mapping(incoming.body)
        parameters = body.get("parameters", {})
        return Asked(
            tuple(instance["content"] for instance in body["instances"]),
            model,
            body["instances"][0].get("task_type"),
            parameters.get("outputDimensionality"),
            truncate=parameters.get("autoTruncate", True) is not False,
        )

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        each = None if tokens is None else tokens / max(len(asked.texts), 1)
        about = {"truncated": False, "token_count": each}
        return {"predictions": [{"embeddings": {"values": vector, "statistics": about}} for _, vector in rows]}


class Tei(Dialect):
    """Text Embeddings Inference, its native route."""

    base = ""
    wording = "tei"

    def about(self, target: str, limit: Limit) -> Any:
        if not target.endswith("/info"):
            return None
        return {
            "model_id": "BAAI/bge-m3",
            "max_input_length": limit.input_tokens,
            "max_client_batch_size": limit.request_inputs,
            "max_batch_tokens": limit.request_tokens,
        }

    def read(self, incoming: Incoming) -> Asked:
        if incoming.path.endswith("/v1/embeddings"):
            return super().read(incoming)
        if not incoming.path.endswith("/embed"):
            raise NotServed
        body = mapping(incoming.body)
        return Asked(
            texts_of(body.get("inputs")),
            dimensions=body.get("dimensions"),
            role=body.get("prompt_name"),
            truncate=bool(body.get("truncate", False)),
            route="embed",
        )

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        return [vector for _, vector in rows] if asked.route else super().write(asked, rows, tokens)

    def refuse(self, refusal: Refusal, message: str) -> Any:
        kind = "overloaded" if refusal.status == 429 else "Validation"
        return {"error": message, "error_type": kind}


class HuggingFace(Tei):
    """Inference providers: the model in the path."""

    base = "/hf-inference"
    wording = "huggingface"

    def read(self, incoming: Incoming) -> Asked:
        head, mark, tail = incoming.path.partition("/models/")
        if not mark or not tail.endswith("/pipeline/feature-extraction") or not head.endswith(self.base):
            raise NotServed
        body = mapping(incoming.body)
        return Asked(
            texts_of(body.get("inputs")),
            tail.removesuffix("/pipeline/feature-extraction"),
            truncate=bool(body.get("truncate", False)),
            route="embed",
        )

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"error": message}


class Bedrock(Dialect):
    """Titan takes one text, Cohere a list; who asks is in a signature, or a bearer token."""

    base = ""
    wording = "bedrock"

    def key(self, incoming: Incoming) -> str | None:
        given = incoming.headers.get("authorization", "")
        if given.startswith("AWS4-HMAC-SHA256 Credential="):
            return given.partition("=")[2].partition("/")[0]
        return super().key(incoming)

    def read(self, incoming: Incoming) -> Asked:
        head, _, verb = incoming.path.rpartition("/")
        if verb != "invoke" or "/model/" not in head:
            raise NotServed
        model = head.partition("/model/")[2]
        body = mapping(incoming.body)
        if "cohere" in model:
            return Asked(
                texts_of(body.get("texts")),
                model,
                body["input_type"],
                body.get("output_dimension"),
                truncate=body.get("truncate", "NONE") != "NONE",
                route="cohere-v4" if "embed-v4" in model else "cohere",
            )
        return Asked(texts_of(body.get("inputText")), model, dimensions=body.get("dimensions"), route="titan")

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        vectors = [vector for _, vector in rows]
        if asked.route == "titan":
            return {"embedding": vectors[0] if vectors else [], "inputTextTokenCount": tokens}
        return {"embeddings": {"float": vectors} if asked.route == "cohere-v4" else vectors, "id": "1"}

    def refuse(self, refusal: Refusal, message: str) -> Any:
        return {"message": message}

    def headers(self, refusal: Refusal) -> dict[str, str]:
        names = {403: "AccessDeniedException", 429: "ThrottlingException"}
        return {"x-amzn-errortype": names.get(refusal.status, "ValidationException")}


class Watsonx(Dialect):
    """IBM's: a project, and a version in the query. Its token service is served too."""

    base = ""
    wording = "watsonx"

    def key(self, incoming: Incoming) -> str | None:
        token = super().key(incoming)  # the key backwards, as the token service gave it out
        return None if token is None else token[::-1]

    def read(self, incoming: Incoming) -> Asked:
        if not incoming.path.endswith("/ml/v1/text/embeddings") or "version" not in incoming.query:
            raise NotServed
        body = mapping(incoming.body)
        if not (body.get("project_id") or body.get("space_id")):
            raise WrongShape
        cuts = "truncate_input_tokens" in body.get("parameters", {})
        return Asked(texts_of(body.get("inputs")), str(body.get("model_id", "")), truncate=cuts)

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        results = [{"embedding": vector} for _, vector in rows]
        return {"model_id": asked.model, "results": results, "input_token_count": tokens}

    def refuse(self, refusal: Refusal, message: str) -> Any:
        errors = [{"code": "invalid_input_argument", "message": message}]
        return {"errors": errors, "trace": "85527f4d559b71672661bd561a6768fe", "status_code": refusal.status}
