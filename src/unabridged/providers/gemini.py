"""Google's embedding models: the Gemini developer API, and Vertex AI.

Vertex cuts a long text silently unless ``autoTruncate`` is false, and says in ``statistics`` if it did.
Sources: https://ai.google.dev/api/embeddings,
https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from unabridged.errors import ConfigError
from unabridged.providers.http import Call
from unabridged.providers.remote import HttpProvider, mappings
from unabridged.types import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.providers.http import Answer
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request, Role, Vectors

__all__ = ["GeminiProvider", "VertexProvider"]

_TASKS: Mapping[Role, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


class GeminiProvider(HttpProvider):
    """The developer API. The role is ``taskType``, the width ``outputDimensionality``.

    ``tasks`` names other task types by role. ``gemini-embedding-2`` ignores them and takes ``prompts``.

    >>> GeminiProvider("gemini-embedding-001", api_key="key-1")
    GeminiProvider('gemini-embedding-001', host='generativelanguage.googleapis.com')
    """

    name = "gemini"
    default_url: str | None = "https://generativelanguage.googleapis.com/v1beta"
    key_variables: tuple[str, ...] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    url_variables = ()

    def __init__(
        self,
        model: str | None = None,
        *,
        tasks: Mapping[Role, str] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, **options)
        self._tasks = _TASKS if tasks is None else tasks

    @property
    def settings(self) -> Mapping[str, str]:
        """The task types."""
        return {**super().settings, **{f"task.{role}": task for role, task in self._tasks.items()}}

    def authorization(self, key: str) -> dict[str, str]:
        """A header, so that the key is in no log of addresses."""
        return {"x-goog-api-key": key}

    def call(self, request: Request) -> Call:
        """One request inside for each text."""
        name = self.model if self.model.startswith(("models/", "tunedModels/")) else f"models/{self.model}"
        common: dict[str, Any] = {"model": name}
        if request.role in self._tasks:
            common["taskType"] = self._tasks[request.role]
        if request.dimensions is not None:
            common["outputDimensionality"] = request.dimensions
        parts = [{**common, "content": {"parts": [{"text": text}]}, **self._body} for text in request.texts]
        return Call(f"/{name}:batchEmbedContents", body={"requests": parts})

    def read(self, request: Request, answer: Answer) -> Reply:
        """``embeddings[i].values`` in the order of the request."""
        rows = answer.data.get("embeddings") if isinstance(answer.data, dict) else None
        found = mappings(rows)
        items = None if found is None else [(None, row.get("values")) for row in found]
        usage = answer.data.get("usageMetadata") if isinstance(answer.data, dict) else None
        tokens = usage.get("promptTokenCount") if isinstance(usage, dict) else None
        return Reply(_unit(self.vectors(request, answer, items), request), tokens)


class VertexProvider(GeminiProvider):
    """Vertex AI; ``api_key`` is an OAuth access token (``gcloud auth print-access-token``).

    ``project`` and ``location`` come from ``GOOGLE_CLOUD_PROJECT`` and ``GOOGLE_CLOUD_LOCATION`` if
    they are not given.

    >>> VertexProvider("text-embedding-005", api_key="token-1", project="mine")
    VertexProvider('text-embedding-005', host='us-central1-aiplatform.googleapis.com')
    """

    name = "vertex"
    key_variables = ("GOOGLE_VERTEX_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN")

    def __init__(
        self,
        model: str | None = None,
        *,
        project: str | None = None,
        location: str | None = None,
        tasks: Mapping[Role, str] | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        project = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
        if not project:
            raise ConfigError("project", "vertex needs a project: set GOOGLE_CLOUD_PROJECT", advice="project")
        location = location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "us-central1"
        region = "" if location == "global" else f"{location}-"
        self.default_url = f"https://{region}aiplatform.googleapis.com/v1"
        self._path = f"/projects/{project}/locations/{location}/publishers/google/models"
        super().__init__(model, tasks=tasks, **options)

    def authorization(self, key: str) -> dict[str, str]:
        """A bearer token."""
        return {"authorization": f"Bearer {key}"}

    def call(self, request: Request) -> Call:
        """``instances``, and the switch against silent cuts."""
        task = {"task_type": self._tasks[request.role]} if request.role in self._tasks else {}
        parameters: dict[str, Any] = {"autoTruncate": False}
        if request.dimensions is not None:
            parameters["outputDimensionality"] = request.dimensions
        body = {"instances": [{"content": text, **task} for text in request.texts], "parameters": parameters}
        return Call(f"{self._path}/{self.model}:predict", body={**body, **self._body})

    def read(self, request: Request, answer: Answer) -> Reply:
        """``predictions[i].embeddings.values``, and what the statistics say of a cut."""
        rows = answer.data.get("predictions") if isinstance(answer.data, dict) else None
        found = mappings([row.get("embeddings") for row in mappings(rows) or [{}]])
        if found is None:
            self.http.refuse(answer, "no vectors in the answer")
        vectors = self.vectors(request, answer, [(None, row.get("values")) for row in found])
        about = [row.get("statistics") or {} for row in found]
        counts = [count for part in about if (count := part.get("token_count")) is not None]
        tokens = round(sum(counts)) if len(counts) == len(about) else None
        cut = [at for at, part in enumerate(about) if part.get("truncated")]
        warnings = (f"input cut by the provider: {', '.join(map(str, cut))}",) if cut else ()
        return Reply(_unit(vectors, request), tokens, warnings=warnings)


def _unit(vectors: Vectors, request: Request) -> Vectors:
    """Narrower vectors come as they were cut; only the full width is unit length (SPEC K4)."""
    if request.dimensions is None:
        return vectors
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
