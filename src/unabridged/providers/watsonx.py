"""IBM watsonx.ai. ``truncate_input_tokens`` is never sent: it cuts the beginning of a text silently.

Source: https://cloud.ibm.com/apidocs/watsonx-ai#text-embeddings
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from unabridged.errors import ConfigError
from unabridged.providers.http import Call, HttpHost
from unabridged.providers.remote import HttpProvider, mappings
from unabridged.types import Reply

if TYPE_CHECKING:
    from unabridged.providers.http import Answer
    from unabridged.providers.remote import HttpOptions
    from unabridged.types import Request

__all__ = ["WatsonxProvider"]

_TOKENS = "https://iam.cloud.ibm.com"
_VERSION = "2024-10-10"
_EARLY = 60.0  # seconds before its end that a token is changed
_GRANT = "urn:ibm:params:oauth:grant-type:apikey"


class WatsonxProvider(HttpProvider):
    """Embedding models of a ``project`` or a ``space`` (``WATSONX_PROJECT_ID``, ``WATSONX_SPACE_ID``).

    The key is changed for a token at ``token_url``, which is kept until shortly before it ends.

    >>> WatsonxProvider("ibm/slate-125m-english-rtrvr-v2", api_key="key-1", project="mine")
    WatsonxProvider('ibm/slate-125m-english-rtrvr-v2', host='us-south.ml.cloud.ibm.com')
    """

    name = "watsonx"
    default_url = "https://us-south.ml.cloud.ibm.com"
    key_variables = ("WATSONX_API_KEY", "WATSONX_APIKEY", "IBM_CLOUD_API_KEY")
    url_variables = ("WATSONX_URL",)
    needs_key = True

    def __init__(
        self,
        model: str | None = None,
        *,
        project: str | None = None,
        space: str | None = None,
        token_url: str = _TOKENS,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, **options)
        project = project or os.environ.get("WATSONX_PROJECT_ID")
        space = space or os.environ.get("WATSONX_SPACE_ID")
        if not (project or space):
            raise ConfigError("project", "watsonx needs a project: set WATSONX_PROJECT_ID", advice="project")
        self._place = {"project_id": project} if project else {"space_id": space}
        self._apikey = self._key(options.get("api_key"), required=True) or ""
        self._iam = HttpHost(token_url, provider=self.name, secrets=(self._apikey,))
        self._token = ""
        self._until = 0.0
        self._lock = threading.Lock()

    def authorization(self, key: str) -> dict[str, str]:
        """None: the token comes with each request."""
        return {}

    def call(self, request: Request) -> Call:
        """``inputs``, and nothing about truncation."""
        body: dict[str, Any] = {"model_id": self.model, "inputs": list(request.texts), **self._place}
        token = {"authorization": f"Bearer {self._token}"}
        whole = {**body, **self._body}
        return Call("/ml/v1/text/embeddings", body=whole, query={"version": _VERSION}, headers=token)

    def read(self, request: Request, answer: Answer) -> Reply:
        """``results[i].embedding`` in the order of the request."""
        data = answer.data if isinstance(answer.data, dict) else {}
        rows = mappings(data.get("results"))
        items = None if rows is None else [(None, row.get("embedding")) for row in rows]
        return Reply(self.vectors(request, answer, items), data.get("input_token_count"), data.get("model_id"))

    def send(self, request: Request) -> Reply:
        """As everywhere, with a token that is still good."""
        start = time.monotonic()
        if self._is_stale():
            with self._lock:
                if self._is_stale():
                    self._keep(self._iam.call(self._exchange(request)))
        return super().send(_later(request, start))

    async def asend(self, request: Request) -> Reply:
        """The same from a task."""
        start = time.monotonic()
        if self._is_stale():
            self._keep(await self._iam.acall(self._exchange(request)))
        return await super().asend(_later(request, start))

    def close(self) -> None:
        """Close the connections to both hosts."""
        super().close()
        self._iam.close()

    async def aclose(self) -> None:
        """Close the connections to both hosts."""
        await super().aclose()
        await self._iam.aclose()

    def _is_stale(self) -> bool:
        return time.monotonic() > self._until

    def _exchange(self, request: Request) -> Call:
        form = {"grant_type": _GRANT, "apikey": self._apikey}
        return Call("/identity/token", form=form, timeout=request.timeout)

    def _keep(self, answer: Answer) -> None:
        token = answer.data.get("access_token") if isinstance(answer.data, dict) else None
        if not isinstance(token, str):
            self._iam.refuse(answer, "no access_token in the answer of the token service")
        self._token = token
        self._until = time.monotonic() + float(answer.data.get("expires_in", 3600)) - _EARLY


def _later(request: Request, start: float) -> Request:
    """The request with the time that is left after the token came."""
    if request.timeout is None:
        return request
    return replace(request, timeout=request.timeout - (time.monotonic() - start))
